"""Which taints a toleration bears, and for how long."""

import pytest

from rota.model.taints import Effect, Taint, Toleration, bears_until_ms, tolerated
from tests.words import taint, toleration

pytestmark = pytest.mark.covers("decide-5")


@pytest.mark.parametrize(
    ("bearer", "mark", "bears"),
    [
        ("gpu=yes", "gpu=yes:NoSchedule", True),
        ("gpu=yes", "gpu=no:NoSchedule", False),
        ("gpu=yes", "ssd=yes:NoSchedule", False),
        ("gpu", "gpu=yes:NoSchedule", True),
        ("gpu", "gpu:NoSchedule", True),
        ("gpu=", "gpu:NoSchedule", True),
        ("gpu=", "gpu=yes:NoSchedule", False),
        ("gpu:NoSchedule", "gpu=yes:NoSchedule", True),
        ("gpu:NoSchedule", "gpu=yes:NoExecute", False),
        ("gpu", "gpu=yes:NoExecute", True),
        ("gpu=yes:PreferNoSchedule", "gpu=yes:PreferNoSchedule", True),
        ("*", "anything=at-all:NoExecute", True),
    ],
)
def test_key_value_and_effect_must_match_where_they_are_given(bearer: str, mark: str, bears: bool) -> None:
    assert toleration(bearer).tolerates(taint(mark)) is bears


def test_an_empty_key_without_exists_bears_nothing() -> None:
    assert not Toleration().tolerates(taint("gpu:NoSchedule"))


def test_an_empty_key_with_exists_still_minds_the_effect() -> None:
    drained = Toleration(exists=True, effect=Effect.NO_SCHEDULE)
    assert drained.tolerates(taint("any:NoSchedule"))
    assert not drained.tolerates(taint("any:NoExecute"))


def test_one_of_several_tolerations_is_enough() -> None:
    assert tolerated(taint("b:NoSchedule"), (toleration("a"), toleration("b")))
    assert not tolerated(taint("c:NoSchedule"), (toleration("a"), toleration("b")))
    assert not tolerated(taint("c:NoSchedule"), ())


ADDED_MS = 5_000


@pytest.mark.parametrize(
    ("seconds", "until_ms"),
    [
        ([], ADDED_MS),
        ([None], None),
        ([10], ADDED_MS + 10_000),
        ([30, 10, 20], ADDED_MS + 10_000),
        ([None, 10], ADDED_MS + 10_000),
        ([0], ADDED_MS),
        ([-5], ADDED_MS),
    ],
)
def test_the_shortest_time_counts_and_none_means_for_ever(
    seconds: list[int | None], until_ms: int | None
) -> None:
    mark = Taint("fire", Effect.NO_EXECUTE, added_ms=ADDED_MS)
    tolerations = tuple(Toleration("fire", exists=True, seconds=one) for one in seconds)
    assert bears_until_ms(mark, tolerations) == until_ms


def test_a_time_on_another_taint_does_not_count() -> None:
    mark = Taint("fire", Effect.NO_EXECUTE, added_ms=ADDED_MS)
    others = (Toleration("flood", exists=True, seconds=9), Toleration("fire", exists=True))
    assert bears_until_ms(mark, others) is None


@pytest.mark.parametrize("text", ["gpu=yes:NoSchedule", "gpu:NoExecute", "a/b=c:PreferNoSchedule"])
def test_a_taint_is_written_as_it_is_read(text: str) -> None:
    assert taint(text).notation == text


@pytest.mark.parametrize(
    ("key", "passing"),
    [
        ("node.kubernetes.io/disk-pressure", True),
        ("node.kubernetes.io/not-ready", True),
        ("node-role.kubernetes.io/control-plane", False),
        ("dedicated", False),
    ],
)
def test_taints_of_node_conditions_pass(key: str, passing: bool) -> None:
    assert Taint(key, Effect.NO_SCHEDULE).is_passing is passing
