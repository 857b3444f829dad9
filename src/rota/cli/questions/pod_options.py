"""Pods as arguments: `pod/NAME` is a pod of a running Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from rota.cli.kube_options import KubeOptions

_PREFIXES = ("pod/", "pods/", "po/")


Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Namespace of the pod. [default: that of the kubeconfig's current context]",
    ),
]


def without_pods(namespace: str | None, kube: KubeOptions) -> None:
    """Refuses options of pods where no pod is named: the user meant another question."""
    for option, value in (("--namespace", namespace), ("--kubeconfig", kube.kubeconfig)):
        if value is not None:
            raise typer.BadParameter("this option is for pods; write the pod as pod/NAME", param_hint=option)


def pod_named(text: str) -> str | None:
    """The name of the pod; None: the text doesn't name a pod."""
    for prefix in _PREFIXES:
        if text.startswith(prefix):
            name = text.removeprefix(prefix)
            if not name or "/" in name:
                raise typer.BadParameter(
                    f"'{text}' names no pod; write pod/NAME, and give its namespace with --namespace"
                )
            return name
    return None


def pods_named(texts: Sequence[str]) -> list[str]:
    """The names of the pods; empty: the texts name jobs."""
    pods = [pod for text in texts if (pod := pod_named(text)) is not None]
    if pods and len(pods) < len(texts):
        raise typer.BadParameter("a command takes either pods or jobs, not both")
    return pods
