"""Jobs followed through their events, as sentences: what tests of the lifecycle are written in.

    job = follow(tasks=2, on_task_failure="restart-job", retry=Retry(limit=1)).bind(0, 1).start(0, 1)
    assert job.exit(1, code=3).told == ["stop 0 on n0"]
    assert job.stopped(0).phase is Phase.PENDING

Each event comes a second after the one before, and every state that it leads to is validated.
"""

from __future__ import annotations

from typing import Any

from rota.lifecycle.advance import advance, submitted
from rota.lifecycle.events import (
    Bound,
    CancelAsked,
    Ended,
    Evicted,
    JobEvent,
    Returned,
    Seat,
    Started,
)
from rota.lifecycle.instructions import ChangeLimit, Instruction, StartTask, StopTask, TellDependents
from rota.lifecycle.state import EndReason, JobState, Phase, TaskEnd
from rota.lifecycle.validate import validate
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.plan import EvictionCause
from rota.model.run import JobSpec, OnTaskFailure, Run
from rota.model.task import TaskSpec

SUBMITTED_MS = 1_000_000


def job_spec(
    *,
    tasks: int = 1,
    on_task_failure: str = "fail-job",
    template: dict[str, Any] | None = None,
    **fields: Any,
) -> JobSpec:
    """`min_available` and whatever else is in `template` are of the template, `fields` of the spec."""
    made = JobTemplate((TaskGroup(TaskSpec(), tasks),), **(template or {}))
    return JobSpec(made, Run(("true",)), on_task_failure=OnTaskFailure(on_task_failure), **fields)


def follow(*, min_available: int | None = None, limit: int | None = None, **words: Any) -> Followed:
    template = {"min_available": min_available, "time_limit_ms": limit}
    return Followed(job_spec(template=template, **words))


class Followed:
    def __init__(self, spec: JobSpec) -> None:
        self.at_ms = SUBMITTED_MS
        self.told: list[str] = []
        """What the latest event led to, in words."""
        self._keep(submitted(JobId("17"), 17, spec, self.at_ms).state)

    def _keep(self, state: JobState) -> None:
        validate(state)
        self.state = state

    @property
    def phase(self) -> Phase:
        return self.state.phase

    def happens(self, event: JobEvent, chance: float = 0.0) -> Followed:
        self.at_ms += 1000
        advanced = advance(self.state, event, self.at_ms, chance)
        self._keep(advanced.state)
        self.told = [_in_words(one) for one in advanced.instructions]
        return self

    def bind(self, *ranks: int, standby: bool = False) -> Followed:
        """Each on a node of its own."""
        return self.happens(Bound(tuple(Seat(rank, NodeName(f"n{rank}"), (), standby) for rank in ranks)))

    def start(self, *ranks: int) -> Followed:
        for rank in ranks:
            self.happens(Started(rank, self.fence(rank)))
        return self

    def run(self, *ranks: int) -> Followed:
        return self.bind(*ranks).start(*ranks)

    def exit(self, *ranks: int, code: int = 0, chance: float = 0.0) -> Followed:
        for rank in ranks:
            self._ends(rank, TaskEnd(EndReason.EXITED, code), chance)
        return self

    def ends(self, rank: int, reason: EndReason, message: str = "") -> Followed:
        return self._ends(rank, TaskEnd(reason, message=message), 0.0)

    def stopped(self, *ranks: int) -> Followed:
        for rank in ranks:
            self.ends(rank, EndReason.STOPPED)
        return self

    def lose(self, rank: int) -> Followed:
        return self.ends(rank, EndReason.LOST, "the node is gone")

    def give_back(self, rank: int) -> Followed:
        return self.happens(Returned(rank, self.fence(rank)))

    def evict(
        self, *ranks: int, by: str = "99", cause: str = "preempted", ends_job: bool = False
    ) -> Followed:
        return self.happens(Evicted(ranks, EvictionCause(cause), JobId(by), ends_job))

    def cancel(self, message: str = "") -> Followed:
        return self.happens(CancelAsked("ada", message))

    def _ends(self, rank: int, end: TaskEnd, chance: float) -> Followed:
        return self.happens(Ended(rank, self.fence(rank), end), chance)

    def fence(self, rank: int) -> int:
        task = self.state.task(rank)
        assert task is not None, f"task {rank} has no node"
        return task.fence

    def live(self) -> dict[int, str]:
        return {task.rank: task.phase.value for task in self.state.live}


def _in_words(instruction: Instruction) -> str:
    match instruction:
        case StartTask(_, rank, fence, node, _, standby):
            return f"start {rank} on {node}, fence {fence}{', standing by' if standby else ''}"
        case StopTask(_, rank, _, node):
            return f"stop {rank} on {node}"
        case ChangeLimit(_, rank, _, _, limit_ms):
            return f"limit {rank} to {limit_ms}"
        case TellDependents(_, succeeded):
            return f"tell dependents: {'succeeded' if succeeded else 'not succeeded'}"
