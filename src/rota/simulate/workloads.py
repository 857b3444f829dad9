"""Workloads changed on purpose: heavier, partly interactive, or with limits as careless users give them.

Pure: the same workload, seed and wishes give the same workload.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from enum import Enum
from random import Random

from msgspec.structs import replace

from rota.model.ids import QueueName
from rota.model.job import Job, JobTemplate
from rota.model.workload import SimJob, Workload, offered_load

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS
_ROUND_MS = (
    *(minutes * _MINUTE_MS for minutes in (5, 10, 15, 30)),
    *(hours * _HOUR_MS for hours in (1, 2, 4, 6, 8, 12)),
    *(days * _DAY_MS for days in (1, 2, 3, 5, 7, 14, 30)),
)
"""Limits that people write into their scripts."""


class Carelessness(Enum):
    ROUND = "round"
    """Every limit is a guess, rounded up: mostly several times the run time, some too short."""
    HABIT = "habit"
    """Most users always ask for the same: the maximum, or what was enough for nine jobs in ten."""


def at_load(workload: Workload, load: float) -> Workload:
    """The same jobs, arriving closer together or further apart, so that the offered load is this."""
    if load <= 0:
        raise ValueError("a load is more than 0")
    if any(one.is_endless for one in workload.jobs):
        raise ValueError("jobs that never end have no load")
    stretch = offered_load(workload) / load
    first_ms = workload.jobs[0].arrival_ms
    return replace(
        workload,
        jobs=tuple(
            _arriving(one, first_ms + round((one.arrival_ms - first_ms) * stretch)) for one in workload.jobs
        ),
    )


def with_interactive(workload: Workload, share: float, seed: int, queue: str = "interactive") -> Workload:
    """That share of the jobs, drawn by the seed, comes to the interactive queue instead."""
    if not 0 <= share <= 1:
        raise ValueError("a share is from 0 to 1")
    able = [at for at, one in enumerate(workload.jobs) if not one.placements]
    drawn = frozenset(Random(seed).sample(able, round(share * len(able))))
    moved = _Templates(lambda template, _: replace(template, queue=QueueName(queue)))
    return replace(
        workload,
        jobs=tuple(
            _with_template(one, moved.of(one.job.template)) if at in drawn else one
            for at, one in enumerate(workload.jobs)
        ),
    )


def with_careless_limits(workload: Workload, seed: int, kind: Carelessness) -> Workload:
    """Jobs run for as long as they did, with time limits as people give them. Where a limit is too
    short, the run is cut there: the run time is then longer than the limit."""
    chance = Random(seed)
    finite = [one for one in workload.jobs if not one.is_endless]
    habits = _habits(finite, chance) if kind is Carelessness.HABIT else {}
    limited = _Templates(lambda template, limit_ms: replace(template, time_limit_ms=limit_ms))
    jobs = []
    for one in workload.jobs:
        if not one.is_endless:
            limit_ms = habits.get(_user(one)) or _guess_ms(one.run_ms, chance)
            one = _with_template(one, limited.of(one.job.template, limit_ms))
        jobs.append(one)
    return replace(workload, jobs=tuple(jobs))


# -- limits


def _guess_ms(run_ms: int, chance: Random) -> int:
    kind = chance.random()
    if kind < 0.06:
        return _round_down_ms(run_ms)
    if kind < 0.20:
        return _round_up_ms(run_ms * chance.uniform(1.0, 1.5))
    if kind < 0.60:
        return _round_up_ms(run_ms * chance.uniform(2.0, 5.0))
    return _round_up_ms(run_ms * chance.uniform(5.0, 20.0))


def _habits(jobs: Iterable[SimJob], chance: Random) -> dict[tuple[str, str], int]:
    """What users always ask for; those without a habit guess each time."""
    runs_ms: dict[tuple[str, str], list[int]] = {}
    for one in jobs:
        runs_ms.setdefault(_user(one), []).append(one.run_ms)
    longest_ms = max((max(runs) for runs in runs_ms.values()), default=0)
    habits = {}
    for user in sorted(runs_ms):
        kind = chance.random()
        if kind < 0.5:
            habits[user] = _round_up_ms(longest_ms)
        elif kind < 0.85:
            runs = sorted(runs_ms[user])
            habits[user] = _round_up_ms(runs[-(-9 * len(runs) // 10) - 1])
    return habits


def _user(one: SimJob) -> tuple[str, str]:
    return one.job.template.project, one.job.template.user


def _round_up_ms(duration_ms: float) -> int:
    at = bisect_left(_ROUND_MS, duration_ms)
    return _ROUND_MS[at] if at < len(_ROUND_MS) else -(-int(duration_ms) // _DAY_MS) * _DAY_MS


def _round_down_ms(duration_ms: int) -> int:
    """A round limit that is too short, where there is one."""
    return _ROUND_MS[max(0, bisect_left(_ROUND_MS, duration_ms) - 1)]


# -- jobs


class _Templates:
    """Changed templates, each once: jobs that were equal before stay so."""

    def __init__(self, change: Callable[[JobTemplate, int], JobTemplate]) -> None:
        self._change = change
        self._changed: dict[tuple[JobTemplate, int], JobTemplate] = {}

    def of(self, template: JobTemplate, argument: int = 0) -> JobTemplate:
        changed = self._changed.get((template, argument))
        if changed is None:
            changed = self._changed[template, argument] = self._change(template, argument)
        return changed


def _with_template(one: SimJob, template: JobTemplate) -> SimJob:
    return replace(one, job=replace(one.job, template=template))


def _arriving(one: SimJob, arrival_ms: int) -> SimJob:
    later_ms = arrival_ms - one.arrival_ms
    return replace(one, job=_later(one.job, later_ms), arrival_ms=arrival_ms) if later_ms else one


def _later(job: Job, later_ms: int) -> Job:
    """The period that its user stated moves along."""
    before_ms = job.start_before_ms
    return replace(
        job,
        submitted_ms=job.submitted_ms + later_ms,
        start_after_ms=max(0, job.start_after_ms + later_ms) if job.start_after_ms else 0,
        start_before_ms=None if before_ms is None else max(0, before_ms + later_ms),
    )
