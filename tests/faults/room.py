"""Whether a node has room for what runs on it: counted anew each time, by nothing but what was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from rota.model.node import Node
from rota.model.resources import DEFAULT_SLOTS, WHOLE_GPU_MILLI, Resources
from rota.model.task import TaskSpec


class Held(Struct, frozen=True):
    """By one who runs there."""

    name: str
    spec: TaskSpec
    gpu_devices: tuple[int, ...] = ()


def oversubscribed(node: Node, running: Sequence[Held]) -> str:
    """What there is too much of; empty: nothing."""
    capacity = node.spec.capacity
    used = Resources()
    for one in running:
        used = used.plus(one.spec.requests).plus(one.spec.overhead)
    complaints = [
        f"{amount} of {has} {name} are in use"
        for name, amount, has in (
            ("milli-cpu", used.cpu_milli, capacity.cpu_milli),
            ("bytes of memory", used.memory_bytes, capacity.memory_bytes),
            ("bytes of storage", used.storage_bytes, capacity.storage_bytes),
            ("slots", len(running), capacity.slots or DEFAULT_SLOTS),
            *((name, amount, dict(capacity.extended).get(name, 0)) for name, amount in used.extended),
        )
        if amount > has
    ]
    devices: Counter[int] = Counter()
    for one in running:
        for device in one.gpu_devices:
            devices[device] += one.spec.gpu.share_milli
    complaints += [
        f"device {device} is given to {milli} thousandths"
        for device, milli in devices.items()
        if milli > WHOLE_GPU_MILLI or device >= node.spec.gpus.count
    ]
    ports = Counter(port for one in running for port in one.spec.ports)
    complaints += [f"port {port.port} is taken {count} times" for port, count in ports.items() if count > 1]
    if len(running) > 1 and any(one.spec.exclusive for one in running):
        complaints.append("somebody has it for itself, and isn't alone")
    if complaints:
        return f"{'; '.join(complaints)} by {', '.join(one.name for one in running)}"
    return ""
