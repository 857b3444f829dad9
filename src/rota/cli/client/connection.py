"""The server that a command asks."""

from __future__ import annotations

from rota.cli.command_list import chosen_context
from rota.sdk import client
from rota.sdk.client import Client as Server

__all__ = ["Server", "connect"]


def connect(context: str | None = None) -> Server:
    """To the server that `--context` names, unless told otherwise. Raises RotaError if nothing says
    where it is."""
    return client.Client(context=context or chosen_context())
