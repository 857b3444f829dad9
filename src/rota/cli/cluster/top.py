"""`rota top`: nodes and queues, redrawn every two seconds."""

from __future__ import annotations

from rota.cli.client.connection import Server, connect
from rota.cli.cluster.nodes import nodes_table
from rota.cli.cluster.queues import queues_table
from rota.cli.output import show
from rota.cli.showing import clock
from rota.cli.tables import Shown, heading
from rota.cli.terminal.screen import draw_until_quit, is_terminal

_PAUSE_S = 2.0


def top(*, once: bool) -> None:
    with connect() as server:
        if once or not is_terminal():
            show(_parts(server))
        else:
            draw_until_quit(lambda height: _parts(server), _PAUSE_S)


def _parts(server: Server) -> list[Shown]:
    # The fullest nodes first: users look for what is short.
    nodes = sorted(server.nodes(), key=lambda node: (-node.tasks, node.name))
    return [
        heading("Queues"),
        queues_table(list(server.queues()), clock()),
        "",
        heading("Nodes"),
        nodes_table(nodes, wide=False),
    ]
