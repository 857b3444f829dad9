"""`rota server`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app

app = new_app()


@app.command()
def server(
    data: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Where all is kept. [default: rota in the user's data folder]"),
    ] = None,
    address: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Where it listens. [default: 127.0.0.1]")
    ] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="[default: 8426]")] = None,
    database: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A PostgreSQL database. [default: SQLite in the data folder]"),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", "-p", metavar="FILE", help="How to decide. [default: Rota's own way]"),
    ] = None,
    tls_cert: Annotated[str | None, typer.Option(metavar="FILE", help="A certificate, PEM.")] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Its key, PEM.")] = None,
    tls_self_signed: Annotated[
        bool, typer.Option("--tls-self-signed", help="Make a certificate, and keep it in the data folder.")
    ] = False,
    agents: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS[:PORT]",
            help="Take agents there that have joined; unix or unix:PATH: those of your own on this machine. "
            "[default: none; port 8427]",
        ),
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="auto, text or json. [default: auto: text on a terminal]"),
    ] = None,
    allow_root: Annotated[
        bool, typer.Option("--allow-root", help="Run as root; jobs run as others all the same.")
    ] = False,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="Settings, after those of the machine and the user."),
    ] = None,
) -> None:
    """Run the server: controller, scheduler, REST interface and a worker for this machine.

    Settings come from rota.toml, the environment and these options, in this order; `rota config check`
    shows them all. Ctrl-C ends the server; jobs that run go on, and are found again at its next start.
    """
    from rota.cli.agents.agent import address_and_port
    from rota.cli.services.server import serve

    agents_address, agents_port = address_and_port(agents)
    flags: dict[str, object] = {
        "server.data": data,
        "server.address": address,
        "server.port": port,
        "server.database": database,
        "server.policy": policy,
        "server.tls.certificate": tls_cert,
        "server.tls.key": tls_key,
        "server.tls.self_signed": tls_self_signed or None,
        "agents.address": agents_address,
        "agents.port": agents_port,
        "worker.allow_root": allow_root or None,
        "logs.format": log_format,
    }
    raise typer.Exit(serve(config or (), flags))
