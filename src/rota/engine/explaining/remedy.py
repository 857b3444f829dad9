"""What would let a waiting job start now, or sooner: the smallest changes, each found by trying it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from msgspec.structs import replace

from rota.engine.budget import ENDLESS, Budget
from rota.engine.explaining.change import Limiter, loosenings, paying, resources_of, with_specs
from rota.engine.explaining.what_if import Trial, WhatIf
from rota.engine.placing.score import task_price_micro
from rota.engine.refusals import LaneRefusal
from rota.model.calendar import PlannedStart
from rota.model.explanation import NOW, Change, Remedy
from rota.model.ids import NodeName
from rota.model.job import Job, JobTemplate, Priority
from rota.model.verdict import RUNNING_JOBS, Code, Kind

_EFFORT = {
    Change.TOLERATION: 0.30,
    Change.NODE_LABEL: 0.35,
    Change.TIME_LIMIT: 0.35,
    Change.PRIORITY: 0.40,
    Change.NODE_SELECTOR: 0.45,
    Change.GPU_MODEL: 0.45,
    Change.POOL: 0.50,
    Change.PRICE: 0.50,
    Change.EXCLUSIVE: 0.55,
    Change.JOB_AFFINITY: 0.60,
    Change.NODE_AFFINITY: 0.60,
    Change.TOPOLOGY: 0.60,
}
"""How large a change is felt to be, against giving up that fraction of what was asked for."""
_FRACTIONS = (Change.RESOURCE, Change.GANG_SIZE, Change.TIME_LIMIT)

_NOT_THE_JOB = frozenset(
    (
        Code.PARTNER,
        Code.STRICT_QUEUE,
        Code.QUEUE_PAUSED,
        Code.QUEUE_CLOSED,
        Code.SLA_MISSED,
        Code.PERIOD_MISSED,
        Code.NOT_RESERVED_FOR,
        Code.NO_SCHEDULER,
        Code.NO_NODES,
    )
)
"""Whatever the job asked for, these would keep it waiting."""

_SECOND_MS, _MINUTE_MS, _HOUR_MS = 1000, 60_000, 3_600_000
_LONGEST_LIMIT_MS = 366 * 24 * _HOUR_MS
"""That is tried for a job which has none."""
_SOONER_MS = _MINUTE_MS
_SOONER_PART = 20
"""A change is worth it from a minute and a twentieth of the wait on."""


class _Spent(Exception):
    """There is no time left to try more."""


def remedies_for(
    what_if: WhatIf, refusal: LaneRefusal, job: Job, planned: PlannedStart | None, budget: Budget = ENDLESS
) -> tuple[tuple[Remedy, ...], bool]:
    """Every single change that helps, the smallest first; but first those with which it starts now. And
    whether time was up before all were tried."""
    reasons = [one.reason for one in refusal.verdict.refusals]
    if _NOT_THE_JOB.intersection(reason.code for reason in reasons):
        return (), False
    if any(reason.code is Code.LIMIT and reason.subject.endswith(f" {RUNNING_JOBS}") for reason in reasons):
        return (), False
    what_if.make_way(job)
    found: list[Remedy] = []
    is_cut_short = False
    try:
        for remedy in _Search(what_if, refusal, job, planned, budget).remedies():
            found.append(remedy)
    except _Spent:
        is_cut_short = True
    found.sort(key=_effort)
    if refusal.verdict.kind is not Kind.NEVER:
        found.sort(key=lambda remedy: remedy.start_ms != NOW)
    return tuple(found), is_cut_short


def _effort(remedy: Remedy) -> tuple[float, str, str]:
    if remedy.change in _FRACTIONS and remedy.asked:
        effort = (remedy.asked - remedy.amount) / remedy.asked
    else:
        effort = _EFFORT[remedy.change]
    return effort, remedy.change.value, remedy.subject


def _remedy(change: Change, trial: Trial, subject: str = "", asked: int = 0, amount: int = 0) -> Remedy:
    return Remedy(change, subject, asked, amount, NodeName(""), trial.nodes, trial.evicts, trial.start_ms)


class _Search:
    def __init__(
        self, what_if: WhatIf, refusal: LaneRefusal, job: Job, planned: PlannedStart | None, budget: Budget
    ) -> None:
        self._what_if = what_if
        self._budget = budget
        self._refusal = refusal
        self._job = job
        self._template = job.template
        self._never = refusal.verdict.kind is Kind.NEVER
        self._latest_ms: int | None = None
        """It must start by then for a change to be worth it; None: at any time that can be told."""
        if planned is not None:
            wait_ms = planned.start_ms - what_if.now_ms
            self._latest_ms = planned.start_ms - max(_SOONER_MS, wait_ms // _SOONER_PART)

    def remedies(self) -> Iterator[Remedy]:
        yield from self._amounts()
        yield from self._gang_size()
        yield from self._time_limit()
        yield from self._loosened()
        yield from self._price()
        yield from self._priority()

    def _attempt(self, template: JobTemplate) -> Trial | None:
        """The trial of the changed job, if the change helps."""
        if self._budget.is_spent:
            raise _Spent
        if self._never:
            possible = self._what_if.trial_when_idle(self._refusal, self._job, template)
            return possible and (self._what_if.trial(self._refusal, self._job, template) or possible)
        trial = self._what_if.trial(self._refusal, self._job, template)
        if trial is None or trial.start_ms is None:
            return None
        is_sooner = self._latest_ms is None or trial.start_ms <= self._latest_ms
        return trial if is_sooner else None

    # -- less of something

    def _most(self, high: int, attempt: Callable[[int], Trial | None]) -> Iterator[tuple[int, Trial]]:
        """The largest count that helps, and the largest with which the job starts now, if that is less."""
        helping = _largest(high, attempt)
        if helping is None:
            return
        yield helping
        if self._never or helping[1].start_ms == NOW:
            return

        def attempt_now(count: int) -> Trial | None:
            trial = attempt(count)
            return trial if trial is not None and trial.start_ms == NOW else None

        at_once = _largest(helping[0] - 1, attempt_now)
        if at_once is not None:
            yield at_once

    def _amounts(self) -> Iterator[Remedy]:
        def at(limited: Limiter, step: int, count: int) -> Trial | None:
            return self._attempt(with_specs(self._template, limited(count * step)))

        for subject, asked, step, limited in resources_of(self._template):
            for count, trial in self._most((asked - 1) // step, partial(at, limited, step)):
                yield _remedy(Change.RESOURCE, trial, subject, asked, count * step)

    def _gang_size(self) -> Iterator[Remedy]:
        def at(count: int) -> Trial | None:
            return self._attempt(replace(self._template, min_available=count))

        needed = self._template.min_count
        for count, trial in self._most(needed - 1, at):
            yield _remedy(Change.GANG_SIZE, trial, "", needed, count)

    def _time_limit(self) -> Iterator[Remedy]:
        """The longest with which it would be done before what it has to wait for now. Long ones are
        told in full minutes."""
        asked = self._template.time_limit_ms
        step = _SECOND_MS if asked is not None and asked <= _HOUR_MS else _MINUTE_MS

        def at(count: int) -> Trial | None:
            return self._attempt(replace(self._template, time_limit_ms=count * step))

        high = (_LONGEST_LIMIT_MS if asked is None else asked - 1) // step
        for count, trial in self._most(high, at):
            yield _remedy(Change.TIME_LIMIT, trial, "", asked or 0, count * step)

    # -- fewer conditions

    def _loosened(self) -> Iterator[Remedy]:
        for change, subject, loosened in loosenings(self._what_if.snapshot.nodes, self._template):
            trial = self._attempt(loosened)
            if trial is None:
                continue
            yield _remedy(change, trial, subject)
            if change is Change.NODE_SELECTOR:
                lacking = {node for node in trial.nodes if not self._has_label(node, subject)}
                if len(lacking) == 1:
                    yield replace(_remedy(Change.NODE_LABEL, trial, subject), node=lacking.pop())

    def _has_label(self, node: NodeName, pair: str) -> bool:
        nodes = self._what_if.snapshot.nodes
        return pair in {f"{key}={value}" for key, value in nodes.specs[nodes.position[node]].labels}

    def _price(self) -> Iterator[Remedy]:
        """The least that a task would have to be allowed to cost an hour."""
        groups, snapshot = self._template.groups, self._what_if.snapshot
        allowed = [group.spec.max_price_micro_per_hour for group in groups]
        limits = [limit for limit in allowed if limit is not None]
        if not limits:
            return
        prices = sorted(
            {
                int(price)
                for group in groups
                for price in task_price_micro(snapshot.demand(group.spec), snapshot.nodes)
                if price > min(limits)
            },
            reverse=True,
        )

        def at(count: int) -> Trial | None:
            """With the `count`-th highest price as the limit: the more of them, the lower."""
            return self._attempt(with_specs(self._template, paying(prices[count - 1])))

        for count, trial in self._most(len(prices), at):
            yield _remedy(Change.PRICE, trial, "", min(limits), prices[count - 1])

    # -- more weight

    def _priority(self) -> Iterator[Remedy]:
        """The lowest class from which on it would start, by preempting."""
        asked = self._template.priority
        for priority in sorted(Priority):
            if priority > asked:
                trial = self._attempt(replace(self._template, priority=int(priority), may_preempt=None))
                if trial is not None and trial.evicts:
                    yield _remedy(Change.PRIORITY, trial, "", asked, int(priority))
                    return


def _largest(high: int, attempt: Callable[[int], Trial | None]) -> tuple[int, Trial] | None:
    """The largest count from 1 to `high` that succeeds, given that all smaller ones do too."""
    best = attempt(1) if high >= 1 else None
    if best is None:
        return None
    low, too_much = 1, high + 1
    while too_much - low > 1:
        middle = (low + too_much) // 2
        trial = attempt(middle)
        if trial is None:
            too_much = middle
        else:
            low, best = middle, trial
    return low, best
