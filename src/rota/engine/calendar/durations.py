"""How long a job takes: until its limit at most, and probably for as long as others like it did."""

from __future__ import annotations

from rota.engine.calendar.timeline import FOREVER_MS
from rota.model.job import JobTemplate
from rota.model.policy import Durations
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
