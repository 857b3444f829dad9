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


class Tolerations:
    """Those of one task, to ask about many taints: only the few with the taint's key are looked at."""

    def __init__(self, every: tuple[Toleration, ...]) -> None:
        self._by_key: dict[str, list[Toleration]] = {}
        for one in every:
            self._by_key.setdefault(one.key, []).append(one)

    def about(self, taint: Taint) -> list[Toleration]:
        """Those that may tolerate it: of its key, and of every key."""
        found = self._by_key.get(taint.key, [])
        return [*found, *self._by_key.get("", [])] if taint.key else found


def tolerated(taint: Taint, tolerations: tuple[Toleration, ...] | Tolerations) -> bool:
    some = tolerations.about(taint) if isinstance(tolerations, Tolerations) else tolerations
    return any(toleration.tolerates(taint) for toleration in some)


def bears_until_ms(taint: Taint, tolerations: tuple[Toleration, ...] | Tolerations) -> int | None:
    """Until when a running task bears a NoExecute taint; None: for ever.

    As in Kubernetes, the shortest time among the tolerations that match counts, and one
    without a time bears it for ever only if no other sets one.
    """
    some = tolerations.about(taint) if isinstance(tolerations, Tolerations) else tolerations
    matching = [toleration for toleration in some if toleration.tolerates(taint)]
    if not matching:
        return taint.added_ms
    seconds = [toleration.seconds for toleration in matching if toleration.seconds is not None]
    return taint.added_ms + 1000 * max(0, min(seconds)) if seconds else None
