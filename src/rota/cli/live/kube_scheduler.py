"""`rota kube-scheduler`: its options put together, and the scheduler started with them."""

from __future__ import annotations

import gc
import re
import sys
from pathlib import Path

import typer

from rota.cli.live.agent import address_and_port

_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?", re.ASCII
)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)


def schedule_pods(
    *,
    scheduler_name: str,
    gang_label: str,
    min_available_annotation: str,
    kubeconfig: str | None,
    leader_elect: bool,
    policy: str | None,
    metrics_bind_address: str,
    dry_run: bool,
    log_format: str,
) -> int:
    """The exit code, once the scheduler has ended."""
    import uvloop

    from rota.intake.errors import InputError
    from rota.intake.kubernetes.pods import GangKeys
    from rota.kube import run
    from rota.kube.errors import KubeError
    from rota.server.logs import configure_logs

    if not _NAME.fullmatch(scheduler_name):
        raise typer.BadParameter(
            f"'{scheduler_name}' can't be a schedulerName; use lower-case letters, digits, dots and dashes",
            param_hint="--scheduler-name",
        )
    if log_format not in ("auto", "text", "json"):
        raise typer.BadParameter(f"'{log_format}' is none of auto, text and json", param_hint="--log-format")
    host, port = _metrics_address(metrics_bind_address)
    options = run.KubeSchedulerOptions(
        scheduler_name=scheduler_name,
        gang_keys=GangKeys(
            _key("--gang-label", gang_label), _key("--min-available-annotation", min_available_annotation)
        ),
        kubeconfig=kubeconfig,
        leader_elect=leader_elect,
        policy=None if policy is None else Path(policy),
        metrics_host=host,
        metrics_port=port,
    )
    is_text = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    configure_logs("console" if is_text else "json")
    # What is known of a cluster lives long: there is little garbage among it.
    gc.set_threshold(50_000, 20, 100)
    problems: list[BaseException] = []
    try:
        if dry_run:
            for line in uvloop.run(run.dry_run(options)):
                typer.echo(line)
        else:
            uvloop.run(run.serve(options))
    except* (InputError, KubeError, OSError) as group:
        problems += _errors_in(group)
    for problem in problems:
        print(f"rota: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _errors_in(error: BaseException) -> list[BaseException]:
    """Whatever several tasks failed with."""
    if isinstance(error, BaseExceptionGroup):
        return [one for inner in error.exceptions for one in _errors_in(inner)]
    return [error]


def _key(option: str, text: str) -> str:
    if not _KEY.fullmatch(text):
        raise typer.BadParameter(
            f"'{text}' is no key of Kubernetes; write it like example.com/name", param_hint=option
        )
    return text


def _metrics_address(text: str) -> tuple[str, int | None]:
    if text == "0":
        return "", None
    host, port = address_and_port(text)
    if host is None or port is None or port > 65_535:
        raise typer.BadParameter(
            f"'{text}' is no address and port; write it like 127.0.0.1:8429, or 0 for none",
            param_hint="--metrics-bind-address",
        )
    return host, port
