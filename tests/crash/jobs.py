"""Jobs and actions for a round: small ones of every kind, drawn from its seed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from msgspec import Struct, json

from tests.crash.diary import CPUS, GIBIBYTES
from tests.crash.task import LEFT

_TASK = Path(__file__).with_name("task.py")
ENDLESS_S = 600.0
"""Until somebody cancels it."""
PAUSE_MS = 200
"""At least, before a job is tried again."""
_LONGEST_PAUSE_S = 2.0
_ALWAYS = 1_000
"""Often enough: which attempt it is, a scheduler that was started anew can't say."""


class Form(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one task does and takes, and what becomes of its job."""

    seconds: float
    cpu: int = 1
    memory: int = 1
    """In GiB."""
    fails: int = 0
    """So many times, when it is begun."""
    deaf: bool = False
    """To SIGTERM."""
    brood: bool = False
    """Leaves a process behind."""
    exclusive: bool = False
    port: bool = False
    lines: int = 0
    """So many it writes."""
    leaves: bool = False
    """A file."""
    tasks: int = 1
    elements: int = 0
    """Of an array; 0: it is none."""
    retries: int = 0
    on_task_failure: str = "fail-job"
    min_available: int | None = None
    limit_s: float | None = None
    priority: str = "medium"
    follows: str = ""
    """Starts after another job has ended so."""
    is_resident: bool = False
    """Runs from the beginning to the end, if possible where no other resident does: when its node is thought
    lost, there is somebody to run twice."""

    @property
    def is_endless(self) -> bool:
        return self.seconds >= ENDLESS_S and self.limit_s is None

    @property
    def takes_s(self) -> float:
        """At most, of all cpus of a node, with every retry."""
        once_s = min(self.seconds, self.limit_s or self.seconds)
        tries = 1 + self.retries
        cpus = CPUS if self.exclusive else self.cpu
        return tries * (once_s * cpus * self.tasks * max(1, self.elements) / CPUS + _LONGEST_PAUSE_S)

    def document(self, ground: Path, after: str) -> dict[str, Any]:
        """As a server takes it. `after`: the job that it follows."""
        document = self.action(ground) | {
            "tasks": self.tasks,
            "on_task_failure": self.on_task_failure,
            "retry": {"limit": self.retries, "backoff": f"{PAUSE_MS}ms"},
        }
        if self.elements:
            document["array"] = self.elements
        if self.min_available is not None:
            document["min_available"] = self.min_available
        if self.follows and after:
            document["depends_on"] = [{"job": after, "after": self.follows}]
        return document

    def action(self, ground: Path) -> dict[str, Any]:
        """As a scheduler takes it: one task, once."""
        told = {name: getattr(self, name) for name in _TOLD}
        document: dict[str, Any] = {
            "name": f"crash-{self.seconds:g}",
            "command": [sys.executable, "-I", "-S", str(_TASK), str(ground), json.encode(told).decode()],
            "resources": {"cpu": self.cpu, "memory": f"{self.memory}Gi"},
            "grace": "1s",
            "priority": self.priority,
            "exclusive": self.exclusive,
        }
        if self.limit_s is not None:
            document["time_limit"] = f"{self.limit_s:g}s"
        if self.port:
            document["ports"] = [9999]
        if self.leaves:
            document["outputs"] = [LEFT]
        if self.is_resident:
            document["labels"] = _RESIDENT
            document["affinity"] = [{"to": _RESIDENT, "within": "host", "anti": True, "weight": 100}]
        return document


_RESIDENT = {"crash": "resident"}
_TOLD = ("seconds", "cpu", "memory", "fails", "deaf", "brood", "exclusive", "port", "lines", "leaves")


def resident() -> Form:
    return Form(seconds=ENDLESS_S, is_resident=True)


def draw(chance: Random) -> Form:
    """For a server."""
    return chance.choices(_SHAPES, _SHARES)[0](chance)


def draw_action(chance: Random) -> Form:
    """For a scheduler."""
    return chance.choices(_ACTIONS, _ACTION_SHARES)[0](chance)


def _single(chance: Random) -> Form:
    return Form(
        seconds=round(chance.random(), 2),
        cpu=chance.randint(1, 2),
        memory=chance.randint(1, 3),
        fails=chance.choice((0, 0, 1, 2)),
        retries=chance.randint(0, 2),
        brood=chance.random() < 0.2,
        port=chance.random() < 0.2,
        follows=chance.choice(("", "", "any", "success", "failure")),
    )


def _array(chance: Random) -> Form:
    """Of short tasks: these are handed to nodes ahead."""
    return Form(seconds=chance.choice((0.0, 0.02, 0.1)), elements=chance.randint(5, 20), retries=1)


def _gang(chance: Random) -> Form:
    return Form(
        seconds=chance.choice((0.2, 0.8)),
        tasks=chance.randint(2, 4),
        cpu=chance.randint(1, 2),
        fails=chance.choice((0, 0, 1)),
        retries=chance.randint(0, 2),
        on_task_failure=chance.choice(("fail-job", "restart-job", "restart-task", "continue")),
        min_available=chance.choice((None, None, 1)),
    )


def _limited(chance: Random) -> Form:
    return Form(seconds=ENDLESS_S, limit_s=chance.choice((1.0, 2.0)), deaf=chance.random() < 0.3)


def _urgent(chance: Random) -> Form:
    """Evicts others."""
    return Form(seconds=0.3, cpu=chance.randint(2, CPUS), priority="high", exclusive=chance.random() < 0.4)


def _endless(chance: Random) -> Form:
    """Outlives every lease."""
    return Form(
        seconds=ENDLESS_S,
        memory=chance.randint(1, GIBIBYTES // 2),
        priority="low",
        deaf=chance.random() < 0.3,
        brood=chance.random() < 0.3,
    )


def _action(chance: Random) -> Form:
    return Form(
        seconds=round(chance.random(), 2),
        cpu=chance.randint(1, 2),
        memory=chance.randint(1, 3),
        fails=chance.choice((0, 0, _ALWAYS)),
        brood=chance.random() < 0.2,
        port=chance.random() < 0.2,
        lines=chance.choice((0, 1, 20)),
        leaves=chance.random() < 0.3,
    )


def _short(chance: Random) -> Form:
    return Form(seconds=chance.choice((0.0, 0.02, 0.1)), lines=1)


def _chatty(chance: Random) -> Form:
    return Form(seconds=round(3 * chance.random(), 2), lines=chance.randint(1_000, 5_000))


_Shape: TypeAlias = Callable[[Random], Form]
_SHAPES: tuple[_Shape, ...] = (_single, _array, _gang, _limited, _urgent, _endless)
_SHARES = (8, 3, 3, 2, 2, 2)
_ACTIONS: tuple[_Shape, ...] = (_action, _short, _chatty, _limited, _urgent, _endless)
_ACTION_SHARES = (8, 3, 2, 2, 2, 2)
