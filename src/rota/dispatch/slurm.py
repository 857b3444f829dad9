"""What scripts that were written for Slurm find: their variables, and the names of their output files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from rota.lifecycle.state import JobState, LiveTask
from rota.model.ids import NodeName
from rota.model.run import Run

_PATTERN = re.compile(r"%(?P<width>\d{0,2})(?P<letter>[AajJNntux%])", re.ASCII)


def slurm_variables(state: JobState, task: LiveTask, hosts: Sequence[NodeName]) -> dict[str, str]:
    spec = state.spec
    nodes = sorted(set(hosts))
    array, _, index = state.id.partition(".")
    cpus = _cpus(state, task.rank)
    own_number = number_of(state)
    by_node = Counter(hosts)
    values = {
        "SLURM_JOB_ID": own_number,
        "SLURM_JOBID": own_number,
        "SLURM_JOB_NAME": spec.name,
        "SLURM_JOB_PARTITION": spec.template.queue,
        "SLURM_JOB_ACCOUNT": spec.template.project,
        "SLURM_JOB_USER": spec.template.user,
        "SLURM_NTASKS": str(spec.template.task_count),
        "SLURM_NPROCS": str(spec.template.task_count),
        "SLURM_PROCID": str(task.rank),
        "SLURM_LOCALID": str(
            sum(1 for other in state.live if other.node == task.node and other.rank < task.rank)
        ),
        "SLURM_NNODES": str(len(nodes)),
        "SLURM_JOB_NUM_NODES": str(len(nodes)),
        "SLURM_JOB_NODELIST": ",".join(nodes),
        "SLURM_NODELIST": ",".join(nodes),
        "SLURM_NODEID": str(nodes.index(task.node)),
        "SLURMD_NODENAME": task.node,
        "SLURM_CPUS_PER_TASK": str(cpus),
        "SLURM_CPUS_ON_NODE": str(
            sum(_cpus(state, other.rank) for other in state.live if other.node == task.node)
        ),
        "SLURM_TASKS_PER_NODE": _repeated([by_node[node] for node in nodes]),
    }
    if state.attempt > 1:
        values["SLURM_RESTART_COUNT"] = str(state.attempt - 1)
    if index:
        values["SLURM_ARRAY_JOB_ID"] = array
        values["SLURM_ARRAY_TASK_ID"] = index
    return values


def number_of(state: JobState) -> str:
    """Each job of an array has a number of its own, as in Slurm: the first one that of the array."""
    return str(state.number) if "." in state.id else state.id


def with_output_files(state: JobState, task: LiveTask) -> Run:
    """What the task executes, with the files that it writes to by their full names."""
    run = state.spec.run
    if not (run.stdout or run.stderr):
        return run
    return replace(
        run,
        stdout=file_name(run.stdout, state, task),
        stderr=file_name(run.stderr, state, task),
        # Of several tasks that begin a file anew, each would lose what the others wrote.
        append=run.append or state.spec.template.task_count > 1,
    )


def file_name(pattern: str, state: JobState, task: LiveTask) -> str:
    array, _, index = state.id.partition(".")
    nodes = sorted({other.node for other in state.live})
    values = {
        "A": array,
        "a": index or "0",
        "j": number_of(state),
        "J": number_of(state),
        "N": str(task.node).partition(".")[0],
        "n": str(nodes.index(task.node)),
        "t": str(task.rank),
        "u": state.spec.template.user,
        "x": state.spec.name.replace("/", "_"),
        "%": "%",
    }
    return _PATTERN.sub(lambda found: _padded(values[found["letter"]], found["width"]), pattern)


def _padded(value: str, width: str) -> str:
    """With zeros, as Slurm does with numbers: at most ten digits."""
    return value.zfill(min(10, int(width))) if width and value.isdecimal() else value


def _cpus(state: JobState, rank: int) -> int:
    return max(1, state.spec.template.spec_of(rank).requests.cpu_milli // 1000)


def _repeated(counts: Sequence[int]) -> str:
    """Equal ones side by side are written once: `2(x3),1`."""
    parts: list[tuple[int, int]] = []
    for count in counts:
        if parts and parts[-1][0] == count:
            parts[-1] = count, parts[-1][1] + 1
        else:
            parts.append((count, 1))
    return ",".join(f"{count}(x{times})" if times > 1 else str(count) for count, times in parts)
