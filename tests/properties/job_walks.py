"""Random lives of jobs: what can be submitted, and what may come next, sensible or not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from hypothesis import strategies as st

from rota.lifecycle.events import (
    Bound,
    CancelAsked,
    DeadlinePassed,
    DependencyEnded,
    Ended,
    Evicted,
    Held,
    JobEvent,
    LimitChanged,
    Promised,
    Released,
    Returned,
    Seat,
    SetAside,
    Started,
    StartMissed,
)
from rota.lifecycle.state import EndReason, JobState, TaskEnd
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, Promise, TaskGroup
from rota.model.plan import EvictionCause
from rota.model.run import After, Dependency, JobSpec, OnTaskFailure, Retry, Run
from rota.model.task import TaskSpec

ENDS = (
    TaskEnd(EndReason.EXITED, 0),
    TaskEnd(EndReason.EXITED, 1),
    TaskEnd(EndReason.EXITED, 75),
    *(TaskEnd(reason) for reason in EndReason if reason is not EndReason.EXITED),
)


@st.composite
def specs(draw: st.DrawFn) -> JobSpec:
    tasks = draw(st.integers(1, 4))
    template = JobTemplate(
        (TaskGroup(TaskSpec(), tasks),), min_available=draw(st.none() | st.integers(1, tasks))
    )
    dependencies = st.builds(Dependency, st.sampled_from([JobId("1"), JobId("2")]), st.sampled_from(After))
    return JobSpec(
        template,
        Run(("true",)),
        retry=Retry(draw(st.integers(0, 2)), exit_codes=draw(st.sampled_from([(), (75,)]))),
        on_task_failure=draw(st.sampled_from(OnTaskFailure)),
        depends_on=tuple(draw(st.lists(dependencies, max_size=2, unique_by=lambda one: one.job))),
        held=draw(st.booleans()),
    )


def possible_events(state: JobState) -> list[JobEvent]:
    """What may come next. Those at the end of the list may not, or are rare."""
    return [*likely_events(state), *chain(_orders(), _evictions(state), _nonsense(state))]


def likely_events(state: JobState) -> list[JobEvent]:
    """What comes next while nobody interferes."""
    return [*_bindings(state), *_reports(state), *_dependencies(state), Released("ada")]


def waiting_ranks(state: JobState) -> list[int]:
    taken = {task.rank for task in state.live}.union(state.done)
    return [rank for rank in range(state.spec.template.task_count) if rank not in taken]


def seats(ranks: list[int], standby: bool = False) -> Bound:
    return Bound(tuple(Seat(rank, NodeName(f"n{rank}"), (), standby) for rank in ranks))


def _bindings(state: JobState) -> Iterator[JobEvent]:
    ranks = waiting_ranks(state)
    for count in range(1, len(ranks) + 1):
        yield seats(ranks[:count])
        yield seats(ranks[-count:], standby=True)


def _reports(state: JobState) -> Iterator[JobEvent]:
    for task in state.live:
        yield Started(task.rank, task.fence)
        yield Returned(task.rank, task.fence)
        yield from (Ended(task.rank, task.fence, end) for end in ENDS)


def _dependencies(state: JobState) -> Iterator[JobEvent]:
    for dependency in state.depends_on:
        yield DependencyEnded(dependency.job, True)
        yield DependencyEnded(dependency.job, False)


def _orders() -> Iterator[JobEvent]:
    yield CancelAsked("ada")
    yield Held("ada")
    yield Promised(Promise(5_000_000, ()))
    yield Promised(None)
    yield LimitChanged(60_000, "ada")
    yield StartMissed()
    yield DeadlinePassed()
    yield SetAside("unheard of")


def _evictions(state: JobState) -> Iterator[JobEvent]:
    ranks = tuple(task.rank for task in state.live)
    for some in {ranks, ranks[:1], ranks[1:]}:
        yield Evicted(some, EvictionCause.PREEMPTED, JobId("99"))
        yield Evicted(some, EvictionCause.MAINTENANCE, ends_job=True)


def _nonsense(state: JobState) -> Iterator[JobEvent]:
    beyond = state.spec.template.task_count
    yield seats([])
    yield seats([0, 0])
    yield seats([beyond])
    yield Started(beyond, 1)
    yield Started(0, state.fence + 1)
    yield Evicted((beyond,), EvictionCause.TAINT)
    yield DependencyEnded(JobId("404"), False)
    yield LimitChanged(0, "ada")
