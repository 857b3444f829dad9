"""`rota why`: one job of a server or of files, or one pod of a Kubernetes cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.completion import job_ids
from rota.cli.options import (
    GANG_LABEL,
    MIN_AVAILABLE_ANNOTATION,
    SCHEDULER_NAME,
    GangLabel,
    History,
    Kubeconfig,
    MaxFileSize,
    MinAvailableAnnotation,
    Now,
    OptionalCluster,
    OptionalJobs,
    Output,
    PodNamespace,
    PolicyFile,
    SchedulerName,
    both_or_neither,
)
from rota.cli.output import Form
from rota.cli.questions.pod_options import ClusterOptions, pod_named, without_pods

app = new_app()


@app.command()
def why(
    job: Annotated[
        str,
        typer.Argument(
            metavar="JOB",
            help="A job, or one of its tasks; or pod/NAME, of a Kubernetes cluster.",
            autocompletion=job_ids,
        ),
    ],
    cluster: OptionalCluster = None,
    jobs: OptionalJobs = None,
    policy: PolicyFile = None,
    now: Now = None,
    output: Output = Form.TABLE,
    max_file_size: MaxFileSize = "64Mi",
    history: History = None,
    namespace: PodNamespace = None,
    kubeconfig: Kubeconfig = None,
    scheduler_name: SchedulerName = SCHEDULER_NAME,
    gang_label: GangLabel = GANG_LABEL,
    min_available_annotation: MinAvailableAnnotation = MIN_AVAILABLE_ANNOTATION,
) -> None:
    """Explain one job: verdicts, scores, what would help.

    pod/NAME is a pod of a Kubernetes cluster; the options from --namespace on are about it.
    """
    files = both_or_neither(cluster, jobs)
    pod = pod_named(job) if files is None else None
    options = ClusterOptions(
        namespace, kubeconfig, scheduler_name, gang_label, min_available_annotation, policy
    )
    if pod is not None:
        from rota.cli.questions.pods import why_pod

        for option, given in (("--now", now), ("--history", history)):
            if given is not None:
                raise typer.BadParameter("is about files; a pod is asked about as it is", param_hint=option)
        why_pod(pod, options, output)
        return
    without_pods(options)
    if files is None:
        from rota.cli.questions.why_from_server import why_of_server

        why_of_server(job, output)
    else:
        from rota.cli.questions import why_from_files as command
        from rota.cli.questions.files import Files

        command.why(job, Files(*files, policy, now, max_file_size, history), output)
