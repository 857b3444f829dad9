"""Pods as arguments: `pod/NAME` is one of a live Kubernetes cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import typer

_PREFIXES = ("pod/", "pods/", "po/")


@dataclass(frozen=True)
class ClusterOptions:
    """Which cluster, and how its scheduler was told to work, as they were given."""

    namespace: str | None
    kubeconfig: str | None
    scheduler_name: str
    gang_label: str
    min_available_annotation: str
    policy: str | None


def without_pods(options: ClusterOptions) -> None:
    """What is said of pods where none is asked about was meant for another question."""
    for option, given in (("--namespace", options.namespace), ("--kubeconfig", options.kubeconfig)):
        if given is not None:
            raise typer.BadParameter("is about pods; ask about one as pod/NAME", param_hint=option)


def pod_named(text: str) -> str | None:
    """The pod that is meant; None: it is no pod."""
    for prefix in _PREFIXES:
        if text.startswith(prefix):
            name = text.removeprefix(prefix)
            if not name or "/" in name:
                raise typer.BadParameter(
                    f"'{text}' names no pod; write pod/NAME, and its namespace as --namespace"
                )
            return name
    return None


def pods_named(texts: Sequence[str]) -> list[str]:
    """The pods that are meant; none of them: no pods are."""
    pods = [pod for text in texts if (pod := pod_named(text)) is not None]
    if pods and len(pods) < len(texts):
        raise typer.BadParameter("ask about pods, or about jobs of a server, but not about both at once")
    return pods
