"""What scripts that were written for Slurm find."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from rota.dispatch.environment import environment_of
from rota.dispatch.slurm import file_name, slurm_variables, with_output_files
from rota.lifecycle.state import JobState, LiveTask, TaskPhase
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.resources import Resources
from rota.model.run import JobSpec, Run
from rota.model.task import TaskSpec

N1, N2, N3 = map(NodeName, ("n1.cluster", "n2.cluster", "n3.cluster"))


def a_state(
    id: str = "17", *nodes: NodeName, number: int = 17, cpu_milli: int = 2000, **run: object
) -> JobState:
    placed = nodes or (N1,)
    group = TaskGroup(TaskSpec(requests=Resources(cpu_milli=cpu_milli)), len(placed))
    spec = JobSpec(
        JobTemplate((group,), project="vision", user="ada"),
        replace(Run(command=("x",), slurm_names=True), **run),
        name="my/train",
    )
    live = tuple(
        LiveTask(rank, rank + 1, node, TaskPhase.BOUND, bound_ms=0) for rank, node in enumerate(placed)
    )
    return JobState(JobId(id), number, spec, 0, live=live)


def of(state: JobState, rank: int = 0) -> dict[str, str]:
    return slurm_variables(state, state.live[rank], [task.node for task in state.live])


def test_each_job_of_an_array_has_a_number_of_its_own() -> None:
    first, fourth = of(a_state("571.0", number=571)), of(a_state("571.3", number=574))
    assert [one["SLURM_JOB_ID"] for one in (first, fourth)] == ["571", "574"]
    assert {one["SLURM_ARRAY_JOB_ID"] for one in (first, fourth)} == {"571"}
    assert fourth["SLURM_ARRAY_TASK_ID"] == "3"
    assert of(a_state())["SLURM_JOB_ID"] == "17"


def test_what_is_on_a_node() -> None:
    state = a_state("17", N1, N1, N2, N2, N3)
    found = of(state, 2)
    assert found["SLURM_TASKS_PER_NODE"] == "2(x2),1"
    assert (found["SLURM_CPUS_ON_NODE"], found["SLURM_CPUS_PER_TASK"]) == ("4", "2")
    assert (found["SLURMD_NODENAME"], found["SLURM_NODEID"], found["SLURM_LOCALID"]) == (N2, "1", "0")
    assert of(a_state(cpu_milli=0))["SLURM_CPUS_ON_NODE"] == "1"


def test_a_restart_is_counted() -> None:
    assert "SLURM_RESTART_COUNT" not in of(a_state())
    assert of(replace(a_state(), attempt=3))["SLURM_RESTART_COUNT"] == "2"


def test_only_those_who_ask_have_them() -> None:
    plain = a_state(slurm_names=False)
    assert not [name for name, _ in environment_of(plain, plain.live[0]) if name.startswith("SLURM")]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("slurm-%j.out", "slurm-574.out"),
        ("%A_%a.%t", "571_3.0"),
        ("%4a-%x-%u", "0003-my_train-ada"),
        ("%N/%n", "n1/0"),
        ("100%%", "100%"),
        ("%z%", "%z%"),
    ],
)
def test_names_of_files(pattern: str, name: str) -> None:
    state = a_state("571.3", number=574)
    assert file_name(pattern, state, state.live[0]) == name


def test_files_are_named_for_the_task() -> None:
    state = a_state(stdout="%j.out", stderr="%t.err")
    run = with_output_files(state, state.live[0])
    assert (run.stdout, run.stderr, run.append) == ("17.out", "0.err", False)
    several = a_state("17", N1, N2, stdout="%j.out")
    assert with_output_files(several, several.live[1]).append, "none may drop what others wrote"
    plain = a_state()
    assert with_output_files(plain, plain.live[0]) is plain.spec.run
