"""What would let a waiting job start now, or sooner: the smallest changes, each found by trying it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from rota.engine.budget import ENDLESS, Budget
from rota.engine.explaining.change import Limiter, loosenings, paying, resources_of
from rota.engine.explaining.what_if import Trial, WhatIf
from rota.engine.loosening import with_specs
from rota.engine.placing.score import task_price_micro
from rota.engine.refusals import LaneRefusal
from rota.model.calendar import PlannedStart
from rota.model.changes import AskForLess, PayMore, RaisePriority, ShortenTimeLimit, StartWithFewer
from rota.model.explanation import NOW, Change, Remedy
from rota.model.job import Job, JobTemplate, Priority
from rota.model.reasons import ArrayLimitReached, LimitReached
from rota.model.verdict import Kind, Reason

_SECOND_MS, _MINUTE_MS, _HOUR_MS = 1000, 60_000, 3_600_000
_LONGEST_LIMIT_MS = 366 * 24 * _HOUR_MS
"""That is tried for a job which has none."""
_SOONER_MS = _MINUTE_MS
_SOONER_PART = 20
"""A change is worth it from a minute and a twentieth of the wait on."""


class _Spent(Exception):
    """There is no time left to try more."""


def remedies_for(
    what_if: WhatIf,
    refusal: LaneRefusal,
    job: Job,
    planned: PlannedStart | None,
    budget: Budget = ENDLESS,
    priorities: Collection[int] = tuple(Priority),
) -> tuple[tuple[Remedy, ...], bool]:
    """Every single change that helps, the smallest first; but first those with which it starts now. And
    whether time was up before all were tried. `priorities`: those that its user could ask for."""
    if not all(_is_about_the_job(one.reason) for one in refusal.verdict.refusals):
        return (), False
    what_if.make_way(job)
    found: list[Remedy] = []
    is_cut_short = False
    try:
        for remedy in _Search(what_if, refusal, job, planned, budget, priorities).remedies():
            found.append(remedy)
    except _Spent:
        is_cut_short = True
    found.sort(key=_effort)
    if refusal.verdict.kind is not Kind.NEVER:
        found.sort(key=lambda remedy: remedy.start_ms != NOW)
    return tuple(_without_needless(found)), is_cut_short


def _without_needless(remedies: Sequence[Remedy]) -> Iterator[Remedy]:
    """Without what asks for all of another change, and more, and helps no sooner."""
    for at, remedy in enumerate(remedies):
        if not any(
            remedy.change.includes(other.change)
            and _is_as_soon(other, remedy)
            and (other_at < at or not other.change.includes(remedy.change))
            for other_at, other in enumerate(remedies)
            if other_at != at
        ):
            yield remedy


def _is_as_soon(one: Remedy, other: Remedy) -> bool:
    return other.start_ms is None or (one.start_ms is not None and one.start_ms <= other.start_ms)


def _is_about_the_job(reason: Reason) -> bool:
    """Whether it could start if it asked for something else."""
    if isinstance(reason, ArrayLimitReached) or (isinstance(reason, LimitReached) and reason.is_of_jobs):
        return False
    return reason.rule.is_about_the_job


def _effort(remedy: Remedy) -> tuple[float, str, str]:
    return remedy.change.effort, remedy.change.code, repr(remedy.change)


def _remedy(change: Change, trial: Trial) -> Remedy:
    return Remedy(change, trial.nodes, trial.evicts, trial.start_ms)


class _Search:
    def __init__(
        self,
        what_if: WhatIf,
        refusal: LaneRefusal,
        job: Job,
        planned: PlannedStart | None,
        budget: Budget,
        priorities: Collection[int],
    ) -> None:
        self._priorities = sorted(priorities)
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

        for asked in resources_of(self._template):
            step = asked.step
            for count, trial in self._most((asked.most - 1) // step, partial(at, asked.limited, step)):
                change = AskForLess(asked.resource, asked.most, count * step, asked.of_one_device)
                yield _remedy(change, trial)

    def _gang_size(self) -> Iterator[Remedy]:
        def at(count: int) -> Trial | None:
            return self._attempt(replace(self._template, min_available=count))

        needed = self._template.min_count
        for count, trial in self._most(needed - 1, at):
            yield _remedy(StartWithFewer(needed, count), trial)

    def _time_limit(self) -> Iterator[Remedy]:
        """The longest with which it would be done before what it has to wait for now. Long ones are
        told in full minutes."""
        asked = self._template.time_limit_ms
        step = _SECOND_MS if asked is not None and asked <= _HOUR_MS else _MINUTE_MS

        def at(count: int) -> Trial | None:
            return self._attempt(replace(self._template, time_limit_ms=count * step))

        high = (_LONGEST_LIMIT_MS if asked is None else asked - 1) // step
        for count, trial in self._most(high, at):
            yield _remedy(ShortenTimeLimit(asked or 0, count * step), trial)

    # -- fewer conditions

    def _loosened(self) -> Iterator[Remedy]:
        filters = self._what_if.filters
        for loosening in loosenings(filters, self._what_if.snapshot.nodes, self._template):
            trial = self._attempt(loosening.template)
            if trial is None:
                continue
            yield _remedy(loosening.change, trial)
            instead = [change for node in set(trial.nodes) if (change := loosening.on_node(node))]
            if len(instead) == 1:
                yield _remedy(instead[0], trial)

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
            yield _remedy(PayMore(min(limits), prices[count - 1]), trial)

    # -- more weight

    def _priority(self) -> Iterator[Remedy]:
        """The lowest class from which on it would start, by preempting."""
        asked = self._template.priority
        for priority in self._priorities:
            if priority > asked:
                trial = self._attempt(replace(self._template, priority=int(priority), may_preempt=None))
                if trial is not None and trial.evicts:
                    yield _remedy(RaisePriority(asked, int(priority)), trial)
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
