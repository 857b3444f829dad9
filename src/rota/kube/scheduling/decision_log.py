"""What was decided, as lines of the log: one for each pod or gang that is bound, and for each that waits."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import structlog
from msgspec import Struct

from rota.model.ids import JobId, NodeName, TaskName
from rota.model.plan import Scored
from rota.patience.backoff import Backoff

MOST_LINES = 100
"""Of waits in a period: a thousand pods that find no room need not be a thousand lines."""
PERIOD_S = 10.0
_NAMED = 5
"""Victims that are named in one line."""
_PAUSES = Backoff(PERIOD_S, 300.0)

log = structlog.get_logger()


class _Wait(Struct):
    why: str
    """Of the first of its pods."""
    pods: int = 0


class _Told(Struct):
    why: str
    times: int
    next_s: float


class DecisionLog:
    """What a pod or a gang waits for is told when it changes, and then ever more rarely."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._waiting: dict[JobId, _Wait] = {}
        self._told: dict[JobId, _Told] = {}
        self._period_ends_s = clock_s() + PERIOD_S
        self._lines = 0
        self._untold = 0

    def bound(
        self, job: JobId, nodes: Mapping[TaskName, NodeName], took_s: float, scored: Scored | None = None
    ) -> None:
        """`scored`: how good the node is, of a gang that of its first pod."""
        said = {"ms": round(took_s * 1000), **({} if scored is None else {"score": _score(scored)})}
        alone = nodes.get(TaskName(job))  # a pod without a gang is a job of the same name
        if alone is not None:
            log.info("kube.pod_bound", pod=job, node=alone, **said)
        else:
            log.info("kube.gang_bound", gang=job, pods=len(nodes), nodes=_counted(nodes), **said)

    def preempted(self, preemptor: JobId, node: NodeName, victims: Sequence[TaskName]) -> None:
        """Room is made for a pod or a gang; its own line has each pod that goes."""
        log.info("kube.room_made", job=preemptor, node=node, victims=len(victims), names=_shortened(victims))

    def waits(self, job: JobId, why: str) -> None:
        """One pod of it, in this cycle."""
        wait = self._waiting.setdefault(job, _Wait(why))
        wait.pods += 1

    def end_cycle(self) -> None:
        """Tells of those who wait, and forgets whoever doesn't."""
        now_s = self._clock_s()
        self._begin_period(now_s)
        self._told = {job: told for job, told in self._told.items() if job in self._waiting}
        for job, wait in self._waiting.items():
            told = self._told.get(job)
            if told is None or (told.why != wait.why and now_s >= told.next_s):
                times = 1 if told is None else told.times + 1
                self._told[job] = _Told(wait.why, times, now_s + _PAUSES.pause_s(times, chance=0))
                self._tell(job, wait)
        self._waiting.clear()

    def _begin_period(self, now_s: float) -> None:
        if now_s >= self._period_ends_s:
            if self._untold:
                log.info("kube.waits_untold", count=self._untold)
            self._period_ends_s, self._lines, self._untold = now_s + PERIOD_S, 0, 0

    def _tell(self, job: JobId, wait: _Wait) -> None:
        if self._lines < MOST_LINES:
            self._lines += 1
            log.info("kube.waits", job=job, pods=wait.pods, why=wait.why)
        else:
            self._untold += 1


def _score(scored: Scored) -> str:
    criteria = ", ".join(f"{name} {value}" for name, value in scored.criteria)
    return f"{scored.total} ({criteria})"


def _shortened(names: Sequence[TaskName]) -> str:
    more = len(names) - _NAMED
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


def _counted(nodes: Mapping[TaskName, NodeName]) -> str:
    counts = Counter(nodes.values())
    return ", ".join(f"{node} ×{count}" if count > 1 else node for node, count in counts.items())
