"""Marks that keep tasks away from nodes, and the marks of tasks that go there all the same."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Effect(Enum):
    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Taint(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    key: str
    effect: Effect
    value: str = ""
    added_ms: int = 0
    """When it was put on the node; tolerations with a time count from here."""

    @property
    def notation(self) -> str:
        """As people write it: key=value:Effect."""
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect.value}"

    @property
    def is_passing(self) -> bool:
        """Put there by Kubernetes for a condition of the node that is expected to pass."""
        return self.key.startswith("node.kubernetes.io/")


class Toleration(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    key: str = ""
    """Empty, with `exists`: every taint."""
    exists: bool = False
    value: str = ""
    effect: Effect | None = None
    """None: every effect."""
    seconds: int | None = None
    """How long a NoExecute taint is borne; None: for ever."""

    def tolerates(self, taint: Taint) -> bool:
        if self.effect is not None and self.effect is not taint.effect:
            return False
        if not self.key:
            return self.exists
        if self.key != taint.key:
            return False
        return self.exists or self.value == taint.value


def tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)


def bears_until_ms(taint: Taint, tolerations: tuple[Toleration, ...]) -> int | None:
    """Until when a running task bears a NoExecute taint; None: for ever.

    As in Kubernetes, the shortest time among the tolerations that match counts, and one
    without a time bears it for ever only if no other sets one.
    """
    matching = [toleration for toleration in tolerations if toleration.tolerates(taint)]
    if not matching:
        return taint.added_ms
    seconds = [toleration.seconds for toleration in matching if toleration.seconds is not None]
    return taint.added_ms + 1000 * max(0, min(seconds)) if seconds else None
