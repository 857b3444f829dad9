"""Hours, added up by what users ask for."""

from __future__ import annotations

from rota.loop.desk.usage import UsageBy, usage_entries
from rota.model.resources import GpuRequest, Resources
from rota.model.task import TaskSpec
from rota.store.reading.usage_list import HeldTime

HOUR_MS = 3_600_000
HELD = [
    HeldTime("vision", "ada", "default", TaskSpec(Resources(cpu_milli=2000)), 3, 2 * HOUR_MS),
    HeldTime(
        "vision", "bob", "desk", TaskSpec(Resources(memory_bytes=2**31), gpu=GpuRequest(2)), 1, HOUR_MS // 2
    ),
    HeldTime("audio", "ada", "default", TaskSpec(Resources(cpu_milli=500)), 1, HOUR_MS),
]


def totals(by: UsageBy) -> dict[str, tuple[int, float, float, float]]:
    return {
        one.name: (one.tasks, one.cpu_hours, one.gpu_hours, one.memory_gib_hours)
        for one in usage_entries(HELD, by)
    }


def test_what_tasks_asked_for_counts_for_as_long_as_they_ran() -> None:
    assert totals(UsageBy.PROJECT) == {"vision": (4, 4.0, 1.0, 1.0), "audio": (1, 0.5, 0.0, 0.0)}
    assert totals(UsageBy.USER) == {"bob": (1, 0.0, 1.0, 1.0), "ada": (4, 4.5, 0.0, 0.0)}
    assert totals(UsageBy.QUEUE) == {"desk": (1, 0.0, 1.0, 1.0), "default": (4, 4.5, 0.0, 0.0)}


def test_those_who_used_most_come_first() -> None:
    assert [one.name for one in usage_entries(HELD, UsageBy.PROJECT)] == ["vision", "audio"]
