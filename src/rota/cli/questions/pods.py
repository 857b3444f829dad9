"""`rota why pod/NAME` and `rota eta pod/NAME`: asked of a live Kubernetes cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import typer

from rota.api.jobs import EstimateDocument
from rota.cli.exits import EX_BAD_INPUT, EX_NOT_ALLOWED, EX_NOT_FOUND, EX_UNREACHABLE
from rota.cli.kube_options import KubeOptions, scheduler_options
from rota.cli.output import OutputFormat, show, talk, write_document
from rota.cli.plugin_faults import prints_as_talk, report
from rota.cli.questions.eta import show_estimates
from rota.clock import now_ms
from rota.kube.api.errors import BadAnswer, Forbidden, KubeError, NoCredentials, Unauthorised, Unreachable
from rota.kube.asking.answers import NoSuchPod, PodAnswer
from rota.kube.asking.questions import LiveCluster, asking
from rota.kube.asking.starts import start_of
from rota.kube.scheduling.run import KubeSchedulerOptions
from rota.server.logs import configure_logs
from rota.views.times import Clock

T = TypeVar("T")


def why_pod(
    name: str, namespace: str | None, options: KubeOptions, policy: str | None, output: OutputFormat
) -> None:
    from rota.cli.questions.pod_tables import pod_tables, pod_why_document

    at_ms = now_ms()

    async def ask(cluster: LiveCluster) -> PodAnswer:
        return await cluster.why(cluster.named(name, namespace))

    answer = _asked(scheduler_options(options, policy), at_ms, ask)
    if answer.view is not None:
        report(answer.view.explanation.faults)
    if output.is_table:
        show(pod_tables(answer, Clock(at_ms), wide=output is OutputFormat.WIDE))
    else:
        write_document(pod_why_document(answer, at_ms), output)


def eta_pods(
    names: Sequence[str],
    namespace: str | None,
    options: KubeOptions,
    policy: str | None,
    output: OutputFormat,
) -> None:
    async def ask(cluster: LiveCluster) -> list[EstimateDocument]:
        found = [cluster.named(name, namespace) for name in names]
        return [await start_of(cluster, name) for name in found]

    show_estimates(_asked(scheduler_options(options, policy), now_ms(), ask), "pod", output)


def _asked(options: KubeSchedulerOptions, at_ms: int, ask: Callable[[LiveCluster], Awaitable[T]]) -> T:
    configure_logs("console")

    async def asked() -> T:
        async with asking(options, at_ms) as cluster:
            return await ask(cluster)

    try:
        with prints_as_talk():
            return asyncio.run(asked())
    except (NoSuchPod, KubeError) as error:
        # In one line, however long: the rule that is missing comes last.
        talk(" ".join(str(error).split()))
        raise typer.Exit(_code_of(error)) from None


def _code_of(error: NoSuchPod | KubeError) -> int:
    match error:
        case NoSuchPod():
            return EX_NOT_FOUND
        case Forbidden() | Unauthorised() | NoCredentials():
            return EX_NOT_ALLOWED
        case Unreachable() | BadAnswer():
            return EX_UNREACHABLE
        case _:
            return EX_UNREACHABLE if error.may_pass else EX_BAD_INPUT
