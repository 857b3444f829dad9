"""Plugins from outside, as a cycle deals with them: made, asked under guard, told what was bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from rota.engine.plugin import ActivePlugin, Plugin, PluginMaker, Plugins
from rota.engine.scope import scheduler_for
from rota.model.ids import JobId
from rota.model.plan import Binding, PluginFault
from rota.model.policy import PluginConfig, SchedulerPolicy, Strategy
from rota.model.task import TaskSpec
from rota.snapshot.state import Snapshot


class OutsidePlugins:
    def __init__(self, plugins: Plugins, snapshot: Snapshot) -> None:
        self._plugins = plugins
        self._snapshot = snapshot
        self._active: dict[str, tuple[ActivePlugin, ...]] = {}
        self._silenced: set[str] = set()
        self.faults: dict[PluginFault, None] = {}
        self.current: JobId = JobId("")
        """The job that is being decided on: faults are put down to it."""

    def of(self, scheduler: SchedulerPolicy) -> tuple[ActivePlugin, ...]:
        """The plugins that the scheduler's policy names, made when first asked for."""
        active = self._active.get(scheduler.name)
        if active is None:
            chosen, configs = scheduler.selection, scheduler.plugins
            if chosen.plugin and chosen.plugin not in {config.name for config in configs}:
                configs = (*configs, PluginConfig(chosen.plugin))
            made = [(self._make(config), config) for config in configs]
            active = self._active[scheduler.name] = tuple(
                ActivePlugin(
                    plugin, config, chosen.strategy is Strategy.CUSTOM and chosen.plugin == config.name
                )
                for plugin, config in made
                if plugin is not None
            )
        return active

    def _make(self, config: PluginConfig) -> Plugin | None:
        made = self.ask(config.name, "load", partial(_make, self._plugins.by_name, config))
        if not isinstance(made, Plugin):
            return None
        if made.prepares and not self.ask(config.name, "prepare", partial(_prepare, made, self._snapshot)):
            return None
        return made

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
            self.faults[PluginFault(name, call, _words_of(error), self.current)] = None
            return None

    def tell(self, bindings: Iterable[Binding], schedulers: tuple[SchedulerPolicy, ...]) -> None:
        """Tells the active plugins of each job's scheduler what is bound."""
        if not any(self._active.values()):
            return
        by_job: dict[JobId, list[Binding]] = {}
        for binding in bindings:
            by_job.setdefault(binding.job, []).append(binding)
        for job_id, bound in by_job.items():
            self.current = job_id
            job = self._snapshot.jobs[job_id].job
            scheduler = scheduler_for(job.template, schedulers)
            for one in self._active.get(scheduler.name, ()) if scheduler else ():
                call = partial(one.plugin.on_job_scheduled, job, bound)
                self.ask(one.config.name, "on_job_scheduled", call)


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
