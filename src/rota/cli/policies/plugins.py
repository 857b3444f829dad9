"""`rota plugins`: the plugins that a policy can name, Rota's own and installed ones."""

from __future__ import annotations

from msgspec import Struct

from rota import __version__
from rota.cli.output import OutputFormat, show, talk, write_document
from rota.cli.plugin_faults import prints_as_talk
from rota.cli.tables import BAD, GOOD, new_table
from rota.cli.text import Text
from rota.loop.hosting.plugin_host import GROUP, InstalledPlugin, PluginHost
from rota.plugins import NAMED
from rota.views.quoting import one_line


class PluginEntry(Struct, frozen=True):
    name: str
    package: str
    version: str
    usable: bool
    fault: str


def plugins(output: OutputFormat) -> None:
    with prints_as_talk():
        installed = PluginHost().installed()
    entries = [PluginEntry(name, "rota", __version__, True, "") for name in sorted(NAMED)]
    entries += [_entry(one) for one in installed]
    if not output.is_table:
        write_document(entries, output)
        return
    table = new_table("plugin", "package", "version", "state")
    for one in entries:
        state = Text(one_line(one.fault), style=BAD) if one.fault else Text("usable", style=GOOD)
        table.add_row(one.name, one.package, one.version, state)
    show([table])
    if not installed:
        talk(f"no other plugins are installed; packages provide them by entry points in the group {GROUP}")


def _entry(plugin: InstalledPlugin) -> PluginEntry:
    return PluginEntry(plugin.name, plugin.package, plugin.version, not plugin.fault, plugin.fault)
