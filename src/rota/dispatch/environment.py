"""What a task finds in its environment: who it is, and who its peers are."""

from __future__ import annotations

from rota.lifecycle.state import JobState, LiveTask
from rota.model.ids import Labels, NodeName


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
    if task.gpu_devices:
        values["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, task.gpu_devices))
    if spec.run.slurm_names:
        values |= _slurm(state, task, hosts)
    return tuple(sorted(values.items()))


def _slurm(state: JobState, task: LiveTask, hosts: tuple[NodeName, ...]) -> dict[str, str]:
    """As a script that was written for Slurm reads them."""
    spec = state.spec
    nodes = sorted(set(hosts))
    array, _, index = state.id.partition(".")
    cpus = spec.template.spec_of(task.rank).requests.cpu_milli // 1000
    values = {
        "SLURM_JOB_ID": array if index else state.id,
        "SLURM_JOBID": array if index else state.id,
        "SLURM_JOB_NAME": spec.name,
        "SLURM_JOB_PARTITION": spec.template.queue,
        "SLURM_JOB_ACCOUNT": spec.template.project,
        "SLURM_NTASKS": str(spec.template.task_count),
        "SLURM_PROCID": str(task.rank),
        "SLURM_LOCALID": str(
            sum(1 for other in state.live if other.node == task.node and other.rank < task.rank)
        ),
        "SLURM_NNODES": str(len(nodes)),
        "SLURM_JOB_NUM_NODES": str(len(nodes)),
        "SLURM_JOB_NODELIST": ",".join(nodes),
        "SLURM_NODEID": str(nodes.index(task.node)),
        "SLURM_CPUS_PER_TASK": str(max(1, cpus)),
    }
    if index:
        values["SLURM_ARRAY_JOB_ID"] = array
        values["SLURM_ARRAY_TASK_ID"] = index
    return values
