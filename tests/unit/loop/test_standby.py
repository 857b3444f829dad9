"""Who may have a room of its own, and who stands by behind others of its array."""

from __future__ import annotations

from msgspec.structs import replace

from rota.lifecycle.state import JobState, LiveTask, Phase, TaskPhase
from rota.loop.standby import Standby
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.run import JobSpec, Run
from rota.model.task import TaskSpec
from rota.store.batch import Batch

HERE, THERE = NodeName("here"), NodeName("there")


def element(index: int, phase: TaskPhase, node: NodeName = HERE) -> JobState:
    spec = JobSpec(JobTemplate((TaskGroup(TaskSpec()),)), Run(("true",)), array_index=index)
    live = (LiveTask(0, 1, node, phase, bound_ms=0),)
    return JobState(JobId(f"7.{index}"), 7 + index, spec, 0, Phase.SCHEDULED, live=live)


def kept(standby: Standby, *states: JobState) -> None:
    standby.kept(Batch(jobs=list(states)))


def test_room_that_one_on_standby_will_take_is_nobody_elses() -> None:
    standby = Standby()
    kept(standby, element(0, TaskPhase.RUNNING), element(1, TaskPhase.STANDBY))
    assert standby.stands_before(JobId("7.2"), HERE)


def test_other_nodes_and_other_jobs_are_not_concerned() -> None:
    standby = Standby()
    kept(standby, element(0, TaskPhase.RUNNING), element(1, TaskPhase.STANDBY))
    assert not standby.stands_before(JobId("7.2"), THERE)
    assert not standby.stands_before(JobId("8.2"), HERE)
    assert not standby.stands_before(JobId("9"), HERE)


def test_once_it_runs_the_next_end_leaves_room_again() -> None:
    standby = Standby()
    waits = element(1, TaskPhase.STANDBY)
    kept(standby, element(0, TaskPhase.RUNNING), waits, element(2, TaskPhase.STANDBY))
    kept(standby, element(1, TaskPhase.RUNNING))
    assert standby.stands_before(JobId("7.3"), HERE)
    kept(standby, replace(element(2, TaskPhase.RUNNING), live=()))
    assert not standby.stands_before(JobId("7.3"), HERE)
