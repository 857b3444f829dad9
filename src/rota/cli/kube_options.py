"""How Rota schedules the pods of a Kubernetes cluster: options for the scheduler itself, and for questions
about its pods."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from rota.kube.scheduling.run import KubeSchedulerOptions

_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?", re.ASCII
)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)


class KubeOptions(NamedTuple):
    kubeconfig: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Kubeconfig of the cluster."
            " [default: KUBECONFIG, the pod's service account, or ~/.kube/config]",
        ),
    ] = None
    scheduler_name: Annotated[
        str, typer.Option(metavar="NAME", help="schedulerName of the pods that Rota schedules.")
    ] = "batch-scheduler"
    gang_label: Annotated[str, typer.Option(metavar="KEY", help="Label that names the gang of a pod.")] = (
        "batch.scheduling.k8s.io/gang"
    )
    min_available_annotation: Annotated[
        str, typer.Option(metavar="KEY", help="Annotation that says how many pods of a gang start together.")
    ] = "batch.scheduling.k8s.io/min-available"


def scheduler_options(options: KubeOptions, policy: str | None) -> KubeSchedulerOptions:
    from rota.kube.scheduling.run import KubeSchedulerOptions
    from rota.kube_objects.pods import GangKeys

    name = options.scheduler_name
    if not _NAME.fullmatch(name):
        raise typer.BadParameter(
            f"'{name}' can't be a schedulerName; use lower-case letters, digits, dots and dashes",
            param_hint="--scheduler-name",
        )
    return KubeSchedulerOptions(
        scheduler_name=name,
        gang_keys=GangKeys(
            _key("--gang-label", options.gang_label),
            _key("--min-available-annotation", options.min_available_annotation),
        ),
        kubeconfig=options.kubeconfig,
        policy=None if policy is None else Path(policy),
    )


def _key(option: str, text: str) -> str:
    if not _KEY.fullmatch(text):
        raise typer.BadParameter(
            f"'{text}' is not a Kubernetes label key; write it like example.com/name", param_hint=option
        )
    return text
