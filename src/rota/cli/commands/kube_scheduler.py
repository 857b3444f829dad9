"""`rota kube-scheduler`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import (
    GANG_LABEL,
    MIN_AVAILABLE_ANNOTATION,
    SCHEDULER_NAME,
    GangLabel,
    Kubeconfig,
    MinAvailableAnnotation,
    SchedulerName,
)

app = new_app()


@app.command("kube-scheduler")
def kube_scheduler(
    scheduler_name: SchedulerName = SCHEDULER_NAME,
    gang_label: GangLabel = GANG_LABEL,
    min_available_annotation: MinAvailableAnnotation = MIN_AVAILABLE_ANNOTATION,
    kubeconfig: Kubeconfig = None,
    leader_elect: Annotated[
        bool, typer.Option(help="Of several replicas one schedules: the one that holds the lease.")
    ] = True,
    lease_seconds: Annotated[
        int,
        typer.Option(
            metavar="SECONDS", min=3, max=3600, help="After so long without the leader another replica leads."
        ),
    ] = 15,
    policy: Annotated[
        str | None,
        typer.Option("--policy", "-p", metavar="FILE", help="How to decide. [default: as kube-scheduler]"),
    ] = None,
    metrics_bind_address: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="For /healthz, /readyz and /metrics; 0: nowhere.")
    ] = "127.0.0.1:8429",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be done now, and do nothing.")
    ] = False,
    log_format: Annotated[
        str, typer.Option(metavar="FORMAT", help="auto, text or json; auto: text on a terminal.")
    ] = "auto",
) -> None:
    """Schedule pods of a Kubernetes cluster: gangs as one, with reasons for whatever waits."""
    from rota.cli.services.kube_scheduler import schedule_pods

    raise typer.Exit(
        schedule_pods(
            scheduler_name=scheduler_name,
            gang_label=gang_label,
            min_available_annotation=min_available_annotation,
            kubeconfig=kubeconfig,
            leader_elect=leader_elect,
            lease_seconds=lease_seconds,
            policy=policy,
            metrics_bind_address=metrics_bind_address,
            dry_run=dry_run,
            log_format=log_format,
        )
    )
