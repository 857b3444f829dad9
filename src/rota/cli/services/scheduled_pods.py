"""How pods of a cluster are scheduled, from options, for whoever schedules them or asks about them."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from rota.intake.kubernetes.pods import GangKeys
from rota.kube.scheduling.run import KubeSchedulerOptions

_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?", re.ASCII
)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)


def scheduler_options(
    *,
    scheduler_name: str,
    gang_label: str,
    min_available_annotation: str,
    kubeconfig: str | None,
    policy: str | None,
) -> KubeSchedulerOptions:
    if not _NAME.fullmatch(scheduler_name):
        raise typer.BadParameter(
            f"'{scheduler_name}' can't be a schedulerName; use lower-case letters, digits, dots and dashes",
            param_hint="--scheduler-name",
        )
    return KubeSchedulerOptions(
        scheduler_name=scheduler_name,
        gang_keys=GangKeys(
            _key("--gang-label", gang_label), _key("--min-available-annotation", min_available_annotation)
        ),
        kubeconfig=kubeconfig,
        policy=None if policy is None else Path(policy),
    )


def _key(option: str, text: str) -> str:
    if not _KEY.fullmatch(text):
        raise typer.BadParameter(
            f"'{text}' is no key of Kubernetes; write it like example.com/name", param_hint=option
        )
    return text
