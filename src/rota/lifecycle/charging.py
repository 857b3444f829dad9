"""What one start of a task is charged for: what it asked for, from its start to its end.

A task that never started is charged nothing, and neither is the time between its binding and its start:
files are put in place then, which is our doing.
"""

from __future__ import annotations

from msgspec import Struct

from rota.model.job import JobTemplate
from rota.model.resources import Resources
from rota.model.task import TaskSpec


class Charge(Struct, frozen=True):
    project: str
    user: str
    task: TaskSpec
    start_ms: int
    end_ms: int

    @property
    def held_ms(self) -> int:
        return self.end_ms - self.start_ms

    @property
    def held(self) -> Resources:
        """At any time of it; what the runtime takes on top belongs to the task."""
        return self.task.requests.plus(self.task.overhead)

    @property
    def gpu_milli(self) -> int:
        return self.task.gpu.total_milli


def charge_for(
    template: JobTemplate, rank: int, started_ms: int | None, ended_ms: int | None
) -> Charge | None:
    """None: it hasn't started, hasn't ended, or took no time (clocks of nodes may be ahead of ours)."""
    if started_ms is None or ended_ms is None or ended_ms <= started_ms:
        return None
    return Charge(template.project, template.user, template.spec_of(rank), started_ms, ended_ms)
