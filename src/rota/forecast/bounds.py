"""When jobs really start, against the plan, learnt from those that did.

Later arrivals overtake, and jobs end early or late: a start as planned is neither the middle of what may
come nor its end. Two factors on the planned wait are learnt, one that half of the starts stay below and one
that nine of ten do. A factor is a product over the groups that a case is in. Every group has its own term,
which goes up a little when a start was later than told and down when it wasn't, in such a ratio that it
comes to rest only where the share of late ones is as it should be (the quantile tracking of Angelopoulos,
Candès and Tibshirani, 2023, after Gibbs and Candès, 2021). So the bound holds nine times in ten in every
class of queue and size, whatever the distribution, and again after that has changed.

That a start is late is known as soon as the moment told has passed, long before the job starts.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import exp

from msgspec import Struct, field

from rota.model.ids import JobId

MAX_TOLD = 100_000
"""Of waiting jobs that were told a start; the oldest beyond are no longer followed."""

_SMALLEST_MS = 60_000
"""Added to every wait: below a minute, factors mean little."""
_UNPLANNED_MS = 3_600_000
"""Taken as the planned wait of a job without a plan; its own group learns what to make of that."""
_FIRST_STEP = 0.3
_MOST = 7.0
"""No term leaves ± this, a factor of a thousand."""
_NINE_OF_TEN = 0.9
_FIRST_BOUND = 1.5
"""With nothing learnt: four and a half times the planned wait."""


class Case(Struct, frozen=True):
    """What a telling is judged by: those alike are learnt from together."""

    queue: str
    size: int
    """A class of sizes; see `Estimator`."""
    planned_wait_ms: int | None
    """None: there is no plan."""
    waited_ms: int = 0
    closed: tuple[tuple[int, int], ...] = ()
    """Periods in which it can't start, whatever becomes of the plan: from, until."""

    @property
    def base_ms(self) -> int:
        wait_ms = _UNPLANNED_MS if self.planned_wait_ms is None else max(0, self.planned_wait_ms)
        return wait_ms + _SMALLEST_MS

    @property
    def groups(self) -> tuple[str, str, str]:
        size = f"{self.queue} size {self.size}"
        wait = "unplanned" if self.planned_wait_ms is None else f"wait {_doublings(self.planned_wait_ms)}"
        return size, f"{wait} waited {_doublings(self.waited_ms)}", f"{size} {wait}"


class Start(Struct, frozen=True):
    expected_ms: int
    bound_ms: int


class Term(Struct):
    """A group's part of a factor, as a logarithm."""

    value: float = 0.0
    learnt: int = 0


class Quantile(Struct):
    """A factor that a given share of cases stays below."""

    share: float
    first: float
    """The logarithm of the factor before anything is known."""
    least_step: float
    """How much a term is moved by a case, times how surprising it was. Larger steps follow changes
    faster and wobble more."""
    terms: dict[str, Term] = field(default_factory=dict)

    def log_factor(self, groups: tuple[str, ...]) -> float:
        return self.first + sum(self.terms[group].value for group in groups if group in self.terms)

    def learn(self, groups: tuple[str, ...], late: bool) -> None:
        for group in groups:
            term = self.terms.setdefault(group, Term())
            term.learnt += 1
            step = max(self.least_step, _FIRST_STEP / term.learnt**0.5)
            moved = term.value + step * (self.share if late else self.share - 1)
            term.value = min(_MOST, max(-_MOST, moved))


class Told(Struct):
    """A start that was told and not yet judged, or only in part."""

    groups: tuple[str, str, str]
    told_ms: int
    start: Start
    awaits_expected: bool = True
    awaits_bound: bool = True

    @property
    def slack_ms(self) -> int:
        """So far off the expected start counts as right: where plans come true there is nothing to learn."""
        return max(1000, (self.start.expected_ms - self.told_ms) // 64)

    @property
    def moments_ms(self) -> tuple[int, int]:
        """After each of these the job is late."""
        return self.start.expected_ms + self.slack_ms, self.start.bound_ms


class BoundsState(Struct):
    """All that is known, to be kept over a restart."""

    middle: Quantile = field(default_factory=lambda: Quantile(0.5, 0.0, 0.02))
    bound: Quantile = field(default_factory=lambda: Quantile(_NINE_OF_TEN, _FIRST_BOUND, 0.05))
    told: dict[JobId, list[Told]] = field(default_factory=dict)


class StartBook:
    def __init__(self, state: BoundsState | None = None, max_told: int = MAX_TOLD) -> None:
        self.state = state or BoundsState()
        self._max_told = max_told
        self._due = [
            (moment_ms, job_id)
            for job_id, tellings in self.state.told.items()
            for told in tellings
            for moment_ms in told.moments_ms
        ]
        """A heap of when something told turns out to be late."""
        heapify(self._due)

    def look(self, case: Case, now_ms: int) -> Start:
        """What would be told."""
        middle = self.state.middle.log_factor(case.groups)
        beyond = max(0.0, self.state.bound.log_factor(case.groups))
        expected_ms = max(0, round(case.base_ms * exp(middle)) - _SMALLEST_MS)
        bound_ms = max(expected_ms, round(case.base_ms * exp(middle + beyond)) - _SMALLEST_MS)
        return Start(
            first_open_ms(now_ms + expected_ms, case.closed), first_open_ms(now_ms + bound_ms, case.closed)
        )

    def tell(self, job_id: JobId, case: Case, now_ms: int) -> Start:
        """Told, and to be learnt from. A job can be told again as often as one likes: it is learnt from
        the first time and whenever the time since then has doubled."""
        self.pass_time(now_ms)
        told = Told(case.groups, now_ms, self.look(case, now_ms))
        followed = self.state.told
        before = followed.setdefault(job_id, [])
        if not before or _is_doubled(now_ms - before[0].told_ms, before[-1].told_ms - before[0].told_ms):
            before.append(told)
            for moment_ms in told.moments_ms:
                heappush(self._due, (moment_ms, job_id))
            while len(followed) > self._max_told:
                del followed[next(iter(followed))]
        return told.start

    def started(self, job_id: JobId, now_ms: int) -> None:
        self.pass_time(now_ms)
        for told in self.state.told.pop(job_id, ()):
            self._judge(told, now_ms, started=True)

    def withdrawn(self, job_id: JobId) -> None:
        """It will never start, so there is nothing to be learnt any more."""
        self.state.told.pop(job_id, None)

    def pass_time(self, now_ms: int) -> None:
        """What is late by now is learnt from at once."""
        while self._due and self._due[0][0] < now_ms:
            _, job_id = heappop(self._due)
            for told in self.state.told.get(job_id, ()):
                self._judge(told, now_ms, started=False)

    def _judge(self, told: Told, now_ms: int, started: bool) -> None:
        expected_ms, bound_ms = told.start.expected_ms, told.start.bound_ms
        off_ms = now_ms - expected_ms
        if told.awaits_expected and (started or off_ms > told.slack_ms):
            told.awaits_expected = False
            if abs(off_ms) > told.slack_ms:
                self.state.middle.learn(told.groups, late=off_ms > 0)
        if told.awaits_bound and (started or now_ms > bound_ms):
            told.awaits_bound = False
            # A bound that is as early as the expected start can't be told any earlier: learning so would
            # only make it slow to follow when starts are late again.
            if now_ms > bound_ms or bound_ms > expected_ms:
                self.state.bound.learn(told.groups, late=now_ms > bound_ms)


def first_open_ms(at_ms: int, closed: tuple[tuple[int, int], ...]) -> int:
    """That moment, or the end of the closed periods that it is in."""
    for from_ms, until_ms in sorted(closed):
        if from_ms <= at_ms < until_ms:
            at_ms = until_ms
    return at_ms


def _is_doubled(span_ms: int, before_ms: int) -> bool:
    return span_ms >= max(_SMALLEST_MS, 2 * before_ms)


def _doublings(span_ms: int) -> int:
    """How many times a minute was doubled; waits of two months and more are all alike."""
    return min(16, max(0, span_ms // _SMALLEST_MS).bit_length())
