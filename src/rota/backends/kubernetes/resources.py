"""What a pod asks of its node, in Kubernetes' words."""

from __future__ import annotations

from typing import Any

from rota.backends.backend import TaskStart
from rota.backends.kubernetes.options import PodOptions
from rota.model.resources import Resources

GPU = "nvidia.com/gpu"


def runner_resources(start: TaskStart, options: PodOptions) -> dict[str, Any]:
    """A limit is never below what is asked for: the API server would refuse that."""
    asked, held_to = start.requests, start.limits
    cpu_milli = asked.cpu_milli or start.cpu_share_milli
    memory_bytes = asked.memory_bytes
    if not cpu_milli:
        cpu_milli = _least(options.requests.cpu_milli, held_to.cpu_milli)
    if not memory_bytes:
        memory_bytes = _least(options.requests.memory_bytes, held_to.memory_bytes)
    limits = Resources(
        cpu_milli=max(cpu_milli, held_to.cpu_milli or options.limits.cpu_milli),
        memory_bytes=max(memory_bytes, held_to.memory_bytes or options.limits.memory_bytes),
        storage_bytes=max(asked.storage_bytes, held_to.storage_bytes),
    )
    requests = Resources(cpu_milli, memory_bytes, asked.storage_bytes)
    whole = dict(asked.extended)
    if start.gpus:
        whole[GPU] = start.gpus
    extended = {name: str(amount) for name, amount in sorted(whole.items())}
    return {"requests": quantities(requests) | extended, "limits": quantities(limits) | extended}


def quantities(amounts: Resources) -> dict[str, str]:
    found = {
        "cpu": f"{amounts.cpu_milli}m" if amounts.cpu_milli else "",
        "memory": binary(amounts.memory_bytes) if amounts.memory_bytes else "",
        "ephemeral-storage": binary(amounts.storage_bytes) if amounts.storage_bytes else "",
    }
    return {name: text for name, text in found.items() if text}


def binary(size_bytes: int) -> str:
    """In the largest unit that it is a whole number of, as in 512Mi."""
    for shift, unit in ((30, "Gi"), (20, "Mi"), (10, "Ki")):
        if size_bytes and size_bytes % (1 << shift) == 0:
            return f"{size_bytes >> shift}{unit}"
    return str(size_bytes)


SUPPORT_RESOURCES = {
    "requests": {"cpu": "0", "memory": "0"},
    "limits": {"memory": "128Mi"},
}
"""Of setup and log-collector: they hold no room of their own, so a task takes what it asked for."""


def _least(default: int, limit: int) -> int:
    return min(default, limit) if limit else default
