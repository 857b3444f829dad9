"""Jobs in Rota's own form become records of the model."""

from typing import Any

import pytest
from msgspec.structs import replace

from rota.intake.documents.document import parse_documents
from rota.intake.errors import InputError
from rota.intake.files import records_from_documents
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import (
    AtMaintenance,
    Job,
    JobRecord,
    JobTemplate,
    Percent,
    Placement,
    Priority,
    Promise,
    TaskGroup,
    TopologyMode,
    TopologyRule,
)
from rota.model.resources import GpuRequest, HostPort, Resources
from rota.model.run import After, Dependency
from rota.model.selectors import NodeTerm, Operator, PreferredNodeTerm, Requirement, Selector
from rota.model.taints import Effect, Toleration
from rota.model.task import CostGoal, JobAffinity, Spread, TaskSpec

GIB = 2**30
EIGHT_MS = 1_767_254_400_000
NINE_MS = 1_767_258_000_000

N1, N2 = NodeName("n1"), NodeName("n2")

CLUSTER = """
nodes:
- {name: n1, resources: {cpu: 8}, gpus: 4}
- {name: n2, resources: {cpu: 8}}
reservations:
- {name: exam, start: 0, for: 1h, nodes: [n2], tenants: [vision]}
"""


def read(text: str) -> tuple[JobRecord, ...]:
    cluster = parse_documents(CLUSTER.encode(), "cluster.yaml")
    return records_from_documents(cluster, parse_documents(text.encode(), "jobs.yaml")).jobs


def job(fields: str) -> JobRecord:
    """The record of one job with these fields."""
    [record] = read(f"jobs:\n- {{name: j, {fields}}}")
    return record


def template(fields: str) -> JobTemplate:
    return job(fields).job.template


def spec(fields: str) -> TaskSpec:
    [group] = template(fields).groups
    return group.spec


def label_is(key: str, *values: str) -> Selector:
    return Selector((Requirement(key, Operator.IN, values),))


def test_job_that_says_little_has_defaults() -> None:
    [record] = read("jobs: [{name: j}]")
    assert record == JobRecord(Job(JobId("j"), JobTemplate(groups=(TaskGroup(TaskSpec()),))))


def test_job_with_every_field() -> None:
    [record, _] = read("""
        jobs:
        - name: train
          namespace: research
          project: vision
          user: ada
          queue: nightly
          scheduler: rota
          priority: high
          preemptible: false
          may_preempt: true
          submitted: 2026-01-01T08:00:00Z
          retries: 2
          tasks: 4
          min_available: 75%
          labels: {app: web}
          topology: [{key: zone, tasks: 2}, {key: region, tasks: same}]
          time_limit: 2h
          cost: {goal: cheapest, max_per_hour: 3.50, max_total: 20}
          start_after: 2026-01-01T08:00:00Z
          start_before: 2026-01-01T09:00:00Z
          start_within: 30m
          at_maintenance: end
          reservation: exam
          connect_to: other
          preempted_by: [z, a, z]
        - name: other
    """)
    task = TaskSpec(labels=(("app", "web"),), cost_goal=CostGoal.CHEAPEST, max_price_micro_per_hour=3_500_000)
    assert record.job == Job(
        id=JobId("train"),
        template=JobTemplate(
            groups=(TaskGroup(task, 4),),
            min_available=Percent(75),
            namespace="research",
            project="vision",
            user="ada",
            queue=QueueName("nightly"),
            scheduler="rota",
            labels=(("app", "web"),),
            priority=Priority.HIGH,
            may_preempt=True,
            preemptible=False,
            topology=(
                TopologyRule("region", TopologyMode.SAME),
                TopologyRule("zone", TopologyMode.COUNT, 2),
            ),
            time_limit_ms=7_200_000,
            max_cost_micro=20_000_000,
            connect_to="other",
            reservation="exam",
            start_within_ms=1_800_000,
            at_maintenance=AtMaintenance.END,
        ),
        submitted_ms=EIGHT_MS,
        retries=2,
        preempted_by=(JobId("a"), JobId("z")),
        start_after_ms=EIGHT_MS,
        start_before_ms=NINE_MS,
    )


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        (
            "resources: {cpu: 2, memory: 4Gi, storage: 1Gi, slots: 2, example.com/fpga: 1}",
            TaskSpec(requests=Resources(2000, 4 * GIB, GIB, 2, (("example.com/fpga", 1),))),
        ),
        (
            "resources: {cpu: 2}, limits: {cpu: 4}",
            TaskSpec(requests=Resources(2000), limits=Resources(4000)),
        ),
        ("gpus: 0", TaskSpec()),
        ("gpus: 0.3", TaskSpec(gpu=GpuRequest(1, 300))),
        ("gpus: 30%", TaskSpec(gpu=GpuRequest(1, 300))),
        ("gpus: 2", TaskSpec(gpu=GpuRequest(2))),
        ("gpus: {count: 2, models: [H100, A100]}", TaskSpec(gpu=GpuRequest(2, models=("A100", "H100")))),
        ("gpus: {share: 0.3, models: [A100]}", TaskSpec(gpu=GpuRequest(1, 300, ("A100",)))),
        ("gpus: {share: 1}", TaskSpec(gpu=GpuRequest(1))),
        (
            "ports: [8080, {port: 53, protocol: UDP, address: 10.0.0.1}, {port: 1, address: '::'}]",
            TaskSpec(ports=(HostPort(8080), HostPort(53, "UDP", "10.0.0.1"), HostPort(1))),
        ),
        ("exclusive: true", TaskSpec(exclusive=True)),
        ("platform: ubuntu-latest, runtime: kata", TaskSpec(platform="ubuntu-latest", runtime="kata")),
        ("node_selector: {disk: ssd}", TaskSpec(node_selector=(("disk", "ssd"),))),
        ("pools: [gpu, big], backends: [aws]", TaskSpec(pools=("big", "gpu"), backends=("aws",))),
        ("near: {region: eu}", TaskSpec(near=(("region", "eu"),))),
        (
            "affinity: [{to: {app: db}, within: zone}]",
            TaskSpec(job_affinity=(JobAffinity("zone", label_is("app", "db")),)),
        ),
        (
            "affinity: [{to: {app: db}, within: host, anti: true, namespaces: ['*']}]",
            TaskSpec(job_affinity=(JobAffinity("host", label_is("app", "db"), ("*",), anti=True),)),
        ),
        (
            "affinity: [{to: {app: [web, db]}, within: zone, weight: 50}]",
            TaskSpec(job_affinity=(JobAffinity("zone", label_is("app", "db", "web"), weight=50),)),
        ),
        (
            "spread: [{over: zone, of: {app: web}, max_skew: 2, min_domains: 3}]",
            TaskSpec(spread=(Spread("zone", 2, label_is("app", "web"), min_domains=3),)),
        ),
        (
            "labels: {app: web}, spread: [{over: zone, required: false}]",
            TaskSpec(
                labels=(("app", "web"),),
                spread=(Spread("zone", 1, label_is("app", "web"), required=False),),
            ),
        ),
    ],
)
def test_what_a_task_asks_for(fields: str, wanted: TaskSpec) -> None:
    assert spec(fields) == wanted


def test_node_affinity() -> None:
    found = spec("""
        node_affinity: {
            required: [
                {labels: [{key: cores, operator: Gt, values: [16]}, {key: arm, operator: DoesNotExist}]},
                {names: [n2, n1], not_names: [n3]}
            ],
            preferred: [{weight: 5, labels: {zone: a}}]
        }
    """)
    assert found.node_affinity == (
        NodeTerm(
            Selector(
                (Requirement("arm", Operator.DOES_NOT_EXIST), Requirement("cores", Operator.GT, ("16",)))
            )
        ),
        NodeTerm(
            names=(
                Requirement("metadata.name", Operator.IN, ("n1", "n2")),
                Requirement("metadata.name", Operator.NOT_IN, ("n3",)),
            )
        ),
    )
    assert found.preferred_nodes == (PreferredNodeTerm(5, NodeTerm(label_is("zone", "a"))),)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("'*'", Toleration(exists=True)),
        ("dedicated", Toleration("dedicated", exists=True)),
        ("dedicated:NoSchedule", Toleration("dedicated", exists=True, effect=Effect.NO_SCHEDULE)),
        ("dedicated=ml", Toleration("dedicated", value="ml")),
        ("dedicated=ml:NoSchedule", Toleration("dedicated", value="ml", effect=Effect.NO_SCHEDULE)),
        ("{key: dedicated}", Toleration("dedicated", exists=True)),
        ("{key: dedicated, value: ml}", Toleration("dedicated", value="ml")),
        ("{key: dedicated, operator: Equal}", Toleration("dedicated")),
        ("{operator: Exists}", Toleration(exists=True)),
        (
            "{key: k, effect: NoExecute, seconds: 0}",
            Toleration("k", exists=True, effect=Effect.NO_EXECUTE, seconds=0),
        ),
    ],
)
def test_toleration(written: str, wanted: Toleration) -> None:
    assert spec(f"tolerations: [{written}]").tolerations == (wanted,)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [("3", 3), ('"3"', 3), ("50%", Percent(50)), ("100%", Percent(100))],
)
@pytest.mark.covers("gang-2")
def test_min_available(written: str, wanted: Any) -> None:
    assert template(f"tasks: 3, min_available: {written}").min_available == wanted


@pytest.mark.parametrize(
    ("written", "wanted"),
    [("critical", Priority.CRITICAL), ("batch", Priority.BATCH), ("-7", -7), ("2000001000", 2_000_001_000)],
)
def test_priority(written: str, wanted: int) -> None:
    assert template(f"priority: {written}").priority == wanted


class TestGroups:
    def test_each_has_its_own_tasks(self) -> None:
        found = template("groups: [{resources: {cpu: 4}}, {tasks: 8, resources: {cpu: 1}}], min_available: 5")
        assert found.groups == (
            TaskGroup(TaskSpec(requests=Resources(4000))),
            TaskGroup(TaskSpec(requests=Resources(1000)), 8),
        )
        assert found.task_count == 9
        assert found.min_available == 5

    def test_what_the_job_says_holds_for_groups_that_say_nothing_else(self) -> None:
        found = template("pools: [a], gpus: 1, groups: [{}, {gpus: 0}, {pools: []}]")
        assert [(group.spec.pools, group.spec.gpu.count) for group in found.groups] == [
            (("a",), 1),
            (("a",), 0),
            ((), 1),
        ]


class TestRunning:
    def test_one_node_a_task(self) -> None:
        found = job("tasks: 4, running_on: [n1, null, n2, null], started: 2026-01-01T09:00:00Z, done: [3, 3]")
        assert found.placements == (Placement(0, N1, NINE_MS), Placement(2, N2, NINE_MS))
        assert found.done == (3,)
        assert list(found.waiting_ranks()) == [1]

    def test_one_node(self) -> None:
        assert job("running_on: n2").placements == (Placement(0, N2),)

    def test_nothing_runs_of_a_list_of_nulls(self) -> None:
        assert job("tasks: 2, running_on: [null, null]").placements == ()

    def test_by_rank(self) -> None:
        found = job("""
            tasks: 3, gpus: 2, started: 2026-01-01T09:00:00Z,
            running_on: [{rank: 2, node: n1, started: 5, gpus: [3, 0]}, {rank: 0, node: n1}]
        """)
        assert found.placements == (
            Placement(0, N1, NINE_MS),
            Placement(2, N1, 5000, gpu_devices=(0, 3)),
        )

    def test_tasks_of_groups_are_ranked_group_by_group(self) -> None:
        found = job("groups: [{tasks: 2}, {gpus: 1}], running_on: [{rank: 2, node: n1, gpus: [3]}]")
        assert found.placements == (Placement(2, N1, gpu_devices=(3,)),)


@pytest.mark.covers("time-2")
class TestStarts:
    @pytest.mark.parametrize(
        ("fields", "after_ms", "before_ms"),
        [
            ("start_after: 2026-01-01T08:00:00Z", EIGHT_MS, None),
            ("start_before: 2026-01-01T10:00:00+01:00", 0, NINE_MS),
            ("start_after: 1767258000, start_before: 2026-01-01T09:00:00Z", NINE_MS, NINE_MS),
            ("submitted: 2026-01-01T08:00:00Z, start_within: 1h, start_after: 1767258000", NINE_MS, None),
        ],
    )
    def test_in_a_period(self, fields: str, after_ms: int, before_ms: int | None) -> None:
        found = job(fields).job
        assert (found.start_after_ms, found.start_before_ms) == (after_ms, before_ms)

    def test_jobs_with_other_periods_are_of_one_kind(self) -> None:
        records = read("jobs: [{name: a, start_after: 5}, {name: b, start_before: 9}, {name: c}]")
        assert len({id(record.job.template) for record in records}) == 1

    def test_promised_on_one_node(self) -> None:
        found = job("promised: {start: 2026-01-01T09:00:00Z, on: n2}")
        assert found.promise == Promise(NINE_MS, (Placement(0, N2, NINE_MS),))
        assert found.placements == ()

    def test_promised_on_one_node_a_task(self) -> None:
        found = job("""
            groups: [{gpus: 2}, {tasks: 2}], min_available: 2,
            promised: {start: 5, on: [{node: n1, gpus: [3, 1]}, null, n2]}
        """)
        assert found.promise == Promise(5000, (Placement(0, N1, 5000, (1, 3)), Placement(2, N2, 5000)))

    def test_promised_to_those_that_do_not_run_yet(self) -> None:
        found = job(
            "tasks: 3, running_on: [n1, null, null], done: [2], promised: {start: 5, on: [null, n2, null]}"
        )
        assert found.promise == Promise(5000, (Placement(1, N2, 5000),))

    def test_at_the_ends_of_its_period(self) -> None:
        for start in (5, 9):
            found = job(f"start_after: 5, start_before: 9, promised: {{start: {start}, on: n1}}")
            assert found.promise == Promise(start * 1000, (Placement(0, N1, start * 1000),))


def test_jobs_without_a_time_are_in_the_order_of_the_files() -> None:
    cluster = parse_documents(f"{CLUSTER}\njobs: [{{name: z}}]".encode(), "cluster.yaml")
    jobs = parse_documents(b"jobs: [{name: y}, {name: x, submitted: 9}]\n---\njobs: [{name: w}]", "jobs.yaml")
    records = records_from_documents(cluster, jobs).jobs
    by_age = sorted(records, key=lambda record: record.job.submitted_ms)
    assert [record.job.id for record in by_age] == ["z", "y", "w", "x"]


class TestSharing:
    def test_jobs_of_a_kind_share_their_template(self) -> None:
        records = read("""
            jobs:
            - {name: a, resources: {cpu: 1, memory: 1Gi}, submitted: 5}
            - {name: b, resources: {cpu: 1, memory: 1Gi}, retries: 3}
            - {name: c, resources: {memory: 1024Mi, cpu: "1"}, priority: medium, running_on: n1}
        """)
        assert len({id(record.job.template) for record in records}) == 1

    def test_tasks_of_a_kind_share_their_spec(self) -> None:
        records = read("""
            jobs:
            - {name: a, user: ada, resources: {cpu: 1}}
            - {name: b, user: bob, resources: {cpu: 1}}
            - {name: c, groups: [{resources: {cpu: 1}}, {resources: {cpu: 1}}]}
        """)
        groups = [group for record in records for group in record.job.template.groups]
        assert len({id(group.spec) for group in groups}) == 1

    def test_jobs_that_differ_do_not(self) -> None:
        a, b, c = read("jobs: [{name: a}, {name: b, priority: high}, {name: c, pools: [x]}]")
        assert b.job.template == replace(a.job.template, priority=Priority.HIGH)
        assert c.job.template.groups[0].spec.pools == ("x",)


def test_a_partner_may_come_later_and_have_one_itself() -> None:
    records = read("jobs: [{name: a, connect_to: b}, {name: b, connect_to: c}, {name: c}]")
    assert [record.job.template.connect_to for record in records] == ["b", "c", ""]


def test_a_deadline_is_a_latest_start() -> None:
    assert job("deadline: 2026-01-01T09:00:00Z, time_limit: 1h").job.start_before_ms == EIGHT_MS
    earlier = job(
        "deadline: 2026-01-01T09:00:00Z, time_limit: 1h, start_before: 2026-01-01T07:00:00Z"
    ).job.start_before_ms
    assert earlier == EIGHT_MS - 3_600_000


def test_what_a_job_executes_does_not_matter_to_a_plan() -> None:
    assert job("command: [train], retry: 3, files: [{path: x, from: y}]") == job("")


CONDITIONS = """
jobs:
- {name: a, array: "1,3"}
- {name: b, hold: true}
- {name: c, depends_on: [a, {job: b, after: any}]}
- {name: d, depends_on: [b], running_on: n1}
"""


@pytest.mark.covers("first-4")
class TestConditions:
    def all_of(self, text: str) -> ClusterRecords:
        cluster = parse_documents(CLUSTER.encode(), "cluster.yaml")
        return records_from_documents(cluster, parse_documents(text.encode(), "jobs.yaml"))

    def test_elements_of_an_array_are_jobs(self) -> None:
        assert [one.job.id for one in self.all_of(CONDITIONS).jobs] == ["a.1", "a.3", "d"]

    def test_what_is_held_or_waits_for_others_is_apart_from_what_waits_for_room(self) -> None:
        b, c = self.all_of(CONDITIONS).conditional
        assert (b.job.id, b.held, b.depends_on) == ("b", True, ())
        assert (c.job.id, c.held) == ("c", False)
        assert c.depends_on == (
            Dependency(JobId("a.1")),
            Dependency(JobId("a.3")),
            Dependency(JobId("b"), After.ANY),
        )

    @pytest.mark.parametrize(
        ("jobs", "told"),
        [
            ("{name: a, depends_on: [b]}, {name: b}", 'there is no job named "b"'),
            ("{name: a, depends_on: [17]}", "numbers are known to servers only"),
            ("{name: a, depends_on: [a]}", 'there is no job named "a"'),
            ("{name: a, array: 2, running_on: n1}", "an array has elements"),
            ("{name: a, array: 2}, {name: a.1}", "a.1"),
            ("{name: a, array: 2}, {name: b, connect_to: a}", "name one of its elements, as a.0"),
        ],
    )
    def test_what_is_refused(self, jobs: str, told: str) -> None:
        with pytest.raises(InputError) as raised:
            read(f"jobs: [{jobs}]")
        assert told in str(raised.value)
