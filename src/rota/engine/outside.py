"""Plugins from outside: made, and asked under guard, by a cycle; told what was committed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from rota.engine.plugin import ActivePlugin, Plugin, PluginMaker, Plugins
from rota.engine.scope import scheduler_for
from rota.model.ids import JobId
from rota.model.job import Job
from rota.model.plan import Binding, PluginFault
from rota.model.policy import PluginConfig, Policy, SchedulerPolicy, Strategy
from rota.model.task import TaskSpec
from rota.snapshot.state import Snapshot

OF_NO_JOB = frozenset(("load", "prepare"))
"""Calls that are made once for all jobs of a cycle, whichever comes first."""


class Asking:
    """Calls of plugins under guard, and what went wrong with them."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins
        self._silenced: set[str] = set()
        self.faults: dict[PluginFault, None] = {}
        self.current: JobId = JobId("")
        """The job that is being decided on: faults are put down to it."""

    def make(self, config: PluginConfig) -> Plugin | None:
        made = self.ask(config.name, "load", partial(_make, self._plugins.by_name, config))
        return made if isinstance(made, Plugin) else None

    def ask(self, name: str, call: str, function: Callable[[], object]) -> object | None:
        """A plugin's answer; None, and a fault on record, if it raises or takes too long."""
        if name in self._silenced:
            return None
        try:
            return self._plugins.guard(function)
        except Exception as error:
            if isinstance(error, TimeoutError):
                # Each further question would cost as much time again.
                self._silenced.add(name)
            # One entry however often it is asked: the same fault comes with every placement.
            job = JobId("") if call in OF_NO_JOB else self.current
            self.faults[PluginFault(name, call, _words_of(error), job)] = None
            return None


class OutsidePlugins(Asking):
    def __init__(self, plugins: Plugins, snapshot: Snapshot) -> None:
        super().__init__(plugins)
        self._snapshot = snapshot
        self._active: dict[str, tuple[ActivePlugin, ...]] = {}

    def of(self, scheduler: SchedulerPolicy) -> tuple[ActivePlugin, ...]:
        """The plugins that the scheduler's policy names, made when first asked for."""
        active = self._active.get(scheduler.name)
        if active is None:
            chosen = scheduler.selection
            made = [(self._prepared(config), config) for config in _configs(scheduler)]
            active = self._active[scheduler.name] = tuple(
                ActivePlugin(
                    plugin, config, chosen.strategy is Strategy.CUSTOM and chosen.plugin == config.name
                )
                for plugin, config in made
                if plugin is not None
            )
        return active

    def _prepared(self, config: PluginConfig) -> Plugin | None:
        made = self.make(config)
        if made is None or not made.prepares:
            return made
        return made if self.ask(config.name, "prepare", partial(_prepare, made, self._snapshot)) else None


def tell(
    bound: Iterable[tuple[Job, Sequence[Binding]]], policy: Policy, plugins: Plugins
) -> tuple[PluginFault, ...]:
    """Tells the plugins of each job's scheduler what is bound, and answers what went wrong. For bindings that
    are committed: a plan that is only thought of is nobody's business."""
    asking = Asking(plugins)
    listening: dict[str, list[tuple[str, Plugin]]] = {}
    for job, bindings in bound:
        asking.current = job.id
        scheduler = scheduler_for(job.template, policy.schedulers)
        if scheduler is None:
            continue
        if scheduler.name not in listening:
            made = [(config.name, asking.make(config)) for config in _configs(scheduler)]
            listening[scheduler.name] = [(name, one) for name, one in made if one and one.listens]
        for name, plugin in listening[scheduler.name]:
            asking.ask(name, "on_job_scheduled", partial(plugin.on_job_scheduled, job, bindings))
    return tuple(asking.faults)


def _configs(scheduler: SchedulerPolicy) -> tuple[PluginConfig, ...]:
    chosen, configs = scheduler.selection, scheduler.plugins
    if chosen.plugin and chosen.plugin not in {config.name for config in configs}:
        return (*configs, PluginConfig(chosen.plugin))
    return configs


def _make(known: Mapping[str, PluginMaker], config: PluginConfig) -> Plugin:
    return known[config.name](dict(config.settings))


def _prepare(plugin: Plugin, snapshot: Snapshot) -> bool:
    plugin.prepare(list(_kinds(snapshot).items()), snapshot.nodes)
    return True


def _kinds(snapshot: Snapshot) -> Counter[TaskSpec]:
    """Every kind of task that runs or waits, and how many there are."""
    count: Counter[TaskSpec] = Counter()
    running = snapshot.running
    on_nodes = np.bincount(running.spec, minlength=len(running.kinds)).tolist()
    for (template, group), tasks in zip(running.kinds, on_nodes, strict=True):
        count[template.groups[group].spec] += tasks
    for lane in snapshot.waiting.lanes():
        for one, waiting in zip(lane.key.template.groups, lane.key.waiting_by_group, strict=True):
            count[one.spec] += waiting * len(lane)
    return count


def _words_of(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        # An error that can't even be shown.
        return type(error).__name__
