"""What is filled into a job when it comes in."""

import pytest
from msgspec.structs import replace

from rota.model.cluster import ClusterRecords, ConditionalJob
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, TaskGroup
from rota.model.node import Node, NodeSpec, Offer
from rota.model.policy import NO_DEFAULTS, Defaults, PlatformDefaults, Policy
from rota.model.reasons import BeyondCapacity
from rota.model.resources import GpuRequest, Resources
from rota.model.task import TaskSpec
from rota.snapshot.defaults import admit, assumed_for, come_in
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


ALL = ("cpu", "memory", "gpu", "others")
"""What a job leaves open that says nothing."""
GPU_PLATFORM = Defaults(
    platforms=(("gpus", PlatformDefaults(Resources(2000, 4096), Resources(8000, 16384), GpuRequest(1))),),
    assumed=Resources(1000, 256),
)


@pytest.mark.covers("decide-15")
class TestWhatIsLeftOpen:
    def test_a_task_that_says_nothing_asks_for_one_cpu_and_some_memory(self) -> None:
        spec = admitted(TaskSpec(left_open=ALL), Defaults())
        assert spec.requests == Resources(1000, 256 * 2**20)
        assert spec.left_open == ()

    def test_what_is_assumed_of_its_memory_is_no_limit(self) -> None:
        assert admitted(TaskSpec(left_open=ALL), Defaults()).unlimited == ("memory",)
        stated = TaskSpec(requests=Resources(0, 1), left_open=("cpu", "gpu", "others"))
        assert admitted(stated, Defaults()).unlimited == ()
        limited = TaskSpec(limits=Resources(0, 1), left_open=ALL)
        assert admitted(limited, Defaults()).unlimited == ()

    def test_a_zero_that_was_stated_stays(self) -> None:
        spec = TaskSpec(platform="gpus", left_open=("others",))
        assert admitted(spec, GPU_PLATFORM).requests == Resources()
        assert admitted(spec, GPU_PLATFORM).gpu == GpuRequest()

    def test_a_limit_is_what_it_asks_for_before_anything_is_assumed(self) -> None:
        spec = admitted(TaskSpec(limits=Resources(250, 64), left_open=ALL), GPU_PLATFORM)
        assert spec.requests == spec.limits == Resources(250, 64)

    def test_its_platform_goes_before_what_is_assumed(self) -> None:
        spec = admitted(TaskSpec(platform="gpus", left_open=ALL), GPU_PLATFORM)
        assert (spec.requests, spec.limits, spec.gpu) == (
            Resources(2000, 4096),
            Resources(8000, 16384),
            GpuRequest(1),
        )
        assert spec.unlimited == ()

    def test_who_asks_for_more_than_the_platforms_limit_may_use_it(self) -> None:
        asked = TaskSpec(requests=Resources(12000, 100), platform="gpus", left_open=("gpu", "others"))
        assert admitted(asked, GPU_PLATFORM).limits == Resources(12000, 16384)

    def test_a_limit_that_is_refused_isnt_filled_in(self) -> None:
        asked = TaskSpec(platform="gpus", unlimited=("cpu", "memory"), left_open=ALL)
        assert admitted(asked, GPU_PLATFORM).limits == Resources()

    def test_of_other_resources_nothing_is_assumed(self) -> None:
        spec = TaskSpec(requests=Resources(1, 1, 0, 0, (("fpga", 2),)), left_open=("gpu", "others"))
        assert admitted(spec, Defaults()).requests == spec.requests

    def test_what_has_come_in_stays_as_it_is_whatever_the_policy_becomes(self) -> None:
        came = admitted(TaskSpec(platform="gpus", runtime="kata", left_open=ALL), NO_DEFAULTS)
        assert admitted(came, GPU_PLATFORM) is came
        assert admitted(came, DEFAULTS) is came

    def test_of_pods_and_traces_nothing_is_assumed(self) -> None:
        assert admitted(TaskSpec(), Defaults()) == TaskSpec()


@pytest.mark.covers("decide-15")
@pytest.mark.parametrize(
    ("capacities", "wanted"),
    [
        ([], Resources(1000, 2**28)),
        ([Resources(1, 1), Resources(2, 2)], Resources(1000, 2**28)),
        ([Resources(1, 1), Resources(2, 0)], Resources(1000)),
        ([Resources(0, 1)], Resources(0, 2**28)),
    ],
)
def test_what_nodes_dont_state_isnt_assumed(capacities: list[Resources], wanted: Resources) -> None:
    nodes = tuple(Node(NodeName(f"n{at}"), NodeSpec(one)) for at, one in enumerate(capacities))
    offers = tuple(Offer(f"o{at}", NodeSpec(one), 1) for at, one in enumerate(capacities))
    assert assumed_for(ClusterRecords(nodes), Defaults()).assumed == wanted
    assert assumed_for(ClusterRecords(offers=offers), Defaults()).assumed == wanted


@pytest.mark.covers("decide-15")
def test_all_jobs_of_a_file_come_in() -> None:
    template = JobTemplate((TaskGroup(TaskSpec(left_open=ALL)),))
    waiting, held = (Job(JobId(name), template) for name in ("waiting", "held"))
    nodes = (Node(NodeName("n1"), NodeSpec(Resources(2000))),)
    came = come_in(
        ClusterRecords(nodes, jobs=(JobRecord(waiting),), conditional=(ConditionalJob(held, True),)),
        Defaults(),
    )
    templates = [came.jobs[0].job.template, came.conditional[0].job.template]
    assert templates == [admit(template, Defaults(assumed=Resources(1000)))] * 2
    assert come_in(came, GPU_PLATFORM) == came
