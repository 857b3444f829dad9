"""`rota plugins`: what is installed, and whether it can be used."""

from __future__ import annotations

from msgspec import Struct
from rich.text import Text

from rota.cli.faults import prints_as_talk
from rota.cli.output import Form, show, talk, write_document
from rota.cli.tables import BAD, GOOD, new_table
from rota.cli.wording import one_line
from rota.loop.plugin_host import GROUP, InstalledPlugin, PluginHost


class PluginEntry(Struct, frozen=True):
    name: str
    package: str
    version: str
    usable: bool
    fault: str


def plugins(form: Form) -> None:
    with prints_as_talk():
        installed = PluginHost().installed()
    if not form.is_table:
        write_document([_entry(one) for one in installed], form)
    elif installed:
        table = new_table("plugin", "package", "version", "state")
        for one in installed:
            state = Text(one_line(one.fault), style=BAD) if one.fault else Text("usable", style=GOOD)
            table.add_row(one.name, one.package, one.version, state)
        show([table])
    else:
        talk(f"no plugins are installed; packages offer them by entry points of the group {GROUP}")


def _entry(plugin: InstalledPlugin) -> PluginEntry:
    return PluginEntry(plugin.name, plugin.package, plugin.version, not plugin.fault, plugin.fault)
