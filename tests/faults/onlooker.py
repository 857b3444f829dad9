"""Sees what really happens on machines, keeps a trace of it, and tells the first rule that was broken.

Who watches a whole world knows more, and demands more: `witness.py` where there is a server,
`scheduler/witness.py` where there is a scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256

from msgspec import Struct

from rota.backends.backend import TaskRef, TaskStart
from rota.model.node import Node


class Violation(Struct, frozen=True):
    invariant: str
    text: str
    at_s: float

    def __str__(self) -> str:
        return f"{self.invariant} at {self.at_s:.3f} s: {self.text}"


class Ran(Struct):
    """One run of a task, as it was."""

    node: Node
    started_s: float
    ended_s: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    """How its first process ended."""


class Onlooker:
    """Implements tests.faults.machine.Observer."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self.trace: list[str] = []
        self.violation: Violation | None = None
        """The first."""
        self.ran: dict[TaskRef, Ran] = {}
        self.clocks_are_right = True
        self.clocks_seem_off_ms = 0
        """By which slow ways may make those of nodes seem to be."""
        self.ends_are_seen = True
        """Those of tasks, by whoever is to tell of them, right then."""
        self._now_s = now_s
        self._running: dict[TaskRef, Node] = {}
        self._forgotten: set[TaskRef] = set()
        """By the node that ran them."""

    def note(self, text: str) -> None:
        self.trace.append(f"{self._now_s():9.4f}  {text}")

    def digest(self) -> str:
        return sha256("\n".join(self.trace).encode()).hexdigest()

    def broken(self, invariant: str, text: str) -> None:
        if self.violation is None:
            self.violation = Violation(invariant, text, self._now_s())
            self.note(f"BROKEN {invariant}: {text}")

    def demand(self, holds: bool, invariant: str, text: str) -> None:
        if not holds:
            self.broken(invariant, text)

    # -- what really happens on machines

    def task_started(self, node: Node, start: TaskStart) -> None:
        ref = start.ref
        self.note(f"{node.name}: {name_of(ref)} runs")
        others = [one for one in self._running if (one.job, one.rank) == (ref.job, ref.rank)]
        self.demand(not others, "I2", f"{name_of(ref)} starts while {names_of(others)} runs")
        before = [one for one in self.ran if (one.job, one.rank) == (ref.job, ref.rank)]
        newer = [one for one in before if one.fence >= ref.fence and one not in self._forgotten]
        self.demand(not newer, "I2", f"{name_of(ref)} starts after {names_of(newer)} did")

    def _runs(self, node: Node, ref: TaskRef) -> None:
        """It is known by whom it was wanted."""
        self.ran[ref] = Ran(node, self._now_s())
        self._running[ref] = node

    def task_ended(self, node: Node, ref: TaskRef, exit_code: int | None, signal_number: int | None) -> None:
        how = f"signal {signal_number}" if exit_code is None else f"exit {exit_code}"
        self.note(f"{node.name}: {name_of(ref)} ends: {how}")
        self._running.pop(ref, None)
        if ref in self.ran:
            ran = self.ran[ref]
            ran.ended_s, ran.exit_code, ran.signal = self._now_s(), exit_code, signal_number

    def agent_failed(self, node: Node, error: BaseException | None) -> None:
        self.broken("I0", f"the agent of {node.name} ended by itself: {error!r}")

    def machine_wiped(self, node: Node) -> None:
        """It doesn't know what it has run: an order that wasn't confirmed may come again."""
        self._forgotten.update(ref for ref, ran in self.ran.items() if ran.node.name == node.name)

    def _running_on(self, node: Node) -> list[TaskRef]:
        return [ref for ref, where in self._running.items() if where.name == node.name]


def name_of(ref: TaskRef) -> str:
    return f"{ref.job}/{ref.rank}#{ref.fence}"


def names_of(refs: Iterable[TaskRef]) -> str:
    return ", ".join(map(name_of, refs))
