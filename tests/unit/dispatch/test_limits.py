"""To what a task is held: its limits, what it stated, and what its sandbox takes on top."""

from __future__ import annotations

import pytest

from rota.dispatch.dispatcher import limits_of, start_of
from rota.lifecycle.state import JobState, LiveTask, TaskPhase
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.policy import Defaults, PlatformDefaults
from rota.model.resources import Resources
from rota.model.run import JobSpec, Run
from rota.model.task import TaskSpec
from rota.snapshot.defaults import admit

pytestmark = pytest.mark.covers("decide-15")

MIB = 1 << 20
OVERHEAD = Resources(250, 160 * MIB, 10)


@pytest.mark.parametrize(
    ("spec", "limits"),
    [
        (TaskSpec(), Resources()),
        (TaskSpec(requests=Resources(1000, MIB, 7)), Resources(0, MIB, 7)),
        (TaskSpec(requests=Resources(1000, MIB), limits=Resources(2000, 2 * MIB)), Resources(2000, 2 * MIB)),
        (TaskSpec(requests=Resources(1000, MIB, 7), unlimited=("memory", "storage")), Resources()),
        (TaskSpec(overhead=OVERHEAD), Resources()),
        (
            TaskSpec(requests=Resources(1000, MIB, 7), limits=Resources(2000), overhead=OVERHEAD),
            Resources(2250, 161 * MIB, 17),
        ),
    ],
)
def test_what_a_task_may_use_at_most(spec: TaskSpec, limits: Resources) -> None:
    assert limits_of(spec) == limits


def test_a_job_that_said_nothing_has_its_share_of_the_cpu_and_no_limit() -> None:
    defaults = Defaults(runtimes=(("kata", OVERHEAD),))
    spec = TaskSpec(runtime="kata", left_open=("cpu", "memory", "gpu", "others"))
    template = admit(JobTemplate((TaskGroup(spec),)), defaults)
    live = LiveTask(0, 1, NodeName("n1"), TaskPhase.BOUND, bound_ms=0)
    start = start_of(JobState(JobId("1"), 1, JobSpec(template, Run(("x",))), 0, live=(live,)), live)
    assert (start.cpu_share_milli, start.limits) == (1250, Resources())


def test_a_platforms_limits_hold() -> None:
    platform = PlatformDefaults(Resources(500, MIB), Resources(2000, 4 * MIB))
    spec = TaskSpec(platform="small", left_open=("cpu", "memory", "gpu", "others"))
    [group] = admit(JobTemplate((TaskGroup(spec),)), Defaults(platforms=(("small", platform),))).groups
    assert limits_of(group.spec) == Resources(2000, 4 * MIB)
