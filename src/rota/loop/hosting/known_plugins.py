"""The plugins that a policy can name, as documents: Rota's own, and those that are installed."""

from __future__ import annotations

from rota import __version__
from rota.api.plugins import PluginDocument
from rota.engine.plugin import calls_of
from rota.loop.hosting.plugin_host import PluginHost, named_by
from rota.model.policy import Policy
from rota.plugins import NAMED


def known_plugins(host: PluginHost, policy: Policy | None = None) -> list[PluginDocument]:
    """Takes importing them. `policy`: whose schedulers may name them, also some that aren't installed."""
    schedulers = () if policy is None else policy.schedulers
    used: dict[str, list[str]] = {}
    for scheduler in schedulers:
        for name in sorted(named_by(scheduler) - {""}):
            used.setdefault(name, []).append(scheduler.name)
    found = [
        PluginDocument(
            name=name,
            package="rota",
            version=__version__,
            usable=True,
            fault="",
            does=list(calls_of(NAMED[name])),
            schedulers=used.get(name, []),
        )
        for name in sorted(NAMED)
    ]
    found += [
        PluginDocument(
            name=one.name,
            package=one.package,
            version=one.version,
            usable=not one.fault,
            fault=one.fault,
            does=list(one.calls),
            schedulers=used.get(one.name, []),
        )
        for one in host.installed()
    ]
    known = {one.name for one in found}
    found += [
        PluginDocument(
            name=name, package="", version="", usable=False, fault="isn't installed", schedulers=used[name]
        )
        for name in sorted(used.keys() - known)
    ]
    return found
