"""`rota scheduler`: reads its options and starts the scheduler."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import typer

from rota.cli.agents.agent import address_and_port
from rota.cli.output import talk
from rota.cli.services.options import StatelessSchedulerOptions
from rota.model.quantities import QuantityError, parse_duration_ms
from rota.settings.contexts import CA_FILE
from rota.settings.paths import data_folder
from rota.trust.local_socket import is_local, socket_path

LEAST_LOST_AFTER_MS = 2_000


def schedule(given: StatelessSchedulerOptions) -> int:
    """The exit code, once the scheduler has ended."""
    if given.tokens is None:
        raise typer.BadParameter(
            "is missing; give a file with one NAME TOKEN per line", param_hint="--tokens"
        )
    from rota.backends.agents.door import Place
    from rota.server.http.tls import Certificate
    from rota.stateless_scheduler.run import SchedulerOptions, run_scheduler
    from rota.stateless_scheduler.trust import AgentsTrust

    def address(option: str, text: str) -> Place:
        host, port = address_and_port(text)
        if host is None or port is None or port > 65_535:
            raise typer.BadParameter(
                f"'{text}' is not an address and port; write it like 127.0.0.1:8427", param_hint=option
            )
        return Place(host, port)

    def where_agents_dial(text: str) -> Place | Path:
        if is_local(text):
            return socket_path(text, data_folder(os.environ))
        return address("--agents", text)

    certificate = _all_or_none(("--tls-cert", "--tls-key"), (given.tls_cert, given.tls_key))
    trust = _all_or_none(
        ("--agents-cert", "--agents-key", "--agents-ca"),
        (given.agents_cert, given.agents_key, given.agents_ca),
    )
    authority, public_url, log_format = given.authority, given.public_url, given.log_format
    if authority is not None and trust:
        raise typer.BadParameter("give this or --agents-ca, not both", param_hint="--authority")
    if public_url is not None and not _is_url(public_url):
        raise typer.BadParameter(
            f"'{public_url}' is not a URL; write it like https://rota.example.org:8426",
            param_hint="--public-url",
        )
    if log_format not in ("auto", "text", "json"):
        raise typer.BadParameter(f"'{log_format}' is none of auto, text and json", param_hint="--log-format")
    is_text = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    return run_scheduler(
        SchedulerOptions(
            agents=where_agents_dial(given.agents or ("127.0.0.1:8427" if authority or trust else "unix")),
            controllers=address("--controllers", given.controllers),
            rest=address("--rest", given.rest),
            tokens=Path(given.tokens),
            policy=None if given.policy is None else Path(given.policy),
            lost_after_ms=_duration("--lost-after", given.lost_after, LEAST_LOST_AFTER_MS),
            abandoned_after_ms=_duration("--abandoned-after", given.abandoned_after, 0),
            certificate=Certificate(*certificate) if certificate else None,
            agents_trust=AgentsTrust(Certificate(*trust[:2]), trust[2]) if trust else None,
            authority=None if authority is None else Path(authority),
            public_url=public_url or "",
            log_format="console" if is_text else "json",
        )
    )


def make_authority(folder: str, hosts: Sequence[str]) -> int:
    """The exit code."""
    from rota.clock import now_ms
    from rota.stateless_scheduler.authority import AuthorityError, make_authority

    try:
        is_new = make_authority(Path(folder), hosts, now_ms())
    except AuthorityError as error:
        talk(str(error))
        return 1
    talk(f"{folder} has a new authority" if is_new else f"{folder} has an authority already, which stays")
    if hosts:
        talk(f"it has a certificate for {', '.join(hosts)}; clients trust it by {Path(folder, CA_FILE)}")
    talk(f"start a scheduler with: --authority {folder}")
    return 0


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _duration(option: str, text: str, least_ms: int) -> int:
    try:
        duration_ms = parse_duration_ms(text)
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
    if duration_ms < least_ms:
        raise typer.BadParameter(
            f"'{text}' is too short; give at least {least_ms / 1000:g}s", param_hint=option
        )
    return duration_ms


def _all_or_none(options: tuple[str, ...], given: tuple[str | None, ...]) -> list[Path]:
    """All of them, or an empty list."""
    paths = [Path(one) for one in given if one is not None]
    if paths and len(paths) < len(options):
        raise typer.BadParameter(f"give all of {', '.join(options)}, or none", param_hint=options[0])
    return paths
