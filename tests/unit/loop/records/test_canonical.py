from msgspec import Struct

from rota.loop.records.canonical import SetHash, digest, encoded
from rota.model.ids import JobId
from rota.model.job import Job, JobTemplate, Priority
from rota.model.plan import EvictionCause

TEMPLATE = JobTemplate(())


def test_equal_things_have_one_encoding() -> None:
    """Whichever object stands for a value."""
    project = "".join(("def", "ault"))
    other = JobTemplate((), project=project, priority=int(Priority.MEDIUM))
    assert other == TEMPLATE
    assert encoded(other) == encoded(TEMPLATE)
    assert encoded(EvictionCause.TAINT) == encoded("taint")
    assert encoded(JobTemplate((), priority=Priority.HIGH)) == encoded(JobTemplate((), priority=1000))


def test_different_things_have_different_ones() -> None:
    things = [
        TEMPLATE,
        JobTemplate((), project="p"),
        JobTemplate((), user="p"),
        JobTemplate((), min_available=1),
        JobTemplate((), preemptible=False),
        Job(JobId("a"), TEMPLATE),
        Job(JobId("a"), TEMPLATE, preempted_by=(JobId("b"), JobId("c"))),
        Job(JobId("a"), TEMPLATE, preempted_by=(JobId("c"), JobId("b"))),
    ]
    assert len({digest(thing) for thing in things}) == len(things)


def test_a_field_that_comes_with_a_later_version_changes_nothing_where_it_is_not_used() -> None:
    class Early(Struct):
        b: int
        a: str = "x"

    class Later(Struct):
        b: int
        c: int = 7
        a: str = "x"

    assert encoded(Early(1, "y")) == encoded(Later(1, a="y"))
    assert encoded(Early(1)) != encoded(Later(1, 8))


class TestHashOfASet:
    def test_is_that_of_what_is_in_it(self) -> None:
        one, other = SetHash(), SetHash()
        one.put(("node", "a"), b"1")
        one.put(("node", "b"), b"2")
        other.put(("node", "b"), b"3")
        other.put(("job", "a"), b"1")
        other.put(("node", "b"), b"2")
        assert one.digest() != other.digest()
        other.put(("node", "a"), b"1")
        other.drop(("job", "a"))
        assert one.digest() == other.digest()

    def test_what_is_not_in_it_can_be_dropped(self) -> None:
        parts = SetHash()
        empty = parts.digest()
        parts.drop(("node", "a"))
        assert parts.digest() == empty

    def test_names_and_contents_are_kept_apart(self) -> None:
        one, other = SetHash(), SetHash()
        one.put(("a",), b"1")
        one.put(("b",), b"2")
        other.put(("a",), b"2")
        other.put(("b",), b"1")
        assert one.digest() != other.digest()
