"""Files of YAML or JSON: read as YAML 1.2 says, bounded, with positions and errors one can act on."""

import io
import json
import math
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rota.intake.documents import yaml_events as _yaml
from rota.intake.documents.document import Document, parse_documents, read_documents
from rota.intake.errors import FieldPath, InputError, Position, format_path


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both parsers of PyYAML: the C one, and the one that is left where that is missing."""
    monkeypatch.setattr(_yaml, "_Loader", getattr(yaml, request.param))
    return str(request.param)


def one(text: str, file: str = "cluster.yaml") -> Document:
    [document] = parse_documents(text.encode(), file)
    return document


def refusal(text: str | bytes, file: str = "cluster.yaml") -> InputError:
    raw = text.encode() if isinstance(text, str) else text
    with pytest.raises(InputError) as caught:
        parse_documents(raw, file)
    return caught.value


class TestData:
    @pytest.mark.parametrize(
        ("written", "value"),
        [
            ("", None),
            ("~", None),
            ("null", None),
            ("NULL", None),
            ("nULL", "nULL"),
            ("true", True),
            ("False", False),
            ("yes", "yes"),
            ("on", "on"),
            ("n", "n"),
            ("0", 0),
            ("-12", -12),
            ("+12", 12),
            ("0123", 123),
            ("0x1F", 31),
            ("0o17", 15),
            ("0b1", "0b1"),
            ("-0x1", "-0x1"),
            ("1_000", "1_000"),
            ("12:30", "12:30"),
            ("12:30:45", "12:30:45"),
            ("2026-05-01", "2026-05-01"),
            ("1.5", 1.5),
            ("1.", 1.0),
            (".5", 0.5),
            ("1e3", 1000.0),
            ("-1.5E-3", -0.0015),
            (".inf", math.inf),
            ("-.INF", -math.inf),
            ("1.2.3", "1.2.3"),
            ("64Gi", "64Gi"),
            ("'1'", "1"),
            ('"true"', "true"),
            ("! 12", "12"),
            ("!!str 12", "12"),
            ("!!int 12", 12),
            ("!!map {}", {}),
            ("!!seq []", []),
        ],
    )
    def test_scalars_mean_what_yaml_1_2_says(self, loader: str, written: str, value: object) -> None:
        read = one(f"field: {written}").data
        assert read == {"field": value}
        assert isinstance(read, dict)
        assert type(read["field"]) is type(value)

    def test_nan_is_read_and_remembered(self, loader: str) -> None:
        document = one("weight: .nan")
        assert isinstance(document.data, dict)
        assert math.isnan(document.data["weight"])
        assert document.has_nonfinite
        assert not one("weight: 1").has_nonfinite

    def test_keys_are_their_text(self, loader: str) -> None:
        assert one("on: a\n1: b\ntrue: c\n1.50: d\n'<<': e\n~: f").data == {
            "on": "a",
            "1": "b",
            "true": "c",
            "1.50": "d",
            "<<": "e",
            "~": "f",
        }

    def test_a_file_may_hold_several_documents_and_empty_ones_do_not_count(self, loader: str) -> None:
        documents = parse_documents(b"---\na: 1\n---\n# nothing\n---\nb: 2\n---\n", "jobs.yaml")
        assert [document.data for document in documents] == [{"a": 1}, {"b": 2}]
        assert documents[1].locate(("b",)) == Position(6, 1)

    def test_aliases_repeat_values(self, loader: str) -> None:
        assert one("a: &x {cpu: 2}\nb: *x\n&key c: *key").data == {"a": {"cpu": 2}, "b": {"cpu": 2}, "c": "c"}

    def test_a_byte_order_mark_is_skipped(self) -> None:
        assert parse_documents(b"\xef\xbb\xbfa: 1", "x.yaml")[0].data == {"a": 1}
        assert parse_documents(b'\xef\xbb\xbf{"a": 1}', "x.json")[0].data == {"a": 1}

    def test_json_is_recognised_by_name_and_by_look(self) -> None:
        text = '{"name":\t"\\ud83d\\ude00",\n"n": [1, 2.5, null, true], "url": "a\\"b://c:d"}'
        expected = {"name": "😀", "n": [1, 2.5, None, True], "url": 'a"b://c:d'}
        assert one(text, "nodes.json").data == expected
        assert one(text, "<stdin>").data == expected
        assert one("{name: yaml}", "<stdin>").data == {"name": "yaml"}


CLUSTER = """\
nodes:
  - name: a
    labels: &labels
      example.com/rack: r1
  - name: b
    labels: *labels
limit: 3
"""
CLUSTER_JSON = """\
{
 "nodes": [
  {"name": "a", "labels": {
    "example.com/\\u0072ack": "r1"}},
  {"name": "b"}
 ],
 "limit": 3}
"""


class Located(NamedTuple):
    path: FieldPath
    line: int
    column: int


class TestPositions:
    @pytest.mark.parametrize(
        Located._fields,
        [
            Located((), 1, 1),
            Located(("nodes",), 1, 1),
            Located(("nodes", 0), 2, 5),
            Located(("nodes", 1, "name"), 5, 5),
            Located(("nodes", 0, "labels", "example.com/rack"), 4, 7),
            Located(("nodes", 1, "labels", "example.com/rack"), 4, 7),
            Located(("nodes", 1, "labels"), 6, 5),
            Located(("nodes", 1, "missing", "deeper"), 5, 5),
            Located(("nodes", 7), 1, 1),
            Located(("limit",), 7, 1),
        ],
    )
    def test_in_yaml(self, loader: str, path: FieldPath, line: int, column: int) -> None:
        assert one(CLUSTER).locate(path) == (line, column)

    @pytest.mark.parametrize(
        Located._fields,
        [
            Located((), 1, 1),
            Located(("nodes",), 2, 2),
            Located(("nodes", 0), 3, 3),
            Located(("nodes", 0, "labels", "example.com/rack"), 4, 5),
            Located(("nodes", 1, "name"), 5, 4),
            Located(("limit",), 7, 2),
        ],
    )
    def test_in_json(self, path: FieldPath, line: int, column: int) -> None:
        assert one(CLUSTER_JSON, "cluster.json").locate(path) == (line, column)

    def test_data_and_errors_of_a_field(self) -> None:
        document = one(CLUSTER)
        assert document.at(("nodes", 1, "name")) == "b"
        error = document.error(("nodes", 1, "name"), "duplicate name", "rename one")
        assert str(error) == "cluster.yaml:5: nodes[1].name: duplicate name; rename one"
        assert (error.line, error.column, error.field) == (5, 5, "nodes[1].name")


class TestRefusals:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "cluster.yaml: is empty; write at least one document into it"),
            ("# nothing\n---\n", "cluster.yaml: is empty; write at least one document into it"),
            ("a:\n\tb: 1", "cluster.yaml:2: a tab cannot indent YAML; use spaces"),
            ("a: @b", "cluster.yaml:1: a value cannot begin with @; put it in quotes"),
            ("a: 1\nb: \x00", "cluster.yaml:2: the control character U+0000 is not allowed; remove it"),
            ("a: 1\nb: \x1b[31m", "cluster.yaml:2: the control character U+001B is not allowed; remove it"),
            (
                "a: 1\nb:\n  c: 1\n  d: 2\n  c: 3",
                'cluster.yaml:5: duplicate key "c", first on line 3; remove or rename one',
            ),
            ("1: a\n'1': b", 'cluster.yaml:2: duplicate key "1", first on line 1; remove or rename one'),
            ("? [a, b]\n: c", "cluster.yaml:1: a key must be text; write the key out"),
            ("a: &x b\n*x : c", "cluster.yaml:2: a key must be text; write the key out"),
            (
                "a: &x {b: 1}\nc:\n  <<: *x",
                'cluster.yaml:3: merge keys ("<<") are not supported; write the merged fields out',
            ),
            ("a: !secret b", "cluster.yaml:1: the tag !secret is not supported here; drop the tag"),
            (
                "a: !!python/none b",
                "cluster.yaml:1: the tag tag:yaml.org,2002:python/none is not supported here; drop the tag",
            ),
            (
                "a: !!map []",
                "cluster.yaml:1: the tag tag:yaml.org,2002:map is not supported here; drop the tag",
            ),
            (
                "a: !!int b",
                'cluster.yaml:1: "b" does not fit its tag tag:yaml.org,2002:int; drop the tag',
            ),
            ("a: *b", "cluster.yaml:1: nothing before the alias *b is anchored as &b; write the value out"),
            (
                "a: &b [1, *b]",
                "cluster.yaml:1: the alias *b repeats what it is a part of; write the value out",
            ),
            ("a: " + "9" * 5000, "cluster.yaml:1: a number of 5,000 digits is too long; shorten it"),
            ("[" * 5000, "cluster.yaml:1: nested deeper than 100 levels; make it flatter"),
        ],
    )
    def test_in_yaml(self, loader: str, text: str, message: str) -> None:
        assert str(refusal(text)) == message

    @pytest.mark.parametrize("text", ["a: b: c", "a: [1, 2", 'a: "b', "a: 1\n b: 2", "%FOO\na", '"\\ud800"'])
    def test_malformed_yaml_is_refused_with_a_line(self, text: str) -> None:
        error = refusal(text)
        assert error.problem.startswith("not valid YAML: ")
        assert error.line is not None
        assert error.line <= text.count("\n") + 1

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "cluster.json: is empty; write at least one document into it"),
            ("  \n", "cluster.json: is empty; write at least one document into it"),
            ("null", "cluster.json: is empty; write at least one document into it"),
            ('{"é": 1,\n b}', "cluster.json:2: not valid JSON: object keys must be strings"),
            ('{"a": 1', "cluster.json:1: not valid JSON: Input data was truncated"),
            ('{"a": [1,\n1e999]}', "cluster.json:2: not valid JSON: Number out of range"),
            ('{"a": NaN}', "cluster.json:1: not valid JSON: invalid character"),
            (
                "a: 1",
                "cluster.json:1: not valid JSON: invalid character; if it is YAML, give the file",
            ),
            (
                '{"a": 1,\n"b": {"c": 1,\n"\\u0063": 2}}',
                'cluster.json:3: duplicate key "c", first on line 2; ',
            ),
            ("[" * 101 + "\n1" + "]" * 101, "cluster.json:2: nested deeper than 100 levels; make it flatter"),
            ("\n[" * 5000 + "]" * 5000, "cluster.json:103: nested deeper than 100 levels; make it flatter"),
        ],
    )
    def test_in_json(self, text: str, message: str) -> None:
        assert str(refusal(text, "cluster.json")).startswith(message)

    def test_bytes_that_are_not_utf_8(self) -> None:
        error = refusal(b"\xef\xbb\xbfa: 1\nb: \xff", "x.yaml")
        assert str(error) == "x.yaml:2: byte 0xff is not UTF-8 text; save the file as UTF-8"
        assert error.column == 4

    def test_messages_stay_on_one_line_and_do_not_steer_the_terminal(self) -> None:
        message = str(refusal('"a\\e[31m\\n": 1\n"a\\e[31m\\n": 2'))
        assert '"a\\x1b[31m\\n"' in message
        assert message.isprintable()


class TestBounds:
    def test_depth_is_allowed_up_to_100(self, loader: str) -> None:
        deepest = "[" * 100 + "1" + "]" * 100
        one(deepest, "x.json")
        one(f"# YAML\n{deepest}")
        assert "deeper than 100 levels" in str(refusal(f"# YAML\n[{deepest}]"))
        assert "deeper than 100 levels" in str(refusal(f"[{deepest}]", "x.json"))

    def test_depth_counts_through_aliases(self, loader: str) -> None:
        half = "[" * 50 + "1" + "]" * 50
        one(f"- &x {half}\n- " + "[" * 49 + "*x" + "]" * 49)
        assert refusal(f"- &x {half}\n- " + "[" * 50 + "*x" + "]" * 50).line == 2

    def test_aliases_of_aliases_are_bounded(self, loader: str) -> None:
        names = "abcdefghi"
        levels = [f"{name}: &{name} [{', '.join([f'*{inner}'] * 10)}]" for inner, name in pairwise(names)]
        error = refusal("\n".join(["a: &a [1, 2, 3]", *levels]))
        assert error.problem == "aliases expand to more than 2,000,000 values"
        assert error.line == 7

    def test_many_values_without_aliases_are_fine(self) -> None:
        document = one("[" + "1," * 100_000 + "1]", "numbers.json")
        assert isinstance(document.data, list)
        assert len(document.data) == 100_001


class TestFiles:
    def test_a_file_is_read_by_its_path(self, tmp_path: Path) -> None:
        path = tmp_path / "cluster.yaml"
        path.write_text(CLUSTER)
        [document] = read_documents(path)
        assert document.path == str(path)
        assert document.at(("limit",)) == 3

    def test_standard_input_is_a_dash(self, monkeypatch: pytest.MonkeyPatch) -> None:
        give_standard_input(monkeypatch, b"a: 1")
        [document] = read_documents("-")
        assert (document.path, document.data) == ("<stdin>", {"a": 1})

    def test_standard_input_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        give_standard_input(monkeypatch, b"a: 1234567")
        assert str(unreadable("-", max_bytes=9)) == (
            "<stdin>: more than the limit of 9 bytes; raise the limit (--max-file-size), or give less"
        )

    def test_a_large_file_is_refused_before_it_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "large.yaml"
        with path.open("wb") as stream:
            stream.truncate(100_000_000)
        assert str(unreadable(path)) == (
            f"{path}: has 100,000,000 bytes, the limit is 67,108,864; "
            "raise the limit (--max-file-size), or give less"
        )

    def test_what_is_no_readable_file(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        assert unreadable(tmp_path / "absent").problem == "there is no such file"
        assert unreadable(tmp_path).problem == "is a directory"
        assert unreadable(pipe).problem == "is not a regular file"
        assert unreadable("a\0b").problem == "is not a file name"
        assert unreadable("x" * 5000).problem == "cannot be read: File name too long"

    def test_a_file_that_may_not_be_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def forbidden(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        # Tests may run as root, who may read everything.
        monkeypatch.setattr("builtins.open", forbidden)
        path = tmp_path / "secret.yaml"
        path.touch()
        assert unreadable(path).problem == "may not be read"


def give_standard_input(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))


def unreadable(path: str | Path, max_bytes: int = 64 * 2**20) -> InputError:
    with pytest.raises(InputError) as caught:
        read_documents(path, max_bytes=max_bytes)
    return caught.value


def test_paths_are_written_as_in_most_languages() -> None:
    assert format_path(("nodes", 3, "resources", "cpu")) == "nodes[3].resources.cpu"
    assert format_path((0, "labels", "example.com/rack")) == '[0].labels["example.com/rack"]'
    assert format_path(()) == ""


_words = ["a", "1", "<<", "&a", "*a", "!!int", "---", "...", "%YAML", "\\u", "\\ud800", ": ", "- ", "\ufeff"]
_fragments = st.sampled_from([*_words, *"[]{},*&!'\">#:-? \n\t\0\x85"])
_yaml_like = st.lists(_fragments, max_size=40).map("".join)
_plain_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def paths_in(data: object, path: FieldPath = ()) -> Iterator[FieldPath]:
    yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from paths_in(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from paths_in(value, (*path, index))


@pytest.mark.parametrize("file", ["fuzz.yaml", "fuzz.json"])
@given(raw=st.binary() | st.text().map(str.encode) | _yaml_like.map(str.encode))
@example(raw=b'"\\UFFFFFFFF"')
@example(raw=b"!<%ff> a")
@example(raw=b"%YAML " + b"9" * 5000 + b".1\n---\n")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_anything_is_read_or_refused(loader: str, file: str, raw: bytes) -> None:
    try:
        documents = parse_documents(raw, file)
    except InputError as error:
        message = str(error)
    else:
        message = ""
        for document in documents:
            assert all(document.locate(path) for path in paths_in(document.data))
    assert message.isprintable()


@given(data=_plain_data.filter(lambda data: data is not None), indent=st.sampled_from([None, 1]))
def test_json_is_read_as_it_was_written(data: object, indent: int | None) -> None:
    text = json.dumps(data, indent=indent)
    document = one(text, "data.json")
    assert document.data == data
    assert all(document.locate(path) for path in paths_in(data))
