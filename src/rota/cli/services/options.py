"""Options of the schedulers, as structs."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer

from rota.cli.options import PolicyFile

ServiceLogFormat = Annotated[
    str, typer.Option(metavar="FORMAT", help="Log format: auto, text or json. auto is text on a terminal.")
]


class StatelessSchedulerOptions(NamedTuple):
    tokens: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Controllers and their tokens, one NAME TOKEN per line. Only you may have access."
            " [required]",
        ),
    ] = None
    agents: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Address for agents; unix or unix:PATH for a socket that only your own agents on this"
            " machine can use. [default: unix; with --authority or --agents-ca 127.0.0.1:8427]",
        ),
    ] = None
    controllers: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address for controllers.")] = (
        "127.0.0.1:8428"
    )
    rest: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address for results of agents, /healthz and /metrics.")
    ] = "127.0.0.1:8426"
    policy: PolicyFile = None
    lost_after: Annotated[
        str, typer.Option(metavar="DURATION", help="A silent agent counts as lost after this time.")
    ] = "60s"
    abandoned_after: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="A controller that stays disconnected is given up after this time.",
        ),
    ] = "1h"
    tls_cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificate for --controllers and --rest, PEM.")
    ] = None
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Key of --tls-cert, PEM.")] = None
    authority: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Folder of `rota scheduler authority`, by which agents join."),
    ] = None
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="URL at which agents reach --rest. [default: made from the host name]"
        ),
    ] = None
    agents_cert: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Certificate for --agents, PEM, with the name server.rota.internal."
        ),
    ] = None
    agents_key: Annotated[str | None, typer.Option(metavar="FILE", help="Key of --agents-cert, PEM.")] = None
    agents_ca: Annotated[
        str | None, typer.Option(metavar="FILE", help="Certificate authority of the agents, PEM.")
    ] = None
    log_format: ServiceLogFormat = "auto"


class KubeServiceOptions(NamedTuple):
    """Besides KubeOptions, which questions about pods take, too."""

    leader_elect: Annotated[
        bool, typer.Option(help="Of several replicas, only the holder of the lease schedules.")
    ] = True
    lease_seconds: Annotated[
        int,
        typer.Option(
            metavar="SECONDS",
            min=3,
            max=3600,
            help="Another replica takes over after the leader was silent for this long.",
        ),
    ] = 15
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", "-p", metavar="FILE", help="Scheduling policy. [default: like kube-scheduler]"
        ),
    ] = None
    metrics_bind_address: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Address for /healthz, /readyz and /metrics; 0 for none.")
    ] = "127.0.0.1:8429"
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print what one cycle would do, and exit: 2 if a pod would wait."),
    ] = False
    log_format: ServiceLogFormat = "auto"
