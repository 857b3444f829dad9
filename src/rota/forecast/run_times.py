"""How long jobs run, learnt from those that ended.

Which jobs are alike is asked from narrow to wide: the last two runs of the same kind by the same tenant
(Tsafrir, Etsion and Feitelson, TPDS 2007), all of that kind, all with the same limit by that tenant, all
with the same limit, what share of their limits jobs use, and at last the limit itself. Where users repeat
themselves the narrow answers are the best, elsewhere only the limit tells anything. Which it is, and after
how many runs, is learnt too: when a job ends, each level's answer is held against what came.

All arithmetic is in integers or in operations on doubles that are correctly rounded everywhere, so that
every machine gives the same answers.
"""

from __future__ import annotations

from enum import IntEnum
from math import sqrt

from msgspec import Struct, field

from rota.forecast.histogram import Histogram, log2_fixed
from rota.model.job import JobTemplate

MAX_CLASSES = 20_000
"""Of those beyond, the ones that were not heard of for the longest time are forgotten."""

_MAX_TEMPLATES = 50_000
_WHOLE_LIMIT = 1 << 20
"""Shares of a limit are counted in so many parts."""
_MEMORY = 500
"""A level is judged by about so many of its latest answers."""
_MIN_JUDGED = 8
_MOST_DOUBLINGS = 8
"""With 128 runs or more a class is as good as it gets."""


class Level(IntEnum):
    LAST_TWO = 0
    KIND = 1
    TENANT = 2
    SAME_LIMIT = 3
    SHARE_OF_LIMIT = 4
    LIMIT = 5


class RunClass(Struct):
    """Runs of jobs that are alike at one level."""

    runs: Histogram = field(default_factory=Histogram)
    last_two: tuple[int, ...] = ()


class Merit(Struct):
    """How much worse a level's answers were than those of jobs with the same limit."""

    weight: float = 0.0
    excess: float = 0.0
    squares: float = 0.0

    def add(self, excess: int) -> None:
        kept = 1 - 1 / _MEMORY
        self.weight = self.weight * kept + 1
        self.excess = self.excess * kept + excess
        self.squares = self.squares * kept + excess * excess

    @property
    def at_most(self) -> float:
        """The mean, with two standard errors on top: a level isn't believed for its luck."""
        mean = self.excess / self.weight
        return mean + 2 * sqrt(max(0.0, self.squares / self.weight - mean * mean) / self.weight)


class RunTimeState(Struct):
    """All that is known, to be kept over a restart."""

    classes: dict[str, RunClass] = field(default_factory=dict)
    """The one heard of last comes last."""
    share_of_limit: RunClass = field(default_factory=RunClass)
    merits: dict[str, Merit] = field(default_factory=dict)
    """By level and by how much it had to go by."""


class _Keys(Struct, frozen=True):
    kind: str
    tenant: str
    limit: str


class _Alike(Struct, frozen=True):
    """What is known of jobs like one, from narrow to wide."""

    limit_ms: int | None
    kind: RunClass | None
    tenant: RunClass | None
    same_limit: RunClass | None
    share_of_limit: RunClass

    def answer(self, level: Level) -> tuple[int, ...]:
        """Run times that are equally likely; empty: the level has nothing to go by."""
        match level:
            case Level.LAST_TWO:
                return tuple(sorted(self.kind.last_two)) if self.kind else ()
            case Level.KIND:
                return self.kind.runs.sixteenths() if self.kind else ()
            case Level.TENANT:
                return self.tenant.runs.sixteenths() if self.tenant else ()
            case Level.SAME_LIMIT:
                return self.same_limit.runs.sixteenths() if self.same_limit else ()
            case Level.SHARE_OF_LIMIT:
                limit_ms = self.limit_ms
                if limit_ms is None:
                    return ()
                shares = self.share_of_limit.runs.sixteenths()
                return tuple(limit_ms * share // _WHOLE_LIMIT for share in shares)
            case Level.LIMIT:
                return () if self.limit_ms is None else (self.limit_ms,)

    def share_work(self) -> None:
        """Where all jobs of a tenant, or with a limit, are of one kind, their runs are worked out once."""
        for narrow, wide in ((self.kind, self.tenant), (self.tenant, self.same_limit)):
            if narrow is not None and wide is not None:
                wide.runs.take_slices_of(narrow.runs)

    def merit_key(self, level: Level) -> str:
        """The widest levels always have plenty to go by: what matters there is how little is known of
        jobs with the same limit, which they would stand in for."""
        if level in (Level.LAST_TWO, Level.KIND):
            basis = self.kind
        else:
            basis = self.tenant if level is Level.TENANT else self.same_limit
        return f"{level.name} {min(basis.runs.total.bit_length(), _MOST_DOUBLINGS) if basis else 0}"


class RunTimeBook:
    def __init__(self, state: RunTimeState | None = None, max_classes: int = MAX_CLASSES) -> None:
        self.state = state or RunTimeState()
        self._max_classes = max_classes
        self._keys: dict[JobTemplate, _Keys] = {}
        self._answered: dict[JobTemplate, tuple[int, ...]] = {}
        """Since a job last ended: the engine asks for the same templates again and again."""

    def quantiles(self, template: JobTemplate) -> tuple[int, ...]:
        """Run times that are equally likely, ascending, none above the limit. Their mean is the
        expected run time. Empty: nothing better is known than the limit, if there is one."""
        answer = self._answered.get(template)
        if answer is None:
            alike = self._alike(template)
            level = self._best_level(alike)
            answer = self._answered[template] = () if level is Level.LIMIT else alike.answer(level)
        return answer

    def ended(self, template: JobTemplate, run_ms: int, completed: bool) -> None:
        """A run that was cut at its limit counts as one that takes all of it. One that was cut before
        says nothing about how long it would have taken."""
        limit_ms = template.time_limit_ms
        if not completed and (limit_ms is None or run_ms < limit_ms):
            return
        run_ms = max(0, run_ms) if limit_ms is None else min(max(0, run_ms), limit_ms)
        self._judge(self._alike(template), run_ms)
        self._enter(self._keys_of(template), run_ms)
        if limit_ms:
            self.state.share_of_limit.runs.add(run_ms * _WHOLE_LIMIT // limit_ms)
        self._answered.clear()

    def _enter(self, keys: _Keys, run_ms: int) -> None:
        classes = self.state.classes
        for key in (keys.kind, keys.tenant, keys.limit):
            known = classes.pop(key, None) or RunClass()
            known.runs.add(run_ms)
            if key is keys.kind:
                known.last_two = (*known.last_two[-1:], run_ms)
            classes[key] = known
        while len(classes) > self._max_classes:
            del classes[next(iter(classes))]

    # -- which level to believe

    def _best_level(self, alike: _Alike) -> Level:
        if alike.same_limit is None:
            return Level.SHARE_OF_LIMIT
        best, least = Level.SAME_LIMIT, 0.0
        for level in Level:
            merit = self.state.merits.get(alike.merit_key(level))
            if (
                merit is not None
                and merit.weight >= _MIN_JUDGED
                and merit.at_most < least
                and alike.answer(level)
            ):
                best, least = level, merit.at_most
        return best

    def _judge(self, alike: _Alike, run_ms: int) -> None:
        alike.share_work()
        norm = alike.answer(Level.SAME_LIMIT)
        if not norm:
            return
        usual = _loss(norm, run_ms)
        for level in Level:
            answer = alike.answer(level)
            if answer and level is not Level.SAME_LIMIT:
                merit = self.state.merits.setdefault(alike.merit_key(level), Merit())
                merit.add(0 if answer == norm else _loss(answer, run_ms) - usual)

    # -- which runs are alike

    def _alike(self, template: JobTemplate) -> _Alike:
        keys, classes = self._keys_of(template), self.state.classes
        return _Alike(
            template.time_limit_ms,
            classes.get(keys.kind),
            classes.get(keys.tenant),
            classes.get(keys.limit),
            self.state.share_of_limit,
        )

    def _keys_of(self, template: JobTemplate) -> _Keys:
        keys = self._keys.get(template)
        if keys is None:
            if len(self._keys) >= _MAX_TEMPLATES:
                self._keys.clear()
            limit = f"limit {template.time_limit_ms}"
            tenant = f"{template.project}/{template.user} {limit}"
            keys = self._keys[template] = _Keys(f"{_shape(template)} {tenant}", tenant, limit)
        return keys


def _shape(template: JobTemplate) -> str:
    groups = ((group.count, group.spec.requests, group.spec.gpu.total_milli) for group in template.groups)
    return "+".join(f"{count}×{own.cpu_milli}/{own.memory_bytes}/{gpu}" for count, own, gpu in groups)


def _loss(answer: tuple[int, ...], run_ms: int) -> int:
    """How far off a distribution was: the pinball loss over all its quantiles, in logarithms since
    being wrong by half is as bad for a minute as for a day. Rewards being both sharp and right."""
    count = len(answer)
    ran = log2_fixed(run_ms)
    loss = 0
    for at, quantile_ms in enumerate(answer):
        late = ran - log2_fixed(quantile_ms)
        loss += late * (2 * at + 1) if late >= 0 else -late * (2 * (count - at) - 1)
    return loss * 256 // (count * count)
