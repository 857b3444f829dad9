"""`rota plugins`: the plugins that a policy can name, and what went wrong with those of a server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rota.api.plugins import PluginDocument, PluginFaultDocument
from rota.cli.client.connection import connect
from rota.cli.output import OutputFormat, show, talk, write_document
from rota.cli.plugin_faults import prints_as_talk
from rota.cli.showing import clock
from rota.cli.tables import BAD, GOOD, QUIET, Shown, heading, new_table
from rota.cli.text import Text
from rota.sdk.errors import NoServer
from rota.views.amounts import count_text
from rota.views.quoting import one_line
from rota.views.times import ms_of


def plugins(output: OutputFormat, *, local: bool) -> None:
    found = None if local else _of_server()
    is_local = found is None
    if found is None:
        found = _installed_here()
    if not output.is_table:
        write_document(found, output)
        return
    show(_tables(found, is_local=is_local))
    if is_local and all(one.package == "rota" for one in found):
        from rota.loop.hosting.plugin_host import GROUP

        talk(f"no other plugins are installed; packages provide them by entry points in the group {GROUP}")


def _of_server() -> list[PluginDocument] | None:
    """None: no server is known here, and so it is asked what is installed."""
    try:
        server = connect()
    except NoServer:
        talk("no server is known here: these plugins are installed on this machine")
        return None
    with server:
        return list(server.plugins())


def _installed_here() -> list[PluginDocument]:
    from rota.loop.hosting.known_plugins import known_plugins
    from rota.loop.hosting.plugin_host import PluginHost

    with prints_as_talk():
        return known_plugins(PluginHost())


def _tables(found: Sequence[PluginDocument], *, is_local: bool) -> Iterable[Shown]:
    columns = ["plugin", "package", "version", "state", "does"]
    if not is_local:
        columns.append("used by")
    table = new_table(*columns, dropped=("version", "does"))
    for one in found:
        cells: list[str | Text] = [one.name, one.package, one.version, _state(one), ", ".join(one.does)]
        table.add_row(*cells, *(() if is_local else (", ".join(one.schedulers),)))
    yield table
    if any(one.faults for one in found):
        yield ""
        yield heading("What went wrong since the server started")
        yield _faults(found)


def _state(one: PluginDocument) -> Text:
    if one.fault:
        return Text(one_line(one.fault), style=BAD)
    if one.faults:
        return Text(count_text(sum(fault.count for fault in one.faults), "fault"), style=BAD)
    return Text("usable", style=GOOD)


def _faults(found: Sequence[PluginDocument]) -> Shown:
    now = clock()
    table = new_table(
        "plugin", "call", "times", "last", "job", "error", right=("times",), whole=("job",), dropped=("last",)
    )
    for plugin in found:
        for one in plugin.faults:
            last = now.distance_text(ms_of(one.last))
            table.add_row(plugin.name, one.call, str(one.count), last, one.job or "", _error(one))
    return table


def _error(one: PluginFaultDocument) -> Text:
    if one.error is None:
        return Text("of a job of another project", style=QUIET)
    return Text(one_line(one.error), style=BAD)
