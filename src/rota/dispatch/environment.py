"""What a task finds in its environment: who it is, and who its peers are."""

from __future__ import annotations

from rota.dispatch.slurm import slurm_variables
from rota.lifecycle.state import JobState, LiveTask
from rota.model.ids import Labels, NodeName
from rota.model.quantities import format_gpu


def hosts_of(state: JobState) -> tuple[NodeName, ...]:
    """Of all tasks that have a node, by rank."""
    return tuple(task.node for task in state.live)


def environment_of(state: JobState, task: LiveTask) -> Labels:
    spec = state.spec
    hosts = hosts_of(state)
    values = {
        "ROTA_JOB_ID": state.id,
        "ROTA_JOB_NAME": spec.name,
        "ROTA_PROJECT": spec.template.project,
        "ROTA_QUEUE": spec.template.queue,
        "ROTA_RANK": str(task.rank),
        "ROTA_TASKS": str(spec.template.task_count),
        "ROTA_NODE": task.node,
        "ROTA_HOSTS": ",".join(hosts),
        "ROTA_ATTEMPT": str(state.attempt),
    }
    if spec.array_index is not None:
        values["ROTA_ARRAY_ID"] = state.id.partition(".")[0]
        values["ROTA_ARRAY_INDEX"] = str(spec.array_index)
    values |= _gpu_variables(state, task)
    if spec.run.slurm_names:
        values |= slurm_variables(state, task, hosts)
    return tuple(sorted(values.items()))


def _gpu_variables(state: JobState, task: LiveTask) -> dict[str, str]:
    """Who was given none sees none. HIP counts among those that ROCr leaves it."""
    devices = task.gpu_devices
    listed = ",".join(map(str, devices))
    values = {
        "CUDA_VISIBLE_DEVICES": listed,
        "ROCR_VISIBLE_DEVICES": listed,
        "HIP_VISIBLE_DEVICES": ",".join(map(str, range(len(devices)))),
    }
    gpu = state.spec.template.spec_of(task.rank).gpu
    if gpu.is_fraction:
        values["ROTA_GPU_SHARE"] = format_gpu(gpu.share_milli)
    return values
