"""The server that a command talks to."""

from __future__ import annotations

from rota.cli.chosen_context import chosen_context
from rota.sdk import client
from rota.sdk.client import Client as Server

__all__ = ["Server", "connect"]


def connect(context: str | None = None) -> Server:
    """Connects to the given server, or to the one that `--context` names. Raises RotaError if no server is
    configured."""
    return client.Client(context=context or chosen_context())
