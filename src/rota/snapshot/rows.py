"""Which row of the resource columns holds what."""

from __future__ import annotations

from collections.abc import Iterable

from rota.model.resources import DISK, UNBOUND, VOLUMES, WHOLE_DISK, HostPort

CPU = 0
MEMORY = 1
SLOTS = 2
SHARES = 3
"""Shares of the node itself: every task takes one, an exclusive task all of them. So exclusive
use is one more resource, and no other code has to know of it."""
STORAGE = 4
GPU_MILLI = 5
"""Thousandths of devices that are free, over the whole node."""
GPU_IDLE = 6
"""Devices that nobody uses: what whole-device requests are compared with."""
GPU_BEST = 7
"""The most that is free on one device: what fractional requests are compared with."""

GPU_ROWS = 8
"""Rows from here on are extended resources and ports."""

SHARED = (CPU, MEMORY, GPU_MILLI, SLOTS)
"""Rows of which the engine keeps shares of each node, because scores are made of them."""

NODE_SHARES = 1 << 20
PORT_SHARES = 1 << 16
"""A port on every address takes all shares of it, on one address a single one, plus the only
share of that address: so the first conflicts with all others, the second with its own kind."""

_UNLIMITED = 1 << 40

FIXED_NAMES = ("cpu", "memory", "slots", "shares", "storage", "gpu", "gpu-idle", "gpu-best")


def port_amounts(port: HostPort) -> tuple[tuple[str, int], ...]:
    """A host port as amounts of named resources that every node has."""
    name = f"port:{port.protocol}/{port.port}"
    if not port.address:
        return ((name, PORT_SHARES),)
    return ((name, 1), (f"{name}@{port.address}", 1))


def named_ports(port: HostPort) -> tuple[tuple[str, HostPort], ...]:
    """The names of a port's amounts, and what each is of: the port on every address, or on its own."""
    everywhere = HostPort(port.port, port.protocol)
    ports = (everywhere, port) if port.address else (everywhere,)
    return tuple((name, one) for (name, _), one in zip(port_amounts(port), ports, strict=True))


def is_port(name: str) -> bool:
    return name.startswith("port:")


def port_capacity(name: str) -> int:
    return 1 if "@" in name else PORT_SHARES


def is_of_volumes(name: str) -> bool:
    return name.startswith((DISK, VOLUMES, UNBOUND))


def volume_capacity(name: str) -> int:
    """Of nodes that say nothing of it."""
    if name.startswith(DISK):
        return WHOLE_DISK
    return _UNLIMITED if name.startswith(VOLUMES) else 0


def is_amount(name: str) -> bool:
    """Something to be measured and shared out; not a port or a volume, which is there or taken."""
    return not is_port(name) and not is_of_volumes(name)


class ResourceRows:
    """Row numbers by resource name: the fixed ones, then extended resources and ports by name."""

    def __init__(self, extended: Iterable[str]) -> None:
        self.names: tuple[str, ...] = FIXED_NAMES + tuple(sorted(set(extended) - set(FIXED_NAMES)))
        self.row: dict[str, int] = {name: row for row, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)
