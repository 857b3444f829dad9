"""`rota kube-scheduler`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app

app = new_app()


@app.command("kube-scheduler")
def kube_scheduler(
    scheduler_name: Annotated[
        str, typer.Option(metavar="NAME", help="Pods with this schedulerName are scheduled.")
    ] = "batch-scheduler",
    gang_label: Annotated[
        str, typer.Option(metavar="KEY", help="The label that names a pod's gang.")
    ] = "batch.scheduling.k8s.io/gang",
    min_available_annotation: Annotated[
        str,
        typer.Option(metavar="KEY", help="The annotation that says how many of a gang start together."),
    ] = "batch.scheduling.k8s.io/min-available",
    kubeconfig: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Which cluster. [default: KUBECONFIG, the pod's own account, or ~/.kube/config]",
        ),
    ] = None,
    leader_elect: Annotated[
        bool, typer.Option(help="Of several replicas one schedules: the one that holds the lease.")
    ] = True,
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
    from rota.cli.live.kube_scheduler import schedule_pods

    raise typer.Exit(
        schedule_pods(
            scheduler_name=scheduler_name,
            gang_label=gang_label,
            min_available_annotation=min_available_annotation,
            kubeconfig=kubeconfig,
            leader_elect=leader_elect,
            policy=policy,
            metrics_bind_address=metrics_bind_address,
            dry_run=dry_run,
            log_format=log_format,
        )
    )
