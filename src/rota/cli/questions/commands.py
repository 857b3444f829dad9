"""Commands that ask the engine: their arguments and options."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import TakesCommandLine, command_line, new_app
from rota.cli.completion import job_ids
from rota.cli.exits import EX_BAD_INPUT, EX_OK, EX_REFUSED, EX_WAITING
from rota.cli.job_options import JobOptions
from rota.cli.kube_options import KubeOptions
from rota.cli.option_structs import expand_options
from rota.cli.options import DryRun, JobArgument, JobArguments, Output, PolicyFile
from rota.cli.output import OutputFormat
from rota.cli.questions.options import (
    History,
    MaxFileSize,
    Now,
    OptionalCluster,
    OptionalJobs,
    Record,
    SeveralJobs,
    both_or_neither,
)
from rota.cli.questions.pod_options import Namespace, pod_named, pods_named, without_pods

app = new_app()


@app.command()
@expand_options
def why(
    job: Annotated[
        str,
        typer.Argument(
            metavar="JOB",
            help="A job, or one of its tasks; or pod/NAME for a pod of a Kubernetes cluster.",
            autocompletion=job_ids,
        ),
    ],
    cluster: OptionalCluster = None,
    jobs: OptionalJobs = None,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = OutputFormat.TABLE,
    max_file_size: MaxFileSize = "64Mi",
    history: History = None,
    namespace: Namespace = None,
    *,
    kube: KubeOptions,
) -> None:
    """Explain why a job waits, or why it was placed where it is.

    The answer shows the verdict of each node, the scores, and changes that would let the job start.

    The options --namespace to --min-available-annotation apply to pod/NAME, a pod of a Kubernetes cluster.
    """
    files = both_or_neither(cluster, jobs)
    pod = pod_named(job) if files is None else None
    if pod is not None:
        from rota.cli.questions.pods import why_pod

        for option, value in (("--now", now), ("--history", history)):
            if value is not None:
                raise typer.BadParameter("this option is for files, not for pods", param_hint=option)
        why_pod(pod, namespace, kube, policy, output)
        return
    without_pods(namespace, kube)
    if files is None:
        from rota.cli.questions.why_from_server import why_of_server

        why_of_server(job, output)
    else:
        from rota.cli.questions import why_from_files
        from rota.cli.questions.files import Files

        why_from_files.why(job, Files(*files, policy, now, max_file_size, history), output)


@app.command()
@expand_options
def eta(
    jobs: JobArguments,
    output: Output = OutputFormat.TABLE,
    namespace: Namespace = None,
    policy: PolicyFile = None,
    *,
    kube: KubeOptions,
) -> None:
    """Estimate when waiting jobs will start: the expected time, and a time that holds in nine of ten cases.

    pod/NAME is a pod of a Kubernetes cluster. The options after --output apply to pods.
    """
    if pods := pods_named(jobs):
        from rota.cli.questions.pods import eta_pods

        eta_pods(pods, namespace, kube, policy, output)
    else:
        from rota.cli.questions import eta as work

        without_pods(namespace, kube)
        work.eta(jobs, output)


@app.command(cls=TakesCommandLine)
@expand_options
def plan(
    ctx: typer.Context,
    options: JobOptions,
    first: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|CLUSTER",
            help="Jobs for a server to plan; or, followed by JOBS, a file of nodes and offers, as Rota's YAML"
            " or Kubernetes manifests. - reads standard input.",
        ),
    ] = None,
    jobs: SeveralJobs = None,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = OutputFormat.TABLE,
    max_file_size: MaxFileSize = "64Mi",
    history: History = None,
    record: Record = None,
) -> None:
    """Show which jobs would start where, which would wait, and why.

    With more files, Rota plans for the cluster in the first and the jobs in the others. With one file, or a
    command after --, a server says what it would do with these jobs, and which other planned starts would
    change. Nothing is submitted.

    The exit status is 0 if every job is placed, 2 if a job waits, 1 on bad input. Of Kubernetes manifests,
    what can't be read is listed, the rest is planned, and the exit status is 1.
    """
    if not jobs:
        from rota.cli.questions.plan_from_server import plan_submission

        all_placed = plan_submission(first, command_line(ctx), options, output)
        raise typer.Exit(EX_OK if all_placed else EX_WAITING)
    else:
        from rota.cli.questions import plan_from_files
        from rota.cli.questions.files import Files
        from rota.cli.questions.plan_from_files import Planned

        files = Files(str(first), jobs[0], policy, now, max_file_size, history, tuple(jobs[1:]))
        planned = plan_from_files.plan(files, output, record)
        exits = {Planned.PLACED: EX_OK, Planned.WAITS: EX_WAITING, Planned.UNREAD: EX_BAD_INPUT}
        raise typer.Exit(exits[planned])


@app.command()
def extend(
    job: JobArgument,
    limit: Annotated[
        str,
        typer.Argument(
            metavar="LIMIT",
            help="New time limit, from the start of the job, as in 4h. +1h adds to the current limit.",
        ),
    ],
    cluster: OptionalCluster = None,
    jobs: OptionalJobs = None,
    dry_run: DryRun = False,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = OutputFormat.TABLE,
    max_file_size: MaxFileSize = "64Mi",
) -> None:
    """Raise the time limit of a running job, or show what prevents it, and the cost.

    With files, Rota only answers the question. The exit status is 0 if the new limit is granted, 2 if it is
    refused, 1 on bad input.
    """
    files = both_or_neither(cluster, jobs)
    if files is None:
        from rota.cli.questions.extend_from_server import extend_on_server

        is_granted = extend_on_server(job, limit, output, dry_run=dry_run)
    else:
        from rota.cli.questions import extend_from_files
        from rota.cli.questions.files import Files

        is_granted = extend_from_files.extend(job, limit, Files(*files, policy, now, max_file_size), output)
    raise typer.Exit(EX_OK if is_granted else EX_REFUSED)
