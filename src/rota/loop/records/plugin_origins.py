"""Which packages the plugins come from that a policy names: who reproduces a plan needs the same."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from msgspec import Struct

from rota.loop.hosting.plugin_host import GROUP
from rota.model.policy import Policy
from rota.plugins import NAMED


class PluginOrigin(Struct, frozen=True, omit_defaults=True):
    name: str
    package: str = ""
    """Empty: no package that is installed offers it."""
    version: str = ""


def origins_of(policy: Policy, found: Iterable[EntryPoint] | None = None) -> tuple[PluginOrigin, ...]:
    """Of those that Rota doesn't bring along, by name. `found`: None: those that are installed."""
    named = {plugin.name for scheduler in policy.schedulers for plugin in scheduler.plugins}
    named |= {scheduler.selection.plugin for scheduler in policy.schedulers}
    outside = named - NAMED.keys() - {""}
    if not outside:
        return ()
    points = entry_points(group=GROUP) if found is None else found
    known = [_origin(point) for point in points if point.name in outside]
    missing = outside - {origin.name for origin in known}
    everyone = [*known, *map(PluginOrigin, missing)]
    return tuple(sorted(everyone, key=lambda origin: (origin.name, origin.package)))


def _origin(point: EntryPoint) -> PluginOrigin:
    return (
        PluginOrigin(point.name, point.dist.name, point.dist.version)
        if point.dist
        else PluginOrigin(point.name)
    )
