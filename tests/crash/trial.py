"""What a round needs to know of whatever it tortures: a cluster that works, and what can be seen of it."""

from __future__ import annotations

from typing import Protocol

from tests.crash.cluster import Cluster


class Trial(Protocol):
    @property
    def cluster(self) -> Cluster: ...

    @property
    def counts(self) -> str:
        """What was seen."""

    def begin(self) -> None:
        """Whoever gives it work does so from now on."""

    def look(self) -> None:
        """Raises Broken, and what went wrong with those who give it work."""

    def end(self) -> None:
        """No new work; what would never end is cancelled."""

    def unfinished(self) -> set[str]:
        """As far as anybody was shown."""

    def patience_s(self) -> float:
        """How long it may take, from when all is well, until nothing is unfinished."""

    def finish(self) -> None:
        """Compares all there is, once nothing is unfinished. Raises Broken."""

    def leave_evidence(self) -> None:
        """As far as anybody still answers."""

    def remove(self) -> None:
        """With all that runs."""
