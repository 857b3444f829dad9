"""`rota scheduler`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app

app = new_app()


@app.callback(invoke_without_command=True)
def scheduler(
    context: typer.Context,
    tokens: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Controllers and their tokens, NAME TOKEN a line; yours alone. [required]"
        ),
    ] = None,
    agents: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where agents dial; unix or unix:PATH: a socket for yours alone, on this machine. "
            "[default: unix; with --authority or --agents-ca 127.0.0.1:8427]",
        ),
    ] = None,
    controllers: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where controllers dial.")
    ] = "127.0.0.1:8428",
    rest: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="For results of agents, /healthz and /metrics.")
    ] = "127.0.0.1:8426",
    policy: Annotated[
        str | None,
        typer.Option("--policy", "-p", metavar="FILE", help="How to decide. [default: Rota's own way]"),
    ] = None,
    lost_after: Annotated[
        str, typer.Option(metavar="DURATION", help="When a silent agent counts as lost.")
    ] = "60s",
    abandoned_after: Annotated[
        str,
        typer.Option(metavar="DURATION", help="When a controller that is away is given up."),
    ] = "1h",
    tls_cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="For controllers and REST, PEM.")
    ] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Its key, PEM.")] = None,
    authority: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Of `rota scheduler authority`: agents join by it."),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where agents reach --rest. [default: by the host's name]"),
    ] = None,
    agents_cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="For agents, PEM; it names server.rota.internal.")
    ] = None,
    agents_key: Annotated[str | None, typer.Option(metavar="FILE", help="Its key, PEM.")] = None,
    agents_ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="Who vouches for agents, PEM.")
    ] = None,
    log_format: Annotated[
        str, typer.Option(metavar="FORMAT", help="auto, text or json; auto: text on a terminal.")
    ] = "auto",
) -> None:
    """Run a scheduler that keeps nothing, between controllers who own actions and agents who perform them.

    Controllers record what it decides before it is done. Killed and started anew, it finds its pool by the
    agents and its queue by the controllers; nothing is lost, and nothing runs twice.
    """
    if context.invoked_subcommand is not None:
        return
    if tokens is None:
        raise typer.BadParameter(
            "isn't given; name a file with a NAME and a TOKEN a line", param_hint="--tokens"
        )
    from rota.cli.services.scheduler import schedule

    raise typer.Exit(
        schedule(
            tokens=tokens,
            agents=agents,
            controllers=controllers,
            rest=rest,
            policy=policy,
            lost_after=lost_after,
            abandoned_after=abandoned_after,
            tls=(tls_cert, tls_key),
            authority=authority,
            public_url=public_url,
            agents_tls=(agents_cert, agents_key, agents_ca),
            log_format=log_format,
        )
    )


@app.command()
def authority(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="For this user alone; made if need be.")],
    host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Name or address of the scheduler, for a certificate; may be given again."
        ),
    ] = None,
) -> None:
    """Make an authority that agents of a scheduler join by. One that is there stays as it is.

    With --host, it also makes the certificate of --rest and --controllers, for a year; do it again to
    renew that.
    """
    from rota.cli.services.scheduler import make_authority

    raise typer.Exit(make_authority(folder, host or ()))
