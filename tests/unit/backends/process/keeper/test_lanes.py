"""Who takes over the room of a task that ended."""

from rota.backends.backend import TaskRef
from rota.backends.process.keeper.lanes import Arrival, Lanes
from rota.model.ids import JobId


def ref(job: int) -> TaskRef:
    return TaskRef(JobId(str(job)), 0, 1)


def test_those_on_standby_follow_in_turn() -> None:
    lanes = Lanes()
    lanes.enters("a")
    assert lanes.arrives("a", ref(2)) is Arrival.WAITS
    assert lanes.arrives("a", ref(3)) is Arrival.WAITS
    assert lanes.leaves("a", ref(1)) == ref(2)
    assert lanes.leaves("a", ref(2)) == ref(3)
    assert lanes.leaves("a", ref(3)) is None


def test_lanes_are_apart() -> None:
    lanes = Lanes()
    lanes.enters("a")
    lanes.enters("b")
    assert lanes.arrives("a", ref(2)) is Arrival.WAITS
    assert lanes.leaves("b", ref(1)) is None


def test_nobody_waits_for_nobody() -> None:
    assert Lanes().arrives("a", ref(1)) is Arrival.RETURNS


def test_room_that_the_server_does_not_know_to_be_free_is_taken_once() -> None:
    lanes = Lanes()
    lanes.enters("a")
    lanes.leaves("a", ref(1))
    assert lanes.arrives("a", ref(2)) is Arrival.STARTS
    assert lanes.arrives("a", ref(3)) is Arrival.WAITS


def test_room_of_an_end_that_is_settled_is_no_longer_there() -> None:
    lanes = Lanes()
    lanes.enters("a")
    lanes.leaves("a", ref(1))
    lanes.settles("a", ref(1))
    assert lanes.arrives("a", ref(2)) is Arrival.RETURNS


def test_one_that_is_taken_back_is_passed_over() -> None:
    lanes = Lanes()
    lanes.enters("a")
    lanes.arrives("a", ref(2))
    lanes.arrives("a", ref(3))
    assert lanes.withdraws("a", ref(2))
    assert not lanes.withdraws("a", ref(2))
    assert lanes.leaves("a", ref(1)) == ref(3)
