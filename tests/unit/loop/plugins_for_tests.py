"""Plugins as strangers write them. The tests point entry points at them by name."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rota.engine.plugin import Bools, Int64s, NodeView, Plugin, StateView, TaskView
from rota.model.job import Job
from rota.model.plan import Binding

told: list[tuple[str, int]] = []
"""What `Listener` was told: jobs, and how many of their tasks start."""


class OnlyNamed(Plugin):
    """Lets tasks run only on the node of its setting `node`."""

    def filter(self, task: TaskView, node: NodeView) -> str | None:
        return None if node.name == self.settings["node"] else "not the one"


class Favourite(Plugin):
    def score(self, task: TaskView, node: NodeView) -> int:
        return 1000 if node.name == self.settings["node"] else 0


class Listener(Plugin):
    def on_job_scheduled(self, job: Job, bindings: Sequence[Binding]) -> None:
        told.append((job.id, len(bindings)))


class Raising(Plugin):
    def filter(self, task: TaskView, node: NodeView) -> str | None:
        raise ValueError("no idea")


class RaisingOnScore(Plugin):
    def score(self, task: TaskView, node: NodeView) -> int:
        raise ValueError("no idea")


class RaisingWhenTold(Plugin):
    def on_job_scheduled(self, job: Job, bindings: Sequence[Binding]) -> None:
        raise ValueError("no idea")


class RaisingWhenMade(Plugin):
    def __init__(self, settings: dict[str, str]) -> None:
        raise ValueError("no settings")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class RaisingUnspeakably(Plugin):
    def filter(self, task: TaskView, node: NodeView) -> str | None:
        raise Unspeakable


class Leaving(Plugin):
    def filter(self, task: TaskView, node: NodeView) -> str | None:
        raise SystemExit(3)


class Interrupting(Plugin):
    def filter(self, task: TaskView, node: NodeView) -> str | None:
        raise KeyboardInterrupt


class Sleeping(Plugin):
    def filter(self, task: TaskView, node: NodeView) -> str | None:
        time.sleep(60)
        return None


class Looping(Plugin):
    def score(self, task: TaskView, node: NodeView) -> int:
        while True:
            pass


class ScoringText(Plugin):
    def score(self, task: TaskView, node: NodeView) -> int:
        return "very good"  # type: ignore[return-value]


class ScoringTooHigh(Plugin):
    def score(self, task: TaskView, node: NodeView) -> int:
        return 10**6


class TooFewRows(Plugin):
    def filter_rows(self, task: TaskView, state: StateView, positions: Int64s) -> Bools:
        return positions[:1] >= 0


class Printing(Plugin):
    def filter(self, task: TaskView, node: NodeView) -> str | None:
        print("a plugin was here")
        return None


not_a_plugin = 42
