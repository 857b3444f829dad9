import pytest

from rota.loop.once import Moment, latest_time_ms
from rota.loop.plugin_host import PluginHost
from rota.model.cluster import ClusterRecords, TenantUsage
from rota.model.explanation import Outcome
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, Placement, TaskGroup
from rota.model.node import Node, NodeSpec
from rota.model.policy import Policy
from rota.model.resources import Resources
from rota.model.taints import Effect, Taint
from rota.model.task import TaskSpec

ONE_CPU = JobTemplate((TaskGroup(TaskSpec(Resources(cpu_milli=1000))),))
NINE_O_CLOCK_MS = 1_767_258_000_000


def node(*taints: Taint) -> Node:
    return Node(NodeName("n"), NodeSpec(Resources(cpu_milli=1000), taints=taints))


@pytest.mark.parametrize(
    "records",
    [
        ClusterRecords(jobs=(JobRecord(Job(JobId("a"), ONE_CPU, NINE_O_CLOCK_MS)),)),
        ClusterRecords(
            jobs=(JobRecord(Job(JobId("a"), ONE_CPU), (Placement(0, NodeName("n"), NINE_O_CLOCK_MS),)),)
        ),
        ClusterRecords(nodes=(node(Taint("gone", Effect.NO_EXECUTE, added_ms=NINE_O_CLOCK_MS)),)),
        ClusterRecords(usage=(TenantUsage("vision", NINE_O_CLOCK_MS, ()),)),
    ],
)
def test_the_latest_time_may_be_anywhere(records: ClusterRecords) -> None:
    assert latest_time_ms(records) == NINE_O_CLOCK_MS


def test_the_order_of_jobs_is_no_time() -> None:
    jobs = tuple(JobRecord(Job(JobId(f"j{number}"), ONE_CPU, number)) for number in range(3))
    assert latest_time_ms(ClusterRecords(jobs=jobs)) is None


def test_a_plan_and_its_explanation_agree() -> None:
    records = ClusterRecords(
        nodes=(node(),),
        jobs=tuple(JobRecord(Job(JobId(name), ONE_CPU, number)) for number, name in enumerate("ab")),
    )
    moment = Moment(records, Policy(), now_ms=0, host=PluginHost([]))
    assert [(one.job, one.node) for one in moment.plan().bindings] == [("a", "n")]
    assert moment.explain(JobId("a")).outcome is Outcome.PLACED
    assert moment.explain(JobId("b")).outcome is Outcome.WAITING
