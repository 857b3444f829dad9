"""Amounts of what nodes have and tasks ask for."""

from __future__ import annotations

from msgspec import Struct

WHOLE_GPU_MILLI = 1000
DEFAULT_SLOTS = 110
"""Task slots of a node that states none: the usual pod limit of a Kubernetes node."""


class Resources(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """Amounts in base units; `extended` holds any other named resource, sorted by name."""

    cpu_milli: int = 0
    memory_bytes: int = 0
    storage_bytes: int = 0
    slots: int = 0
    extended: tuple[tuple[str, int], ...] = ()

    def plus(self, other: Resources) -> Resources:
        names = dict(self.extended)
        for name, amount in other.extended:
            names[name] = names.get(name, 0) + amount
        return Resources(
            self.cpu_milli + other.cpu_milli,
            self.memory_bytes + other.memory_bytes,
            self.storage_bytes + other.storage_bytes,
            self.slots + other.slots,
            tuple(sorted(names.items())),
        )


class GpuRequest(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """Either `count` whole devices, or `share_milli` thousandths of a single one (count 1)."""

    count: int = 0
    share_milli: int = WHOLE_GPU_MILLI
    models: tuple[str, ...] = ()
    """Models that will do; empty means any."""

    @property
    def is_fraction(self) -> bool:
        return self.count > 0 and self.share_milli < WHOLE_GPU_MILLI

    @property
    def total_milli(self) -> int:
        return self.count * self.share_milli


DISK = "disk:"
"""What tasks take of volumes is named by what it is: here, shares of a disk. A node uses it once to write,
which takes all shares, or many times to read, which takes one each."""
WHOLE_DISK = 1 << 16
VOLUMES = "volumes:"
"""Of a driver: how many of its volumes a node can hold; any number, if it doesn't say."""
UNBOUND = "unbound:"
"""Volumes of one description that nobody has claimed; none, if the node doesn't say."""


class HostPort(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    port: int
    protocol: str = "TCP"
    address: str = ""
    """Empty: every address of the host."""
