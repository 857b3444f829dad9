"""The package in examples/rota-plugin-example, installed beside Rota as a user would."""

import pytest

from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.on_files import Moment
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, Labels, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, TaskGroup
from rota.model.node import Node, NodeSpec
from rota.model.plan import Plan
from rota.model.policy import PluginConfig, Policy, SchedulerPolicy
from rota.model.reasons import RefusedByPlugin
from rota.model.resources import Resources
from rota.model.task import TaskSpec

pytestmark = pytest.mark.covers("decide-10")

POLICY = Policy((SchedulerPolicy(plugins=(PluginConfig("licences", weight=100),)),))


def plan(*jobs: JobRecord) -> Plan:
    records = ClusterRecords(
        nodes=(
            Node(NodeName("licensed"), NodeSpec(Resources(8000), labels=(("licence/matlab", "yes"),))),
            Node(NodeName("plain"), NodeSpec(Resources(2000))),
        ),
        jobs=jobs,
    )
    return Moment(records, POLICY, now_ms=0, host=PluginHost()).plan()


def job(labels: Labels = ()) -> JobRecord:
    spec = TaskSpec(Resources(cpu_milli=1000), labels=labels)
    return JobRecord(Job(JobId("job"), JobTemplate((TaskGroup(spec),))))


def test_the_example_plugin_is_found() -> None:
    (found,) = [one for one in PluginHost().installed() if one.name == "licences"]
    assert (found.package, found.version, found.fault) == ("rota-plugin-example", "0.1.0", "")


def test_who_needs_a_licence_goes_where_it_is() -> None:
    result = plan(job((("licence", "matlab"),)))
    assert [one.node for one in result.bindings] == ["licensed"]
    assert not result.faults


def test_jobs_without_a_licence_leave_the_licensed_node_free() -> None:
    assert [one.node for one in plan(job()).bindings] == ["plain"]


def test_a_licence_that_nobody_has() -> None:
    (waiting,) = plan(job((("licence", "maple"),))).waiting
    (refusal,) = waiting.verdict.refusals
    assert refusal.reason.plugin == "licences"
    assert isinstance(refusal.reason, RefusedByPlugin)
    assert refusal.reason.words == "no licence for maple"
    assert refusal.nodes == 2
