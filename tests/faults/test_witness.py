"""What must never happen is noticed when it does: each rule by an example that breaks it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rota.backends.backend import TaskRef, TaskStart
from rota.lifecycle.state import EndReason, JobState, LiveTask, Phase, TaskEnd, TaskPhase
from rota.model.causes import Cause
from rota.model.ids import JobId, NodeName
from rota.model.node import Gpus, Node, NodeSpec
from rota.model.resources import GpuRequest, Resources
from rota.model.run import Run
from rota.model.task import TaskSpec
from rota.store.writing.batch import Attempt, Batch, StoredEvent
from tests.faults.kept import Kept
from tests.faults.room import Held, oversubscribed
from tests.faults.witness import Witness
from tests.stored import event, job

NODE = Node(NodeName("n1"), NodeSpec(Resources(cpu_milli=1500), Gpus(1)))
OTHER = replace(NODE, name=NodeName("n2"))
SUCCESS = TaskEnd(EndReason.EXITED, exit_code=0)


def running(job_id: str = "1", fence: int = 1) -> JobState:
    task = LiveTask(0, fence, NODE.name, TaskPhase.RUNNING, bound_ms=10, started_ms=11)
    return job(job_id, phase="running", live=(task,), fence=fence, started_ms=11)


def attempt(job_id: str = "1", fence: int = 1, **fields: Any) -> Attempt:
    return Attempt(JobId(job_id), 0, fence, NODE.name, (), fields.pop("bound_ms", 10), **fields)


class Watched(Witness):
    def __init__(self) -> None:
        super().__init__(lambda: 1.0)

    def keep(self, *jobs: JobState, attempts: tuple[Attempt, ...] = ()) -> None:
        self.committed(Batch(jobs=list(jobs), attempts=list(attempts)), last_seq=0)

    def start(self, job_id: str = "1", fence: int = 1, node: Node = NODE) -> TaskRef:
        ref = TaskRef(JobId(job_id), 0, fence)
        self.task_started(node, TaskStart(ref, node.name, Run(("true",))))
        return ref

    @property
    def broken_rule(self) -> str | None:
        return None if self.violation is None else self.violation.invariant


def test_a_job_that_runs_and_ends_breaks_nothing() -> None:
    witness = Watched()
    witness.keep(running(), attempts=(attempt(),))
    ref = witness.start()
    witness.acknowledged([running()])
    witness.task_ended(NODE, ref, 0, None)
    over = job("1", phase="succeeded", done=(0,), fence=1)
    witness.keep(over, attempts=(attempt(started_ms=11, ended_ms=12, end=SUCCESS),))
    assert witness.violation is None


def test_what_was_accepted_and_is_not_kept() -> None:
    witness = Watched()
    witness.acknowledged([running()])
    assert witness.broken_rule == "I1"


def test_events_that_are_told_and_not_kept() -> None:
    witness = Watched()
    witness.told([StoredEvent(1, event("job.Started"))])
    assert witness.broken_rule == "I1"


def test_a_job_that_ends_twice() -> None:
    witness = Watched()
    witness.keep(job("1", phase="failed", cause=Cause.TASK_FAILED))
    assert witness.violation is None
    witness.keep(job("1", phase="cancelled", cause=Cause.BY_USER))
    assert witness.broken_rule == "I1"


def test_success_that_never_was() -> None:
    witness = Watched()
    witness.keep(running(), attempts=(attempt(),))
    witness.keep(job("1", phase="succeeded", done=(0,), fence=1))
    assert witness.broken_rule == "I1"


def test_a_task_that_runs_in_two_places() -> None:
    witness = Watched()
    witness.keep(running(fence=2), attempts=(attempt(ended_ms=11), attempt(fence=2, bound_ms=11)))
    witness.start(fence=2)
    witness.start(fence=2, node=OTHER)
    assert witness.broken_rule == "I2"


def test_an_older_start_that_comes_after_a_newer_one() -> None:
    witness = Watched()
    witness.keep(running(fence=2), attempts=(attempt(fence=1, ended_ms=11), attempt(fence=2, bound_ms=11)))
    witness.task_ended(NODE, witness.start(fence=2), 0, None)
    witness.start(fence=1)
    assert witness.broken_rule == "I2"


def test_an_end_that_is_recorded_while_the_task_runs() -> None:
    witness = Watched()
    witness.keep(running(), attempts=(attempt(),))
    witness.start()
    witness.keep(attempts=(attempt(started_ms=11, ended_ms=12, end=TaskEnd(EndReason.LOST)),))
    assert witness.broken_rule == "I2"


def test_a_node_with_more_than_it_has_room_for() -> None:
    witness = Watched()
    for job_id in ("1", "2"):
        witness.keep(running(job_id), attempts=(attempt(job_id),))
        witness.start(job_id)
    assert witness.broken_rule == "I3"


def test_a_device_that_is_given_twice() -> None:
    twice = [Held("one", TaskSpec(Resources(), gpu=GpuRequest(1)), (0,))] * 2
    assert not oversubscribed(NODE, twice[:1])
    assert "device 0" in oversubscribed(NODE, twice)


def test_attempts_that_overlap() -> None:
    witness = Watched()
    witness.keep(running(), attempts=(attempt(),))
    witness.keep(attempts=(attempt(ended_ms=20),))
    witness.keep(running(fence=2), attempts=(attempt(fence=2, bound_ms=19),))
    assert witness.broken_rule == "I4"


def test_a_run_that_nobody_recorded() -> None:
    witness = Watched()
    witness.start()
    assert witness.broken_rule == "I4"


def test_a_state_that_cannot_be() -> None:
    witness = Watched()
    witness.keep(replace(running(), live=(), phase=Phase.RUNNING))
    assert witness.broken_rule == "I0"


# -- what a server finds when it starts


def wrote(*batches: Batch) -> Watched:
    """The first is known to be kept."""
    witness = Watched()
    for seq, batch in enumerate(batches, 1):
        witness.committed(batch, seq)
        if seq == 1:
            witness.heard()
    return witness


def found(*batches: Batch) -> Kept:
    kept = Kept()
    for batch in batches:
        kept.keep(batch)
    return kept


FIRST, SECOND, THIRD = (Batch([event("job.Submitted")], [job(name)]) for name in ("1", "2", "3"))


def test_all_that_was_written_is_found_after_a_kill() -> None:
    witness = wrote(FIRST, SECOND)
    witness.recovered(found(FIRST, SECOND).contents())
    assert witness.violation is None
    witness.recovered(found(FIRST).contents())
    assert witness.broken_rule == "I1"


def test_what_nobody_knew_of_may_be_gone_after_a_loss_of_power() -> None:
    for left in ([], [SECOND], [SECOND, THIRD]):
        witness = wrote(FIRST, SECOND, THIRD)
        witness.power_lost("some")
        witness.recovered(found(FIRST, *left).contents())
        assert witness.violation is None
        assert list(witness.kept.jobs) == [state.id for batch in (FIRST, *left) for state in batch.jobs]


def test_what_was_known_is_not_gone_after_a_loss_of_power() -> None:
    witness = wrote(FIRST, SECOND)
    witness.power_lost("some")
    witness.recovered(found(SECOND).contents())
    assert witness.broken_rule == "I1"


def test_a_batch_of_which_a_part_is_found() -> None:
    witness = wrote(FIRST, SECOND)
    witness.power_lost("some")
    witness.recovered(found(FIRST, Batch(events=SECOND.events)).contents())
    assert witness.broken_rule == "I1"


def test_something_that_nobody_wrote() -> None:
    witness = wrote(FIRST)
    witness.recovered(found(FIRST, SECOND).contents())
    assert witness.broken_rule == "I1"


def test_a_batch_that_was_kept_in_doubt_and_is_committed_again_counts_once() -> None:
    witness = wrote(FIRST)
    witness.committed(FIRST, last_seq=1)
    assert witness.kept.last_seq == 1
    assert witness.violation is None


def test_a_store_that_writes_other_events_than_it_was_given() -> None:
    witness = wrote(FIRST)
    witness.committed(SECOND, last_seq=3)
    assert witness.broken_rule == "I1"
