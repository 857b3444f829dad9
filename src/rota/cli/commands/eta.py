"""`rota eta`: of jobs that a server has, or of pods of a Kubernetes cluster."""

from __future__ import annotations

from rota.cli.command_list import new_app
from rota.cli.options import (
    GANG_LABEL,
    MIN_AVAILABLE_ANNOTATION,
    SCHEDULER_NAME,
    GangLabel,
    JobArguments,
    Kubeconfig,
    MinAvailableAnnotation,
    Output,
    PodNamespace,
    PolicyFile,
    SchedulerName,
)
from rota.cli.output import Form
from rota.cli.questions.pod_options import ClusterOptions, pods_named, without_pods

app = new_app()


@app.command()
def eta(
    jobs: JobArguments,
    output: Output = Form.TABLE,
    namespace: PodNamespace = None,
    kubeconfig: Kubeconfig = None,
    scheduler_name: SchedulerName = SCHEDULER_NAME,
    gang_label: GangLabel = GANG_LABEL,
    min_available_annotation: MinAvailableAnnotation = MIN_AVAILABLE_ANNOTATION,
    policy: PolicyFile = None,
) -> None:
    """Say when waiting jobs will start: expected, and by when in nine of ten cases.

    pod/NAME is a pod of a Kubernetes cluster; the options below --output are about it.
    """
    options = ClusterOptions(
        namespace, kubeconfig, scheduler_name, gang_label, min_available_annotation, policy
    )
    if pods := pods_named(jobs):
        from rota.cli.questions.pods import eta_pods

        eta_pods(pods, options, output)
    else:
        from rota.cli.jobs.jobs import eta

        without_pods(options)
        eta(jobs, output)
