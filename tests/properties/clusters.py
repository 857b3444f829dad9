"""Small mixed clusters and policies, out of parts that get in each other's way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import Job, JobRecord, JobTemplate, Percent, Placement, Priority, TaskGroup
from rota.model.node import Gpus, Node, NodeSpec, Offer
from rota.model.policy import (
    Defaults,
    FairShare,
    PlatformDefaults,
    PluginConfig,
    Policy,
    Preemption,
    Promotion,
    QueuePolicy,
    QueueStrategy,
    Quota,
    Reclaim,
    SchedulerPolicy,
    Selection,
    Strategy,
    TenantKey,
    TenantPolicy,
    default_weights,
)
from rota.model.resources import GpuRequest, HostPort, Resources
from rota.model.selectors import NodeTerm, PreferredNodeTerm, Selector
from rota.model.taints import Effect, Taint, Toleration
from rota.model.task import CostGoal, JobAffinity, TaskSpec
from tests.builders import ByName
from tests.reference.gangs import gang_ask, lies_right
from tests.reference.rules import device_choices, refusals
from tests.reference.world import Task, World, free_devices, jobs_of
from tests.words import NOW_MS, apart, lie, near, node_term, spread, when

GI = 1 << 30
SECOND = 1000

NODES: tuple[Mapping[str, Any], ...] = (
    {"labels": (("zone", "a"),)},
    {"labels": (("zone", "b"),)},
    {"labels": (("topology.kubernetes.io/zone", "a"),)},
    {"labels": (("cores", "16"), ("zone", "b"))},
    {"labels": (("cores", "x"), ("ssd", ""), ("zone", "c"))},
    {"gpus": Gpus(1, "a100")},
    {"gpus": Gpus(2, "t4")},
    {"pool": "batch"},
    {"backend": "cloud", "price_micro_per_hour": 3_000_000},
    {"price_micro_per_hour": 1_000_000},
    {"taints": (Taint("dedicated", Effect.NO_SCHEDULE, "ml"),)},
    {"taints": (Taint("busy", Effect.PREFER_NO_SCHEDULE),)},
    {"taints": (Taint("broken", Effect.NO_EXECUTE, "", NOW_MS - 60 * SECOND),)},
    {"taints": (Taint("node.kubernetes.io/not-ready", Effect.NO_SCHEDULE),)},
)

TASKS: tuple[Mapping[str, Any], ...] = (
    {"gpu": GpuRequest(1)},
    {"gpu": GpuRequest(2)},
    {"gpu": GpuRequest(1, 300)},
    {"gpu": GpuRequest(1, 600, ("t4",))},
    {"ports": (HostPort(80),)},
    {"ports": (HostPort(80, "TCP", "10.0.0.1"),)},
    {"ports": (HostPort(80, "UDP"),)},
    {"exclusive": True},
    {"overhead": Resources(cpu_milli=500)},
    {"platform": "ubuntu", "runtime": "kata"},
    {"node_selector": (("zone", "a"),)},
    {"node_selector": (("cores", "16"), ("zone", "b"))},
    {"node_affinity": (node_term("cores Gt 8"),)},
    {"node_affinity": (node_term("ssd Exists"), NodeTerm(Selector(), (when("host In n0"),)))},
    {"node_affinity": (node_term("zone NotIn b"),)},
    {"node_affinity": (NodeTerm(),)},
    {"preferred_nodes": (PreferredNodeTerm(50, node_term("zone In b")),)},
    {"job_affinity": (near("zone", "app In web"),)},
    {"job_affinity": (near("host", "app In web,db"),)},
    {"job_affinity": (apart("host", "app In web"),)},
    {"job_affinity": (apart("zone", "app In db"),)},
    {"job_affinity": (JobAffinity("zone", Selector((when("app Exists"),)), ("*",), anti=True),)},
    {"job_affinity": (near("zone", "app In db", 70), apart("host", "app Exists", 30))},
    {"job_affinity": (near("zone", "app In web"), apart("host", "app In web"))},
    {"spread": (spread("zone", "app In web"),)},
    {"spread": (spread("host", "app Exists"),)},
    {"spread": (spread("zone", "app In web", 2, min_domains=3, honor_affinity=False),)},
    {"spread": (spread("zone", "app In web", honor_taints=True),)},
    {"spread": (spread("zone", "app In web", required=False),)},
    {"tolerations": (Toleration("dedicated", False, "ml"),)},
    {"tolerations": (Toleration(exists=True),)},
    {"tolerations": (Toleration("broken", True, effect=Effect.NO_EXECUTE),)},
    {"tolerations": (Toleration("broken", True, effect=Effect.NO_EXECUTE, seconds=30),)},
    {"tolerations": (Toleration("broken", True, effect=Effect.NO_EXECUTE, seconds=900),)},
    {"pools": ("batch",)},
    {"pools": ("default", "batch")},
    {"backends": ("local",)},
    {"near": (("zone", "b"),)},
    {"cost_goal": CostGoal.CHEAPEST},
    {"max_price_micro_per_hour": 1_000_000},
    {"node_name": "n0"},
)

JOBS: tuple[Mapping[str, Any], ...] = (
    {"topology": (lie("zone", "same"),)},
    {"topology": (lie("host", "different"),)},
    {"topology": (lie("zone", "count", 2),)},
    {"topology": (lie("zone", "same"), lie("host", "different"))},
    {"namespace": "other"},
    {"scheduler": "second"},
    {"queue": QueueName("fast")},
    {"queue": QueueName("batch-only")},
    {"project": "p", "user": "ada"},
    {"project": "p", "user": "bob"},
    {"project": "q"},
    {"preemptible": False},
    {"may_preempt": True},
    {"may_preempt": False},
    {"max_cost_micro": 2_000_000, "time_limit_ms": 3600 * SECOND},
)

AGES_MS = tuple(seconds * SECOND for seconds in (0, 60, 600, 1300, 3600))


@dataclass(frozen=True)
class Situation:
    records: ClusterRecords
    policy: Policy

    def __repr__(self) -> str:
        """All that isn't by default, in a form that can be read back."""
        records, policy = (msgspec.json.encode(part).decode() for part in (self.records, self.policy))
        return f"situation({records!r}, {policy!r})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def situation(records: str, policy: str) -> Situation:
    return Situation(
        msgspec.json.decode(records, type=ClusterRecords), msgspec.json.decode(policy, type=Policy)
    )


def some(parts: Sequence[Mapping[str, Any]], most: int) -> st.SearchStrategy[dict[str, Any]]:
    """Up to so many of these parts; where two set the same field, the later one does."""
    chosen = st.lists(st.integers(0, len(parts) - 1), max_size=most)
    return chosen.map(lambda numbers: {key: value for at in numbers for key, value in parts[at].items()})


@st.composite
def node_specs(draw: st.DrawFn) -> NodeSpec:
    capacity = Resources(
        draw(st.sampled_from((2000, 4000, 3000))),
        draw(st.sampled_from((4, 8))) * GI,
        draw(st.sampled_from((0, 100))) * GI,
        draw(st.sampled_from((0, 0, 2))),
        draw(st.sampled_from(((), (), (("licence", 2),)))),
    )
    return NodeSpec(capacity, **draw(some(NODES, 3)))


def nodes() -> st.SearchStrategy[tuple[Node, ...]]:
    states = st.sampled_from(({}, {}, {}, {}, {"ready": False}, {"cordoned": True}, {"load_milli": 500}))
    one = st.builds(lambda spec, state: Node(NodeName(""), spec, **state), node_specs(), states)
    return st.lists(one, max_size=6).map(
        lambda found: tuple(replace(node, name=NodeName(f"n{at}")) for at, node in enumerate(found))
    )


def offers() -> st.SearchStrategy[tuple[Offer, ...]]:
    one = st.builds(Offer, st.just(""), node_specs(), st.integers(1, 2), st.sampled_from((0, 60_000)))
    return st.lists(one, max_size=1).map(
        lambda found: tuple(replace(offer, name=f"offer{at}") for at, offer in enumerate(found))
    )


@st.composite
def task_specs(draw: st.DrawFn) -> TaskSpec:
    requests = Resources(
        draw(st.sampled_from((1000, 500, 2000, 3000, 0))),
        draw(st.sampled_from((0, 1, 4))) * GI,
        draw(st.sampled_from((0, 0, 60))) * GI,
        0,
        draw(st.sampled_from(((), (), (), (("licence", 1),)))),
    )
    labels = draw(st.sampled_from(((), (("app", "web"),), (("app", "db"),))))
    return TaskSpec(requests, labels=labels, **draw(some(TASKS, 2)))


@st.composite
def templates(draw: st.DrawFn) -> JobTemplate:
    counts = draw(st.sampled_from(((1,), (1,), (2,), (3,), (4,), (1, 1), (1, 2))))
    groups = tuple(TaskGroup(draw(task_specs()), count) for count in counts)
    least: int | Percent | None = None
    if sum(counts) > 1:
        least = draw(st.sampled_from((None, 1, 2, Percent(50))))
    priority = draw(st.sampled_from((*map(int, Priority), 500)))
    return JobTemplate(groups, least, priority=priority, **draw(some(JOBS, 2)))


def jobs(prefix: str, most: int) -> st.SearchStrategy[list[Job]]:
    """Several; some of them equal, so that they are judged together."""
    one = st.builds(
        lambda template, age, retries: Job(JobId(""), template, NOW_MS - age, retries),
        templates(),
        st.sampled_from(AGES_MS),
        st.sampled_from((0, 0, 3)),
    )
    several = st.builds(lambda job, count: [job] * count, one, st.sampled_from((1, 1, 1, 2, 3)))
    return st.lists(several, max_size=most).map(
        lambda found: [
            replace(job, id=JobId(f"{prefix}{at}"))
            for at, job in enumerate([job for equal in found for job in equal][:most])
        ]
    )


@st.composite
def clusters(draw: st.DrawFn, policy: Policy) -> ClusterRecords:
    cluster = ClusterRecords(draw(nodes()), draw(offers()))
    running = _started(draw, cluster, policy, draw(jobs("r", 6)))
    waiting = [JobRecord(job) for job in draw(jobs("w", 8))]
    everyone = [record.job.id for record in (*running, *waiting)]
    for at, record in enumerate(waiting):
        tie = draw(st.sampled_from(("", "", "", "", "connect", "preempted")))
        earlier = everyone[: len(running) + at]
        if tie and earlier:
            other = draw(st.sampled_from(earlier))
            job = record.job
            if tie == "connect":
                job = replace(job, template=replace(job.template, connect_to=other))
            else:
                job = replace(job, preempted_by=(other,))
            waiting[at] = JobRecord(job)
    return replace(cluster, jobs=(*running, *waiting))


def _started(
    draw: st.DrawFn, cluster: ClusterRecords, policy: Policy, candidates: Sequence[Job]
) -> list[JobRecord]:
    """Those that can run, running: each task on the first node that takes it, from a drawn one on."""
    world = World(cluster.nodes, (), ())
    running = []
    for job in candidates:
        first, since = draw(st.integers(0, 5)), draw(st.sampled_from((3600, 600, 10)))
        placed = _seats(world, policy, job, first)
        lies = lies_right(job.template.topology, [world.nodes[task.node] for task in placed])
        if not lies or len(placed) < min(job.template.min_count, draw(st.sampled_from((9, 9, 1)))):
            for task in placed:
                world.lift(task)
            continue
        done = () if job.template.topology else draw(st.sampled_from(((), (), (0,))))
        kept = [task for task in placed if task.rank not in done]
        for task in placed:
            if task not in kept:
                world.lift(task)
        started_ms = max(NOW_MS - since * SECOND, job.submitted_ms)
        placements = tuple(Placement(t.rank, NodeName(t.node), started_ms, t.devices) for t in kept)
        if placements:
            running.append(JobRecord(job, placements, done))
    return running


def _seats(world: World, policy: Policy, job: Job, first: int) -> list[Task]:
    record = jobs_of(ClusterRecords(jobs=(JobRecord(job),)), policy)[job.id]
    gang = gang_ask(record, policy, NOW_MS)
    order = list(world.nodes.values())
    order = order[first % len(order) :] + order[: first % len(order)] if order else []
    placed = []
    for group, ranks in enumerate(gang.ranks):
        ask = gang.asks[group]
        for rank in ranks:
            for node in order:
                if not refusals(world, ask, node):
                    devices = device_choices(free_devices(world, node), ask.spec.gpu)[0]
                    task = Task(record.job, rank, node.name, devices)
                    world.put(task)
                    placed.append(task)
                    break
    return placed


# -- policies

QUOTAS = (
    Quota((("cpu", 2000),)),
    Quota((("cpu", 3000), ("memory", 8 * GI)), lendable=(("cpu", 1000),)),
    Quota((("cpu", 1000),), borrowable=(("cpu", 1000),)),
    Quota((("gpu", 1000),)),
)


@st.composite
def tenants(draw: st.DrawFn, quotas: bool) -> tuple[TenantPolicy, ...]:
    found = []
    for path in ("p", "q", "default", "p/ada", "p/bob"):
        if draw(st.booleans()):
            quota = draw(st.sampled_from((None, *QUOTAS))) if quotas else None
            weight, pools = draw(st.sampled_from((1, 3))), draw(st.sampled_from(((), (), ("default",))))
            found.append(TenantPolicy(path, weight, quota, pools))
    return tuple(found)


@st.composite
def schedulers(draw: st.DrawFn, name: str = "rota", namespaces: tuple[str, ...] = ()) -> SchedulerPolicy:
    strategy = draw(st.sampled_from(Strategy))
    queue = QueuePolicy(
        strategy=draw(st.sampled_from((QueueStrategy.PRIORITY, QueueStrategy.FIFO, QueueStrategy.FAIR))),
        tenant_key=draw(st.sampled_from(TenantKey)),
        strict=draw(st.sampled_from((False, False, False, True))),
    )
    queues = (
        queue,
        replace(queue, name="fast", order=-1, strict=False),
        replace(queue, name="batch-only", pools=("batch",)),
    )
    plugins = (PluginConfig(ByName.name),) if strategy is Strategy.CUSTOM else ()
    return SchedulerPolicy(
        name,
        namespaces,
        Selection(strategy, ByName.name if plugins else ""),
        default_weights(strategy),
        queues,
        draw(
            st.sampled_from(
                (Preemption(), Preemption(), Preemption(False), Preemption(True, 300 * SECOND)),
            )
        ),
        draw(
            st.sampled_from(
                (Promotion(), Promotion(), Promotion(600 * SECOND), Promotion(600 * SECOND, 2, 0)),
            )
        ),
        plugins,
    )


@st.composite
def policies(draw: st.DrawFn, quotas: bool | None = None) -> Policy:
    several = draw(st.sampled_from((False, False, True)))
    found = [draw(schedulers("rota", ("default",) if several else ()))]
    if several:
        found.append(draw(schedulers("second")))
    with_quotas = draw(st.booleans()) if quotas is None else quotas
    share = FairShare(tenants=draw(tenants(with_quotas)), reclaim=draw(st.sampled_from(Reclaim)))
    defaults = draw(st.sampled_from((Defaults(), DEFAULTS)))
    return Policy(tuple(found), share, defaults)


DEFAULTS = Defaults(
    (("ubuntu", PlatformDefaults(Resources(1000, GI), Resources(2000, 2 * GI))),),
    (("kata", Resources(500, GI)),),
)


@st.composite
def situations(draw: st.DrawFn, quotas: bool | None = None) -> Situation:
    policy = draw(policies(quotas))
    return Situation(draw(clusters(policy)), policy)
