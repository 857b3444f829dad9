"""Plain data as typed records, and every reason why not, with the line it is about."""

from enum import Enum
from typing import Annotated, Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from rota.intake.checking.convert import MAX_ERRORS, convert
from rota.intake.documents.document import parse_documents
from rota.intake.errors import InputError
from rota.model.quantities import parse_cpu_milli


class CpuMilli(int):
    pass


class Effect(Enum):
    NO_SCHEDULE = "NoSchedule"
    NO_EXECUTE = "NoExecute"


class Toleration(Struct, forbid_unknown_fields=True):
    key: str
    effect: Effect = Effect.NO_SCHEDULE
    operator: Literal["Exists", "Equal"] = "Exists"


class Resources(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    cpu: CpuMilli = CpuMilli(0)
    max_share: Annotated[int, Meta(ge=0, le=100)] = 100


class Job(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, pattern="^[a-z]*$")]
    resources: Resources = Resources()
    tolerations: list[Toleration] = []
    labels: dict[str, str] = {}
    weight: float = 1.0
    retry: int | Literal["forever"] | None = None
    interactive: bool = False
    span: tuple[int, int] = (0, 1)
    size: int = 1
    least: int = 1

    def __post_init__(self) -> None:
        if self.least > self.size:
            raise ValueError(f"least {self.least} is more than size {self.size}")


class Shell(Struct, tag_field="kind", tag="shell", forbid_unknown_fields=True):
    command: str


class Image(Struct, tag_field="kind", tag="image", forbid_unknown_fields=True):
    image: str


def read(text: str, wanted: Any = Job, **options: Any) -> Any:
    [document] = parse_documents(text.encode(), "jobs.yaml")
    return convert(document, wanted, decoders={CpuMilli: parse_cpu_milli}, **options)


def refusals(text: str, wanted: Any = Job, **options: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(text, wanted, **options)
    return [str(error) for error in caught.value.all]


def test_what_fits_is_converted() -> None:
    job = read("name: train\nresources: {cpu: 250m}\nretry: forever\nweight: 2\ntolerations: [{key: gpu}]")
    assert job == Job("train", Resources(CpuMilli(250)), [Toleration("gpu")], weight=2.0, retry="forever")
    assert isinstance(job.resources.cpu, CpuMilli)


def test_a_part_is_converted_and_named_by_its_full_path() -> None:
    text = "items:\n- name: a\n- name: b\n  size: x"
    assert read(text, at=("items", 0)) == Job("a")
    assert refusals(text, at=("items", 1)) == [
        'jobs.yaml:4: items[1].size: expected a whole number, got text "x"'
    ]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("toleratons: []", 'toleratons: unknown field; did you mean "tolerations"?'),
        (
            "maxShare: 1",
            "maxShare: unknown field; known fields: name, resources, tolerations, labels, weight, ",
        ),
        ("resources: {maxShare: 1}", 'resources.maxShare: unknown field; did you mean "max-share"?'),
        ("resources: {cpu: -2}", "resources.cpu: negative amount -2; give 0 or more"),
        (
            "resources: {max-share: 101}",
            "resources.max-share: the number 101 is out of range; give at least 0 and",
        ),
        ("resources: []", "resources: expected a mapping, got a list"),
        ("resources:", "resources: expected a mapping, got nothing; give a value or remove the field"),
        ("tolerations: {}", "tolerations: expected a list, got a mapping"),
        ("tolerations: [{}]", "tolerations[0].key: is missing; add this field"),
        (
            "tolerations: [{key: a, effect: noschedule}]",
            'tolerations[0].effect: unknown value "noschedule"; did you mean "NoSchedule"? allowed: ',
        ),
        (
            "tolerations: [{key: a, operator: In}]",
            'tolerations[0].operator: unknown value "In"; allowed: "Equal" or "Exists"',
        ),
        (
            "tolerations: [{key: a, operator: 3}]",
            'tolerations[0].operator: expected "Equal" or "Exists", got the number 3',
        ),
        (
            "labels: {example.com/v: 1.20}",
            'labels["example.com/v"]: expected text, got the number 1.2; put it in quotes',
        ),
        ("labels: {a: true}", "labels.a: expected text, got true; put it in quotes"),
        ("weight: .nan", "weight: nan is not a finite number; give a number"),
        ("weight: -.inf", "weight: -inf is not a finite number; give a number"),
        ("weight: heavy", 'weight: expected a number, got text "heavy"'),
        ("retry: often", 'retry: unknown value "often"; allowed: "forever"'),
        ("retry: []", 'retry: expected a whole number or "forever", got a list'),
        ("interactive: yes", 'interactive: expected true or false, got text "yes"'),
        ("size: '3'", 'size: expected a whole number, got text "3"; remove the quotes'),
        ("size: 1.5", "size: expected a whole number, got the number 1.5"),
        ("size: true", "size: expected a whole number, got true"),
        ("span: [1]", "span: a list of 1 items; give exactly 2"),
        ("span: [1, b]", 'span[1]: expected a whole number, got text "b"'),
        ("least: 5", "least 5 is more than size 1"),
    ],
)
def test_a_refusal_names_line_field_and_remedy(field: str, message: str) -> None:
    [refusal] = refusals(f"{field}\nname: a")
    assert refusal.startswith(f"jobs.yaml:1: {message}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ('""', "jobs.yaml:1: name: is empty; give at least 1"),
        ("A1", 'jobs.yaml:1: name: "A1" is not of the right form; it must match ^[a-z]*$'),
        ("12", "jobs.yaml:1: name: expected text, got the number 12; put it in quotes"),
        ("[a]", "jobs.yaml:1: name: expected text, got a list"),
    ],
)
def test_text_is_checked_for_length_and_form(name: str, message: str) -> None:
    assert refusals(f"name: {name}") == [message]


def test_a_document_of_the_wrong_kind() -> None:
    assert refusals("- a") == ["jobs.yaml:1: expected a mapping, got a list"]
    assert refusals("a") == ['jobs.yaml:1: expected a mapping, got text "a"']


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{kind: shell, command: ls, dir: /}",
            "jobs.yaml:1: dir: unknown field; known fields: command, kind",
        ),
        (
            "{kind: shall}",
            'jobs.yaml:1: kind: unknown value "shall"; did you mean "shell"? allowed: "shell" or "image"',
        ),
        ("{command: ls}", 'jobs.yaml:1: kind: is missing; give "shell" or "image"'),
        ("{kind: image}", "jobs.yaml:1: image: is missing; add this field"),
        ("[]", "jobs.yaml:1: expected a mapping, got a list"),
    ],
)
def test_records_of_several_kinds(text: str, message: str) -> None:
    assert read("{kind: shell, command: ls}", Shell | Image) == Shell("ls")
    assert refusals(text, Shell | Image) == [message]


def test_all_faults_are_told_at_once_each_with_its_line() -> None:
    text = "- nam: a\n- name: b\n  size: x\n  labels:\n    a: 1\n- name: c"
    assert refusals(text, list[Job]) == [
        'jobs.yaml:1: [0].nam: unknown field; did you mean "name"?',
        'jobs.yaml:3: [1].size: expected a whole number, got text "x"',
        "jobs.yaml:5: [1].labels.a: expected text, got the number 1; put it in quotes",
    ]


def test_not_more_faults_are_told_than_help() -> None:
    assert len(refusals("- x\n" * 1000, list[int])) == MAX_ERRORS


def test_what_only_msgspec_can_judge_is_refused_in_its_words() -> None:
    assert refusals("a: [{b: '!'}]", dict[str, list[dict[str, bytes]]]) == [
        "jobs.yaml:1: Invalid base64 encoded string"
    ]


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("10" * 3000),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["key", "cpu", "a", "effect", "operator"]) | st.text(), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@pytest.mark.slow
@given(fields=st.dictionaries(st.sampled_from(Job.__struct_encode_fields__) | st.text(), _values))
def test_anything_fits_or_is_refused_in_readable_words(fields: dict[str, object]) -> None:
    text = yaml.safe_dump(fields, allow_unicode=False)
    try:
        read(text)
    except InputError as error:
        messages = [str(one) for one in error.all]
    else:
        messages = ["fits"]
    assert all(message.isprintable() for message in messages)
    assert not any("`" in message for message in messages if "`" not in text)
