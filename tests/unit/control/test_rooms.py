"""Rooms that ends leave to those on standby: never more taken than were given, never fewer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.control.rooms import StandbyRooms, inheriting
from rota.lifecycle.state import JobState, LiveTask, Phase, TaskPhase
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.run import JobSpec, Run
from rota.model.task import TaskSpec

HERE, THERE = NodeName("here"), NodeName("there")
SPEC = JobSpec(JobTemplate((TaskGroup(TaskSpec()),)), Run(("true",)))


def element(index: int, phase: TaskPhase | None, node: NodeName = HERE) -> JobState:
    roomless = phase is TaskPhase.STANDBY
    live = () if phase is None else (LiveTask(0, 1, node, phase, bound_ms=0, roomless=roomless),)
    spec = replace(SPEC, array_index=index)
    return JobState(JobId(f"7.{index}"), 7 + index, spec, 0, Phase.SCHEDULED, live=live)


class Lanes:
    def __init__(self) -> None:
        self.rooms = StandbyRooms()
        self.jobs: dict[JobId, JobState] = {}

    def keep(self, *states: JobState) -> list[str]:
        changed = {state.id: state for state in states}
        heirs = self.rooms.heirs(self.jobs, changed)
        changed |= {job_id: inheriting(changed.get(job_id) or self.jobs[job_id]) for job_id in heirs}
        self.rooms.changed(self.jobs, changed.values())
        self.jobs |= changed
        return [str(job_id) for job_id in heirs]

    def task(self, job_id: str) -> LiveTask:
        return self.jobs[JobId(job_id)].live[0]

    def in_phase(self, index: int, phase: TaskPhase) -> JobState:
        """As it is, but for its phase."""
        state = self.jobs[JobId(f"7.{index}")]
        return replace(state, live=(replace(state.live[0], phase=phase),))

    def taken(self) -> int:
        return sum(any(task.holds_room for task in state.live) for state in self.jobs.values())


def test_an_end_leaves_its_room_to_the_first_on_standby() -> None:
    lanes = Lanes()
    lanes.keep(element(0, TaskPhase.RUNNING), element(1, TaskPhase.STANDBY), element(2, TaskPhase.STANDBY))
    assert lanes.keep(element(0, None)) == ["7.1"]
    assert lanes.task("7.1").has_room
    assert lanes.jobs[JobId("7.1")].record().placements[0].node == HERE
    assert lanes.rooms.waiting("7", HERE) == ["7.2"]


def test_one_whose_start_comes_with_the_end_has_its_room() -> None:
    lanes = Lanes()
    lanes.keep(element(0, TaskPhase.RUNNING), element(1, TaskPhase.STANDBY), element(2, TaskPhase.STANDBY))
    assert lanes.keep(lanes.in_phase(1, TaskPhase.RUNNING), element(0, None)) == ["7.1"]
    assert not lanes.task("7.2").has_room


def test_one_whose_start_comes_before_the_end_has_no_other_room() -> None:
    lanes = Lanes()
    lanes.keep(element(0, TaskPhase.RUNNING), element(1, TaskPhase.STANDBY), element(2, TaskPhase.STANDBY))
    lanes.keep(lanes.in_phase(1, TaskPhase.RUNNING))
    assert lanes.taken() == 1
    assert lanes.rooms.waiting("7", HERE) == ["7.1", "7.2"], "it goes with its room, should that be evicted"
    assert lanes.keep(element(0, None)) == ["7.1"]
    assert lanes.taken() == 1
    assert lanes.rooms.waiting("7", HERE) == ["7.2"]


def test_who_runs_already_inherits_before_those_who_came_earlier() -> None:
    lanes = Lanes()
    lanes.keep(element(0, TaskPhase.RUNNING), element(1, TaskPhase.STANDBY), element(2, TaskPhase.STANDBY))
    lanes.keep(lanes.in_phase(2, TaskPhase.RUNNING))
    assert lanes.keep(element(0, None)) == ["7.2"]


def test_one_that_ends_without_a_room_leaves_none() -> None:
    lanes = Lanes()
    lanes.keep(element(0, TaskPhase.RUNNING), element(1, TaskPhase.STANDBY), element(2, TaskPhase.STANDBY))
    lanes.keep(lanes.in_phase(1, TaskPhase.STOPPING))
    assert lanes.taken() == 2, "it may have started just before it was told to stop"
    assert lanes.keep(element(1, None)) == []
    assert lanes.taken() == 1
    assert lanes.keep(element(0, None)) == ["7.2"]


def test_an_heir_that_is_given_back_passes_the_room_on() -> None:
    lanes = Lanes()
    lanes.keep(element(0, TaskPhase.RUNNING), element(1, TaskPhase.STANDBY), element(2, TaskPhase.STANDBY))
    lanes.keep(element(0, None))
    assert lanes.keep(element(1, None)) == ["7.2"]


def test_other_nodes_inherit_nothing() -> None:
    lanes = Lanes()
    lanes.keep(element(0, TaskPhase.RUNNING), element(1, TaskPhase.STANDBY, THERE))
    assert lanes.keep(element(0, None)) == []


def test_after_a_restart_the_room_is_still_the_heirs() -> None:
    lanes = Lanes()
    lanes.keep(element(0, TaskPhase.RUNNING), element(1, TaskPhase.STANDBY), element(2, TaskPhase.STANDBY))
    lanes.keep(element(0, None))
    again = StandbyRooms()
    again.changed({}, lanes.jobs.values())
    assert lanes.jobs[JobId("7.1")].live[0].holds_room
    assert again.waiting("7", HERE) == ["7.2"]


ACTS = st.sampled_from(("bind", "standby", "start", "end"))


@given(st.lists(st.dictionaries(st.integers(0, 5), ACTS)))
def test_as_many_rooms_are_taken_as_were_given(batches: list[dict[int, str]]) -> None:
    """However reports are bundled: a room is free only once nobody stands by for it."""
    lanes, rooms = Lanes(), 0
    for batch in batches:
        now = dict(lanes.jobs)
        for index, act in batch.items():
            job_id = JobId(f"7.{index}")
            phase = now[job_id].live[0].phase if job_id in now and now[job_id].live else None
            if act == "bind" and phase is None:
                now[job_id], rooms = element(index, TaskPhase.BOUND), rooms + 1
            elif act == "standby" and phase is None:
                now[job_id] = element(index, TaskPhase.STANDBY)
            elif act == "start" and phase in (TaskPhase.BOUND, TaskPhase.STANDBY):
                task = replace(now[job_id].live[0], phase=TaskPhase.RUNNING)
                now[job_id] = replace(now[job_id], live=(task,))
            elif act == "end" and phase is not None:
                now[job_id] = element(index, None)
        changed = [state for job_id, state in now.items() if state != lanes.jobs.get(job_id)]
        lanes.keep(*changed)
        stands_by = any(task.roomless for state in lanes.jobs.values() for task in state.live)
        assert lanes.taken() <= rooms
        if stands_by:
            assert lanes.taken() == rooms
        rooms = lanes.taken()
