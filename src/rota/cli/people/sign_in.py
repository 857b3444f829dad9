"""`rota login` and `rota logout`."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import typer

from rota.api.people import TokenDocument
from rota.cli.chosen_context import chosen_context
from rota.cli.client.connection import connect
from rota.cli.output import talk, write
from rota.cli.services.config import change_file
from rota.cli.showing import clock
from rota.sdk.client import Client
from rota.sdk.device_flow import Prompt, id_token_by_device_flow
from rota.settings.edit import with_context, with_current_context
from rota.settings.load import load_settings
from rota.settings.paths import default_files, user_file
from rota.settings.settings import Context
from rota.trust.private_file import write_private
from rota.views.amounts import count_text
from rota.views.quoting import one_line
from rota.views.times import ms_of

_NO_TOKEN = "none-yet"
"""Sent to routes that need no token."""


def login(url: str | None, name: str | None, ca: str | None) -> None:
    known = _contexts()
    name = _name(url, name)
    if url is None or name in known:
        context = known[name]
        if url is not None and context.url.rstrip("/") != url.rstrip("/"):
            raise typer.BadParameter(
                f'the name "{name}" stands for {context.url}; give another --name', param_hint="--name"
            )
        if not context.token_file:
            raise typer.BadParameter(f'"{name}" has no token_file in its settings', param_hint="--context")
    else:
        context = Context(url=url, token_file=_token_file(name), ca_file=os.path.abspath(ca) if ca else "")
    made = _signed_in(context)
    assert made.secret is not None
    path = Path(context.token_file)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, f"{made.secret}\n".encode())
    if name not in known:
        change_file(lambda text: with_current_context(with_context(text, name, context), name))
        talk(f"commands use {name} ({context.url}) from now on")
    until = f", until {clock().text(ms_of(made.expires))}" if made.expires else ""
    talk(f"signed in as {one_line(made.user)} with the role {made.role.value}{until}")


def logout() -> None:
    known = _contexts()
    name = _name(None, None)
    with connect() as server:
        removed = server.sign_out().changed
    Path(known[name].token_file).unlink(missing_ok=True)
    others = len(removed) - 1
    along = f", together with {count_text(others, 'token')} made with it" if others > 0 else ""
    talk(f"signed out of {name}: its token is revoked{along}")


def _signed_in(context: Context) -> TokenDocument:
    with Client(context.url, _NO_TOKEN, ca=context.ca_file or None) as server:
        id_token = id_token_by_device_flow(server.sign_in_terms(), _show)
        return server.sign_in(id_token)


def _show(prompt: Prompt) -> None:
    """The address alone is data: what opens a browser can read it."""
    talk("to sign in, open this address in a browser, on any device")
    write(f"{one_line(prompt.url)}\n")
    talk(f"enter this code there, or check that it matches: {one_line(prompt.code)}")


def _contexts() -> dict[str, Context]:
    return dict(load_settings(default_files(os.environ), os.environ, {}).client.contexts)


def _name(url: str | None, name: str | None) -> str:
    """The name of the server in question."""
    if url is not None:
        return name or urlsplit(url).hostname or "rota"
    if name is not None:
        raise typer.BadParameter("--name needs the URL of the server, too", param_hint="--name")
    settings = load_settings(default_files(os.environ), os.environ, {"client.context": chosen_context()})
    if not settings.client.context:
        raise typer.BadParameter(
            "no server is in use; give its URL, as in `rota login https://rota.example.org:8426`",
            param_hint="URL",
        )
    return settings.client.context


def _token_file(name: str) -> str:
    safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
    return os.path.join(os.path.dirname(user_file(os.environ)), "tokens", safe)
