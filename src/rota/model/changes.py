"""Changes to a job that may let it start, one struct for each: those that the engine tries. Plugins define
their own beside the rules that they loosen."""

from __future__ import annotations

from typing import ClassVar

from rota.model.explanation import TypedChange
from rota.model.selectors import Requirement
from rota.model.vocabulary import code_of


class AskForLess(TypedChange, frozen=True, tag="resource"):
    resource: str
    asked: int
    most: int
    of_one_device: bool = False
    """Of a GPU: it asks for a part of a single one."""

    @property
    def effort(self) -> float:
        return _given_up(self.asked, self.most)


class StartWithFewer(TypedChange, frozen=True, tag="gang size"):
    """Need fewer tasks to start together."""

    needed: int
    count: int

    @property
    def effort(self) -> float:
        return _given_up(self.needed, self.count)


class ShortenTimeLimit(TypedChange, frozen=True, tag="time limit"):
    size: ClassVar[float] = 0.35
    asked_ms: int
    """0: it has none."""
    most_ms: int

    @property
    def effort(self) -> float:
        return _given_up(self.asked_ms, self.most_ms) if self.asked_ms else self.size


class RaisePriority(TypedChange, frozen=True, tag="priority"):
    """It could then preempt."""

    size: ClassVar[float] = 0.40
    asked: int
    priority: int


class PayMore(TypedChange, frozen=True, tag="price"):
    """Up to a price, for a task and an hour."""

    size: ClassVar[float] = 0.50
    limit_micro: int
    price_micro: int


class ShareNodes(TypedChange, frozen=True, tag="exclusive"):
    """Don't insist on having nodes to itself."""

    size: ClassVar[float] = 0.55


class DropJobAffinity(TypedChange, frozen=True, tag="job affinity"):
    size: ClassVar[float] = 0.60
    topology_key: str
    requirements: tuple[Requirement, ...] = ()


class DropSpread(TypedChange, frozen=True, tag="spread"):
    size: ClassVar[float] = 0.60
    topology_key: str

    @property
    def code(self) -> str:
        """Documents know both rules about other jobs by one name."""
        return code_of(DropJobAffinity)


class DropInDomains(TypedChange, frozen=True, tag="in domains"):
    size: ClassVar[float] = 0.60
    topology_key: str
    count: int


class DropTopology(TypedChange, frozen=True, tag="topology"):
    size: ClassVar[float] = 0.60
    key: str


def _given_up(asked: int, most: int) -> float:
    return (asked - most) / asked
