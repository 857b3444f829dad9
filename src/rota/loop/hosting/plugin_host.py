"""Plugins that policies may name: Rota's own, and those from outside, which are found by entry points,
imported only when named, and called under a guard."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import EntryPoint, entry_points

from rota.engine.plugin import Plugin, PluginMaker, Plugins, calls_of
from rota.loop.hosting.time_limit import TimeLimit
from rota.model.policy import Policy, SchedulerPolicy
from rota.plugins import BUILT_IN, NAMED

GROUP = "rota.plugins"
CALL_LIMIT_S = 2.0
IMPORT_LIMIT_S = 30.0
"""A plugin may bring a library along that takes its time."""


class PluginLoadError(Exception):
    """A plugin that is installed but can't be used, and why."""


@dataclass(frozen=True)
class InstalledPlugin:
    name: str
    package: str
    version: str
    fault: str
    """Why it can't be used; empty: it can."""
    calls: tuple[str, ...] = ()
    """What it does, by the names of its methods."""


class PluginHost:
    """The installed plugins. Each is imported when it is first used."""

    def __init__(
        self, found: Iterable[EntryPoint] | None = None, import_limit_s: float = IMPORT_LIMIT_S
    ) -> None:
        self._found = found
        self._import_limit_s = import_limit_s
        self._classes: dict[str, type[Plugin]] = {}

    @cached_property
    def _by_name(self) -> Mapping[str, list[EntryPoint]]:
        found = entry_points(group=GROUP) if self._found is None else self._found
        by_name: dict[str, list[EntryPoint]] = {}
        for point in sorted(found, key=lambda point: (point.name, _package(point))):
            by_name.setdefault(point.name, []).append(point)
        return by_name

    @property
    def names(self) -> Collection[str]:
        return NAMED.keys() | self._by_name.keys()

    def installed(self) -> list[InstalledPlugin]:
        """All of them with their state, which takes importing them."""
        return [
            InstalledPlugin(name, _package(point), _version(point), self._fault(name), self._calls(name))
            for name, points in self._by_name.items()
            for point in points
        ]

    @contextmanager
    def in_force(
        self, policy: Policy, rules: Plugins = BUILT_IN, call_limit_s: float = CALL_LIMIT_S
    ) -> Iterator[Plugins]:
        """What takes part in a decision: these rules, and under guard the plugins that the policy names."""
        with TimeLimit(call_limit_s) as guard:
            yield replace(rules, by_name=self.makers(policy), guard=guard)

    def makers(self, policy: Policy) -> dict[str, PluginMaker]:
        """A factory for each plugin that the policy names. One that can't be imported raises when it is to be
        made: there the engine expects faults, and reports them."""
        named = {plugin for scheduler in policy.schedulers for plugin in named_by(scheduler)}
        own: dict[str, PluginMaker] = {name: NAMED[name] for name in sorted(named & NAMED.keys())}
        return own | {name: self._maker(name) for name in sorted(named & self._by_name.keys() - own.keys())}

    def _maker(self, name: str) -> PluginMaker:
        fault = self._fault(name)
        return partial(_raise, fault) if fault else partial(_make, self._classes[name])

    def _fault(self, name: str) -> str:
        if name not in self._classes:
            try:
                self._classes[name] = self._load(name)
            except PluginLoadError as error:
                return str(error)
        return ""

    def _calls(self, name: str) -> tuple[str, ...]:
        return calls_of(self._classes[name]) if name in self._classes else ()

    def _load(self, name: str) -> type[Plugin]:
        if name in NAMED:
            raise PluginLoadError("Rota has a plugin of this name itself; give it another")
        point, *others = self._by_name[name]
        if others:
            packages = ", ".join(map(_package, (point, *others)))
            raise PluginLoadError(f"several packages offer it: {packages}; uninstall all but one")
        try:
            with TimeLimit(self._import_limit_s) as limited:
                loaded = limited(point.load)
        except Exception as error:
            raise PluginLoadError(f"cannot be imported: {type(error).__name__}: {error}") from error
        if not (isinstance(loaded, type) and issubclass(loaded, Plugin)):
            raise PluginLoadError(f"{point.value} is not a subclass of {Plugin.__module__}.Plugin")
        return loaded


def named_by(scheduler: SchedulerPolicy) -> set[str]:
    return {plugin.name for plugin in scheduler.plugins} | {scheduler.selection.plugin}


def _make(plugin_class: type[Plugin], settings: dict[str, str]) -> Plugin:
    return plugin_class(settings)


def _raise(fault: str, settings: dict[str, str]) -> Plugin:
    raise PluginLoadError(fault)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else ""


def _version(point: EntryPoint) -> str:
    return point.dist.version if point.dist else ""
