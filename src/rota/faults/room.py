"""Whether a node has room for what runs on it: counted anew each time, by nothing but what was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rota.lifecycle.state import JobState
from rota.model.node import Node
from rota.model.resources import DEFAULT_SLOTS, WHOLE_GPU_MILLI, Resources
from rota.store.batch import Attempt


def oversubscribed(node: Node, running: Sequence[tuple[JobState, Attempt]]) -> str:
    """What there is too much of; empty: nothing."""
    specs = [(state.spec.template.spec_of(attempt.rank), attempt) for state, attempt in running]
    capacity = node.spec.capacity
    used = Resources()
    for spec, _ in specs:
        used = used.plus(spec.requests).plus(spec.overhead)
    complaints = [
        f"{amount} of {has} {name} are in use"
        for name, amount, has in (
            ("milli-cpu", used.cpu_milli, capacity.cpu_milli),
            ("bytes of memory", used.memory_bytes, capacity.memory_bytes),
            ("bytes of storage", used.storage_bytes, capacity.storage_bytes),
            ("slots", len(specs), capacity.slots or DEFAULT_SLOTS),
            *((name, amount, dict(capacity.extended).get(name, 0)) for name, amount in used.extended),
        )
        if amount > has
    ]
    devices: Counter[int] = Counter()
    for spec, attempt in specs:
        for device in attempt.gpu_devices:
            devices[device] += spec.gpu.share_milli
    complaints += [
        f"device {device} is given to {milli} thousandths"
        for device, milli in devices.items()
        if milli > WHOLE_GPU_MILLI or device >= node.spec.gpus.count
    ]
    ports = Counter(port for spec, _ in specs for port in spec.ports)
    complaints += [f"port {port.port} is taken {count} times" for port, count in ports.items() if count > 1]
    if len(specs) > 1 and any(spec.exclusive for spec, _ in specs):
        complaints.append("somebody has it for itself, and isn't alone")
    if complaints:
        tasks = ", ".join(f"{one.job}/{one.rank}#{one.fence}" for _, one in specs)
        return f"{'; '.join(complaints)} by {tasks}"
    return ""
