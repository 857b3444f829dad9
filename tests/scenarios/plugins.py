"""Plugins that scenarios can name in their policies, as if somebody had installed them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint

from rota.engine.plugin import FULL_SCORE, NodeView, Plugin, TaskView
from rota.loop.hosting.plugin_host import GROUP, PluginHost
from rota.model.job import Job
from rota.model.plan import Binding


class KeepOff(Plugin):
    """Lets nothing onto the node named in the setting `node`."""

    def filter(self, task: TaskView, node: NodeView) -> str | None:
        return "keep off" if node.name == self.settings["node"] else None


class Likes(Plugin):
    """Gives the node named in the setting `node`, or else `favourite`, all points and others none."""

    def score(self, task: TaskView, node: NodeView) -> int:
        return FULL_SCORE if node.name == self.settings.get("node", "favourite") else 0


class Broken(Plugin):
    """Raises whatever it is asked."""

    def filter(self, task: TaskView, node: NodeView) -> str | None:
        raise RuntimeError("out of order")

    def score(self, task: TaskView, node: NodeView) -> int:
        raise RuntimeError("out of order")

    def on_job_scheduled(self, job: Job, bindings: Sequence[Binding]) -> None:
        raise RuntimeError("out of order")


_BY_NAME: dict[str, type[Plugin]] = {"keep-off": KeepOff, "likes": Likes, "broken": Broken}

HOST = PluginHost(
    EntryPoint(name, f"{maker.__module__}:{maker.__qualname__}", GROUP) for name, maker in _BY_NAME.items()
)
