"""`rota kube-scheduler`: reads its options and starts the scheduler."""

from __future__ import annotations

import gc
import sys

import typer
from msgspec.structs import replace

from rota.cli.agents.agent import address_and_port
from rota.cli.exits import EX_BAD_INPUT, EX_OK, EX_WAITING
from rota.cli.kube_options import KubeOptions, scheduler_options
from rota.cli.services.options import KubeServiceOptions


def schedule_pods(kube: KubeOptions, service: KubeServiceOptions) -> int:
    """The exit code, once the scheduler has ended."""
    import uvloop

    from rota.heap import keep_the_heap_small
    from rota.intake.errors import InputError
    from rota.kube.api.errors import KubeError
    from rota.kube.api.leader import LeaseTimes
    from rota.kube.scheduling import run
    from rota.server.logs import configure_logs
    from rota.signals import have_stopped

    log_format = service.log_format
    if log_format not in ("auto", "text", "json"):
        raise typer.BadParameter(f"'{log_format}' is none of auto, text and json", param_hint="--log-format")
    host, port = _metrics_address(service.metrics_bind_address)
    options = replace(
        scheduler_options(kube, service.policy),
        leader_elect=service.leader_elect,
        metrics_host=host,
        metrics_port=port,
        lease_times=LeaseTimes.of_length(service.lease_seconds),
    )
    is_text = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    configure_logs("console" if is_text else "json")
    # The objects of a cluster live long, so there is little garbage among them.
    gc.set_threshold(50_000, 20, 100)
    keep_the_heap_small()
    problems: list[BaseException] = []
    something_waits = False
    try:
        if service.dry_run:
            found = uvloop.run(run.dry_run(options))
            for line in found.lines:
                typer.echo(line)
            something_waits = found.something_waits
        else:
            uvloop.run(run.serve(options))
            have_stopped()
    except* (InputError, KubeError, OSError) as group:
        problems += _errors_in(group)
    for problem in problems:
        print(f"rota: {problem}", file=sys.stderr)
    if problems:
        return EX_BAD_INPUT
    return EX_WAITING if something_waits else EX_OK


def _errors_in(error: BaseException) -> list[BaseException]:
    """The errors of all tasks."""
    if isinstance(error, BaseExceptionGroup):
        return [one for inner in error.exceptions for one in _errors_in(inner)]
    return [error]


def _metrics_address(text: str) -> tuple[str, int | None]:
    if text == "0":
        return "", None
    host, port = address_and_port(text)
    if host is None or port is None or port > 65_535:
        raise typer.BadParameter(
            f"'{text}' is not an address and port; write it like 127.0.0.1:8429, or 0 for none",
            param_hint="--metrics-bind-address",
        )
    return host, port
