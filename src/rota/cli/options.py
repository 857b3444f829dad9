"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.completion import job_ids
from rota.cli.output import Form, ListForm

Cluster = Annotated[
    str,
    typer.Argument(
        metavar="CLUSTER", help="Nodes and offers: Rota's YAML, or Kubernetes manifests; - is stdin."
    ),
]
OptionalCluster = Annotated[
    str | None,
    typer.Argument(
        metavar="CLUSTER",
        help="Ask of files instead of a server. Nodes and offers: Rota's YAML, or Kubernetes manifests;"
        " - is stdin.",
    ),
]
OptionalJobs = Annotated[
    str | None, typer.Argument(metavar="JOBS", help="With CLUSTER: jobs, in the same forms.")
]
PolicyFile = Annotated[
    str | None,
    typer.Option("--policy", "-p", metavar="FILE", help="How to decide. [default: Rota's own way]"),
]
Now = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Of files: decide as of this moment, as in 2026-05-01T12:00:00Z."
        " [default: the latest that the files speak of, or else the present]",
    ),
]
MaxFileSize = Annotated[
    str, typer.Option(metavar="SIZE", help="Of files: refuse larger ones.", show_default=True)
]
History = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Of files: past jobs to learn from, for estimated starts: a trace, or what"
        " `rota sim run --learnt` wrote.",
    ),
]
Record = Annotated[
    str | None,
    typer.Option(metavar="DIR", help="Record what is decided, and by what, for `rota replay`."),
]

Output = Annotated[Form, typer.Option("--output", "-o", help="Tables for people, or data.")]
ListOutput = Annotated[
    ListForm, typer.Option("--output", "-o", help="Tables for people, data, or names alone.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]

Start = Annotated[
    str, typer.Option(metavar="TIME", help="From when on: 2026-05-01T12:00:00Z, now, or 2h for in two hours.")
]
End = Annotated[str | None, typer.Option(metavar="TIME", help="Until when; or give --for.")]
Lasting = Annotated[
    str | None, typer.Option("--for", metavar="DURATION", help="For how long, as in 4h; or give --end.")
]

JobArgument = Annotated[
    str,
    typer.Argument(metavar="JOB", help="A job's id, as in 17 or 17.3, or its name.", autocompletion=job_ids),
]
JobArguments = Annotated[
    list[str],
    typer.Argument(
        metavar="JOB...",
        help="Jobs' ids or names; that of an array stands for all its jobs.",
        autocompletion=job_ids,
    ),
]

PodNamespace = Annotated[
    str | None,
    typer.Option(
        "--namespace", "-n", metavar="NAME", help="Of pod/NAME. [default: that of the kubeconfig's context]"
    ),
]
Kubeconfig = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Which Kubernetes cluster. [default: KUBECONFIG, the pod's own account, or ~/.kube/config]",
    ),
]
SchedulerName = Annotated[
    str, typer.Option(metavar="NAME", help="Pods with this schedulerName are scheduled by Rota.")
]
GangLabel = Annotated[str, typer.Option(metavar="KEY", help="The label that names a pod's gang.")]
MinAvailableAnnotation = Annotated[
    str, typer.Option(metavar="KEY", help="The annotation that says how many of a gang start together.")
]
SCHEDULER_NAME = "batch-scheduler"
GANG_LABEL = "batch.scheduling.k8s.io/gang"
MIN_AVAILABLE_ANNOTATION = "batch.scheduling.k8s.io/min-available"


def both_or_neither(cluster: str | None, jobs: str | None) -> tuple[str, str] | None:
    """The two files; None: a server is asked."""
    if cluster is None:
        return None
    if jobs is None:
        raise typer.BadParameter("with CLUSTER give JOBS too, or neither to ask a server", param_hint="JOBS")
    return cluster, jobs
