"""What came of looking for a bug in one harness."""

from __future__ import annotations

from msgspec import Struct


class Caught(Struct, frozen=True):
    bug: str
    tries: int
    """Seeds or rounds, up to the one that it was caught in."""
    by: str = ""
    """What was broken, beginning with the rule; empty: nothing, so it wasn't caught."""
    failures: tuple[str, ...] = ()
    """Of tries that came to no judgement: these neither catch it nor let it go."""

    @property
    def rule(self) -> str:
        return self.by[:2]
