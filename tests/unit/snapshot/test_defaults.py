"""What is filled into a job when it comes in."""

import pytest
from msgspec.structs import replace

from rota.model.job import JobTemplate, TaskGroup
from rota.model.policy import NO_DEFAULTS, Defaults, PlatformDefaults, Policy
from rota.model.reasons import BeyondCapacity
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.snapshot.defaults import admit
from tests.builders import Cluster

DEFAULTS = Defaults(
    platforms=(
        ("ubuntu", PlatformDefaults(Resources(250, 512, extended=(("fpga", 1),)), Resources(1000, 2048))),
    ),
    runtimes=(("kata", Resources(cpu_milli=100, memory_bytes=64)),),
)


def admitted(spec: TaskSpec, defaults: Defaults = DEFAULTS) -> TaskSpec:
    [group] = admit(JobTemplate((TaskGroup(spec),)), defaults).groups
    return group.spec


@pytest.mark.covers("decide-2")
class TestRequests:
    def test_a_platform_gives_what_the_job_leaves_open(self) -> None:
        spec = admitted(TaskSpec(platform="ubuntu"))
        assert spec.requests == Resources(250, 512, extended=(("fpga", 1),))
        assert spec.limits == Resources(1000, 2048)

    def test_what_the_job_says_stands(self) -> None:
        own = Resources(cpu_milli=2000, extended=(("fpga", 3),))
        spec = admitted(TaskSpec(requests=own, platform="ubuntu"))
        assert spec.requests == Resources(2000, 512, extended=(("fpga", 3),))

    def test_every_resource_is_filled_in(self) -> None:
        all_of_it = Resources(1, 2, 3, 4, (("fpga", 5),))
        defaults = Defaults(platforms=(("full", PlatformDefaults(all_of_it, all_of_it)),))
        spec = admitted(TaskSpec(platform="full"), defaults)
        assert spec.requests == spec.limits == all_of_it
        assert admitted(TaskSpec(requests=Resources(9, 9, 9, 9), platform="full"), defaults).requests == (
            Resources(9, 9, 9, 9, (("fpga", 5),))
        )

    def test_a_limit_without_a_request_is_the_request_before_the_platforms(self) -> None:
        spec = admitted(TaskSpec(limits=Resources(cpu_milli=700), platform="ubuntu"))
        assert spec.requests.cpu_milli == 700
        assert spec.requests.memory_bytes == 512
        assert spec.limits == Resources(700, 2048)

    def test_a_request_is_not_raised_to_its_limit(self) -> None:
        spec = admitted(TaskSpec(requests=Resources(100), limits=Resources(700)))
        assert spec.requests.cpu_milli == 100

    @pytest.mark.parametrize("platform", ["", "windows"])
    def test_a_platform_nobody_knows_gives_nothing(self, platform: str) -> None:
        assert admitted(TaskSpec(platform=platform)).requests == Resources()


@pytest.mark.covers("decide-14")
class TestOverhead:
    def test_a_sandbox_costs_what_its_runtime_costs(self) -> None:
        assert admitted(TaskSpec(runtime="kata")).overhead == Resources(100, 64)

    def test_an_overhead_that_is_given_stands(self) -> None:
        own = Resources(cpu_milli=5)
        assert admitted(TaskSpec(runtime="kata", overhead=own)).overhead == own

    def test_other_runtimes_cost_nothing(self) -> None:
        assert admitted(TaskSpec(runtime="runc")).overhead == Resources()

    def test_it_is_counted_at_placement(self) -> None:
        cluster = Cluster().node("n1", cpu=1).job("bare", cpu=1).job("boxed", cpu=1, spec={"runtime": "kata"})
        plan = cluster.plan(Policy(defaults=DEFAULTS))
        assert plan.places("bare") == ["n1"]
        [refusal] = plan.waits("boxed").refusals
        assert isinstance(refusal.reason, BeyondCapacity)
        assert refusal.reason.asked == 1100


def test_every_group_is_filled_in() -> None:
    template = JobTemplate((TaskGroup(TaskSpec(platform="ubuntu")), TaskGroup(TaskSpec(runtime="kata"), 3)))
    first, second = admit(template, DEFAULTS).groups
    assert first.spec.requests.cpu_milli == 250
    assert (second.spec.overhead.cpu_milli, second.count) == (100, 3)


def test_a_job_that_lacks_nothing_is_passed_on_as_it_is() -> None:
    template = JobTemplate((TaskGroup(TaskSpec(requests=Resources(1))),))
    assert admit(template, NO_DEFAULTS) is template


def test_admitting_twice_changes_nothing() -> None:
    template = JobTemplate((TaskGroup(TaskSpec(platform="ubuntu", runtime="kata")),))
    once = admit(template, DEFAULTS)
    assert once != template
    assert admit(once, DEFAULTS) == once
    assert replace(once, groups=template.groups) == template
