"""`rota agent token`, `join`, `ls` and `revoke`: which machines may work for a server."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Sequence
from getpass import getpass
from pathlib import Path

import typer

from rota.api.cluster import AgentDocument
from rota.cli.client.connection import connect
from rota.cli.cluster.nodes import used_of
from rota.cli.option_values import read_as
from rota.cli.output import ListFormat, OutputFormat, talk, talk_of_change, write, write_document
from rota.cli.pairs import pairs_of
from rota.cli.showing import clock, show_list
from rota.cli.tables import Shown, new_table
from rota.model.quantities import parse_price_micro
from rota.settings.load import load_settings
from rota.settings.paths import default_files
from rota.views.amounts import amount_text
from rota.views.times import ms_of

EX_NO_SERVER = 5
TOKEN_VARIABLE = "ROTA_JOIN_TOKEN"


def agents(output: ListFormat) -> None:
    with connect() as server:
        found = list(server.agents())
    show_list(found, output, lambda one: one.name, lambda some: _tables(some, wide=output.is_wide))
    if not found and output in (ListFormat.TABLE, ListFormat.WIDE):
        talk("no machine has joined")


def invite(
    name: str | None,
    pool: str | None,
    labels: Sequence[str],
    taints: Sequence[str],
    price_per_hour: str | None,
    output: OutputFormat,
    *,
    dry_run: bool,
) -> None:
    if price_per_hour is not None:
        read_as("--price", parse_price_micro, price_per_hour)
    with connect() as server:
        made = server.invite_agent(
            name=name,
            pool=pool,
            labels=pairs_of("--label", labels) or None,
            taints=list(taints) or None,
            price_per_hour=price_per_hour,
            dry_run=dry_run,
        )
    if output.is_table and made.token is not None:
        until = clock().text(ms_of(made.expires))
        talk(f"run `rota agent join` on the new machine and enter this token; it works once, until {until}")
    if not output.is_table:
        write_document(made, output)
    elif made.token is not None:
        # Not in a table, which would wrap it.
        write(f"{made.token}\n")


def join(token: str | None, server: str | None, name: str | None, data: str | None) -> int:
    """The exit code. `token`: from the command line; None: from a variable, a pipe or the terminal."""
    if token is None:
        token = _token()
    else:
        talk("other users of this machine can see this token; pipe it in, or set ROTA_JOIN_TOKEN")
    from rota.trust.enrol import join
    from rota.trust.errors import TrustError

    settings = load_settings(default_files(os.environ), os.environ, {"agent.data": data, "worker.name": name})
    try:
        identity = join(
            token, Path(settings.agent.data), settings.worker.name or socket.gethostname(), server
        )
    except TrustError as error:
        raise typer.BadParameter(f"{error.message}; {error.help}", param_hint=error.field) from None
    except OSError as error:
        talk(f"the server can't be reached: {error}; check that it runs, or give --server")
        return EX_NO_SERVER
    talk(f"{identity.name} has joined {identity.server}; start its agent with: rota agent")
    return 0


def _token() -> str:
    """From a variable, a pipe, or the user at the terminal."""
    if token := os.environ.get(TOKEN_VARIABLE, ""):
        return token
    if sys.stdin.isatty():
        return getpass("token: ", sys.stderr)
    return sys.stdin.readline().strip()


def revoke(names: Sequence[str], *, dry_run: bool) -> None:
    with connect() as server:
        for name in names:
            server.revoke_agent(name, dry_run=dry_run)
            talk_of_change(f"agent {name}", "is revoked and disconnected", "be revoked", dry_run=dry_run)


def _tables(some: Sequence[AgentDocument], *, wide: bool) -> Iterable[Shown]:
    if not some:
        return
    now = clock()
    columns = ["agent", "state", "pool", "cpu", "memory", "load", "memory in use", "tasks", "last heartbeat"]
    columns += ["version", "clock", "certificate expires"]
    columns += ["runs"] if wide else []
    right = ("load", "memory in use", "tasks")
    dropped = ("clock", "version", "runs", "certificate expires", "memory in use", "load", "pool", "cpu")
    table = new_table(*columns, right=right, whole=("state", "cpu", "memory"), dropped=dropped)
    for one in some:
        heard = one.last_heartbeat
        cells = {
            "agent": one.name,
            "state": one.state.value,
            "pool": one.pool or "",
            "cpu": used_of(one, "cpu"),
            "memory": used_of(one, "memory"),
            "load": "" if one.load is None else f"{one.load:.2f}",
            "memory in use": "" if one.memory_used is None else amount_text("memory", one.memory_used),
            "tasks": str(one.tasks) if one.capacity else "",
            "last heartbeat": "never" if heard is None else now.distance_text(ms_of(heard)),
            "version": one.version,
            "clock": "" if one.clock_skew_s is None else f"{one.clock_skew_s:+.1f} s",
            "certificate expires": "needs none" if one.expires is None else now.text(ms_of(one.expires)),
            "runs": ", ".join(one.runs),
        }
        table.add_row(*(cells[column] for column in columns))
    yield table
