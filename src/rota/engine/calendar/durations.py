"""How long a job takes: until its limit at most, and probably for as long as others like it did."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rota.engine.calendar.timeline import FOREVER_MS
from rota.model.job import JobTemplate
from rota.model.policy import Durations
from rota.snapshot.arrays import Int64s
from rota.snapshot.state import RunTimes

_OVERDUE_MS = 60_000
"""A task past its limit is about to be ended: it is taken to be gone by then."""


def limit_ms(template: JobTemplate) -> int:
    return FOREVER_MS if template.time_limit_ms is None else template.time_limit_ms


class Lengths:
    """Run times as the planning of a queue takes them."""

    def __init__(self, durations: Durations, run_times: RunTimes) -> None:
        self._learnt = durations is Durations.LEARNT
        self._run_times = run_times

    def expected_ms(self, template: JobTemplate, ran_ms: int = 0) -> int:
        """From start to end, given that it has run for so long already."""
        limit = limit_ms(template)
        if not self._learnt:
            return limit
        longer = [run_ms for run_ms in self._run_times(template) if run_ms > ran_ms]
        return min(limit, sum(longer) // len(longer)) if longer else limit

    def end_ms(self, template: JobTemplate, started_ms: int, now_ms: int) -> int:
        """When a running task will be gone."""
        end = started_ms + self.expected_ms(template, now_ms - started_ms)
        return min(end, FOREVER_MS) if end > now_ms else now_ms + _OVERDUE_MS

    def ends_ms(
        self, templates: Sequence[JobTemplate], kind: Int64s, started_ms: Int64s, now_ms: int
    ) -> Int64s:
        """The same for many: of each task its kind, of which the template is given."""
        if not len(kind):
            return np.empty(0, dtype=np.int64)
        length_ms = np.array([min(limit_ms(template), FOREVER_MS) for template in templates])[kind]
        if self._learnt:
            learnt = [self._run_times(template) for template in templates]
            run_ms = np.full((len(learnt), max(map(len, learnt))), -FOREVER_MS)
            for at, quantiles in enumerate(learnt):
                run_ms[at, : len(quantiles)] = quantiles
            run_ms = run_ms[kind]
            longer = run_ms > (now_ms - started_ms)[:, None]
            count = longer.sum(axis=1)
            mean_ms = np.where(longer, run_ms, 0).sum(axis=1) // np.maximum(count, 1)
            length_ms = np.where(count, np.minimum(length_ms, mean_ms), length_ms)
        end_ms = started_ms + length_ms
        return np.where(end_ms > now_ms, np.minimum(end_ms, FOREVER_MS), now_ms + _OVERDUE_MS)
