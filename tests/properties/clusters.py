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
from rota.model.task import CostGoal, InDomains, JobAffinity, TaskSpec
from rota.plugins.node_ready import NodeCordoned, NodeNotReady
from rota.plugins.taints import UntoleratedPassingTaint, UntoleratedTaint
from tests.builders import ByName
from tests.reference.gangs import gang_ask, lies_right
from tests.reference.rules import device_choices, refusals
from tests.reference.world import Task, World, free_devices, jobs_of
from tests.words import NOW_MS, apart, lie, near, node_term, spread, when

GI = 1 << 30
SECOND = 1000

CAPACITIES = (
    Resources(2000, 4 * GI),
    Resources(4000, 8 * GI),
    Resources(3000, 8 * GI, 100 * GI),
    Resources(4000, 4 * GI, 100 * GI, 2),
    Resources(2000, 8 * GI, 0, 3, (("licence", 2),)),
    Resources(8000, 16 * GI),
)

NODE_LABELS = (
    (("zone", "a"),),
    (("zone", "b"),),
    (("topology.kubernetes.io/zone", "a"),),
    (("cores", "16"), ("zone", "b")),
    (("cores", "x"), ("ssd", ""), ("zone", "c")),
    (),
)

NODES: tuple[Mapping[str, Any], ...] = (
    {"gpus": Gpus(1, "a100")},
    {"gpus": Gpus(2, "t4")},
    {"pool": "batch"},
    {"backend": "cloud", "price_micro_per_hour": 3_000_000},
    {"price_micro_per_hour": 1_000_000},
    {"gpus": Gpus(2, "a100"), "pool": "batch"},
    {"gpus": Gpus(4, "t4"), "price_micro_per_hour": 3_000_000},
    {"taints": (Taint("dedicated", Effect.NO_SCHEDULE, "ml"),)},
    {"taints": (Taint("busy", Effect.PREFER_NO_SCHEDULE),)},
    {"taints": (Taint("broken", Effect.NO_EXECUTE, "", NOW_MS - 60 * SECOND),)},
    {"taints": (Taint("node.kubernetes.io/not-ready", Effect.NO_SCHEDULE),)},
)

STATES: tuple[Mapping[str, Any], ...] = (
    {"ready": False},
    {"cordoned": True},
    {"load_milli": 500},
    {"memory_others_bytes": 3 * GI},
    {"memory_others_bytes": 1024 * GI},
)

REQUESTS = (
    Resources(1000),
    Resources(2000),
    Resources(500, GI),
    Resources(1000, 4 * GI),
    Resources(3000, GI),
    Resources(0, 2 * GI),
    Resources(500, 0, 60 * GI),
    Resources(1000, 0, 0, 0, (("licence", 1),)),
    Resources(),
)

TASK_LABELS = ((), (("app", "web"),), (("app", "db"),))

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
    {"in_domains": (InDomains("zone", 2, Selector((when("app In web"),))),)},
    {"in_domains": (InDomains("host", 2, Selector((when("app Exists"),))),)},
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

GANGS: tuple[tuple[tuple[int, ...], int | Percent | None], ...] = (
    ((1,), None),
    ((2,), None),
    ((3,), None),
    ((2,), 1),
    ((3,), 2),
    ((4,), Percent(50)),
    ((1, 1), None),
    ((1, 2), 2),
    ((1, 1), 1),
)
"""Sizes of the groups, and how many tasks must start together."""

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


def often(parts: Sequence[Mapping[str, Any]], chance: float) -> st.SearchStrategy[Mapping[str, Any]]:
    """One of these parts, at so much of a chance, else nothing."""
    return st.integers(0, int(len(parts) / chance) - 1).map(lambda at: parts[-at] if at <= len(parts) else {})


@st.composite
def node_specs(draw: st.DrawFn) -> NodeSpec:
    parts = {**draw(often(NODES, 0.3)), **draw(often(NODES, 0.2))}
    return NodeSpec(draw(st.sampled_from(CAPACITIES)), labels=draw(st.sampled_from(NODE_LABELS)), **parts)


@st.composite
def nodes(draw: st.DrawFn) -> tuple[Node, ...]:
    # Small numbers come last: they are rare, and found all the same when an example is made simpler.
    count = draw(st.sampled_from((3, 4, 5, 6, 2, 1, 0)))
    return tuple(
        Node(NodeName(f"n{at}"), draw(node_specs()), **draw(often(STATES, 0.15))) for at in range(count)
    )


@st.composite
def offers(draw: st.DrawFn) -> tuple[Offer, ...]:
    limits = draw(st.sampled_from(((), (), (1,), (2,), (1, 2))))
    return tuple(
        Offer(f"offer{at}", draw(node_specs()), limit, at * 60_000) for at, limit in enumerate(limits)
    )


@st.composite
def task_specs(draw: st.DrawFn, chance: float = 0.6) -> TaskSpec:
    parts = {"labels": draw(st.sampled_from(TASK_LABELS)), **draw(often(TASKS, chance))}
    if draw(st.integers(0, 3)) == 3:
        parts |= draw(often(TASKS, 1))
    return TaskSpec(draw(st.sampled_from(REQUESTS)), **parts)


@st.composite
def templates(draw: st.DrawFn, chance: float, priorities: Sequence[int]) -> JobTemplate:
    counts, least = draw(st.sampled_from(GANGS))
    groups = tuple(TaskGroup(draw(task_specs(chance)), count) for count in counts)
    priority = draw(st.sampled_from(priorities))
    parts = {**draw(often(JOBS, chance)), **draw(often(JOBS, chance / 3))}
    return JobTemplate(groups, least, priority=priority, **parts)


SINCE_THEN = {UntoleratedTaint, UntoleratedPassingTaint, NodeCordoned, NodeNotReady}

LOW = (Priority.LOW, Priority.BATCH, -1, Priority.MEDIUM, Priority.HIGH)
ALL = (Priority.MEDIUM, Priority.HIGH, 500, Priority.CRITICAL, Priority.LOW, Priority.BATCH)


@st.composite
def jobs(
    draw: st.DrawFn, prefix: str, counts: Sequence[int], kinds: st.SearchStrategy[JobTemplate]
) -> list[Job]:
    """Several; some of them equal, so that they are judged together."""
    found: list[Job] = []
    count = draw(st.sampled_from(counts))
    while len(found) < count:
        template, age_ms = draw(kinds), draw(st.sampled_from(AGES_MS))
        alike, retries = draw(st.sampled_from(((1, 0), (1, 0), (1, 3), (2, 0), (3, 0))))
        for _ in range(alike):
            job_id = JobId(f"{prefix}{len(found)}")
            found.append(Job(job_id, template, NOW_MS - age_ms, retries))
    return found


@st.composite
def clusters(draw: st.DrawFn, policy: Policy) -> ClusterRecords:
    cluster = ClusterRecords(draw(nodes()), draw(offers()))
    running = _started(draw, cluster, policy, draw(jobs("r", (6, 8, 4, 3, 2, 1, 0), templates(0.3, LOW))))
    waiting = [JobRecord(job) for job in draw(jobs("w", (4, 5, 6, 7, 3, 2, 1, 0), templates(0.6, ALL)))]
    everyone = [record.job.id for record in (*running, *waiting)]
    for at, record in enumerate(waiting):
        tie = draw(st.sampled_from(("", "", "", "", "", "", "", "", "connect", "preempted")))
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
        first, since_s = draw(st.integers(0, 5)), draw(st.sampled_from((3600, 600, 10)))
        is_broken, done = draw(st.sampled_from(((False, ()), (False, ()), (True, ()), (False, (0,)))))
        placed = _seats(world, policy, job, first)
        lies = lies_right(job.template.topology, [world.nodes[task.node] for task in placed])
        enough = len(placed) >= (1 if is_broken else job.template.min_count)
        kept = [
            task for task in placed if lies and enough and (job.template.topology or task.rank not in done)
        ]
        for task in placed:
            if task not in kept:
                world.lift(task)
        started_ms = max(NOW_MS - since_s * SECOND, job.submitted_ms)
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
                # What runs may have started before the node was tainted, cordoned or down.
                if {code for code, _ in refusals(world, ask, node)} <= SINCE_THEN:
                    devices = device_choices(free_devices(world, node), ask.spec.gpu)[0]
                    task = Task(record.job, rank, node.name, devices)
                    world.put(task)
                    placed.append(task)
                    break
    return placed


# -- policies

QUOTAS = (
    Quota((("cpu", 4000),)),
    Quota((("cpu", 6000), ("memory", 16 * GI)), lendable=(("cpu", 2000),)),
    Quota((("cpu", 2000),), borrowable=(("cpu", 3000),)),
    Quota((("gpu", 1000),)),
    Quota((("cpu", 1000), ("memory", 2 * GI))),
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
        strict=draw(st.integers(0, 9)) == 9,
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
        plugins=plugins,
    )


@st.composite
def policies(draw: st.DrawFn, quotas: bool | None = None) -> Policy:
    several = draw(st.sampled_from((False, False, True)))
    found = [draw(schedulers("rota", ("default",) if several else ()))]
    if several:
        found.append(draw(schedulers("second")))
    with_quotas = draw(st.integers(0, 2)) == 2 if quotas is None else quotas
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


# -- where much has to go for what waits

CROWDED_NODES = (
    NodeSpec(Resources(2000, 4 * GI)),
    NodeSpec(Resources(4000, 8 * GI), labels=(("zone", "a"),)),
    NodeSpec(Resources(3000, 4 * GI), labels=(("zone", "b"),)),
    NodeSpec(Resources(4000, 4 * GI), taints=(Taint("dedicated", Effect.NO_SCHEDULE, "ml"),)),
    NodeSpec(Resources(2000, 8 * GI), taints=(Taint("broken", Effect.NO_EXECUTE, "", NOW_MS - 60 * SECOND),)),
)

ELASTIC = (((3,), 2), ((4,), 2), ((4,), 3), ((2,), 1), ((2, 2), 3), ((1, 2), 2), ((2,), None), ((1,), None))

TIGHT_QUOTAS = (
    Quota((("cpu", 1000),)),
    Quota((("cpu", 3000), ("memory", 4 * GI))),
    Quota((("memory", 6 * GI),), lendable=(("memory", 2 * GI),)),
    Quota((("cpu", 2000),), borrowable=(("cpu", 1000),)),
)


@st.composite
def small_gangs(draw: st.DrawFn, priorities: Sequence[int]) -> JobTemplate:
    counts, least = draw(st.sampled_from(ELASTIC))
    requests = st.sampled_from((Resources(1000), Resources(500, GI), Resources(0, 2 * GI), Resources()))
    return JobTemplate(
        tuple(TaskGroup(TaskSpec(draw(requests)), count) for count in counts),
        least,
        priority=draw(st.sampled_from(priorities)),
        project=draw(st.sampled_from(("default", "p", "q"))),
        topology=draw(st.sampled_from(((), (), (), (lie("zone", "same"),)))),
    )


@st.composite
def crowded(draw: st.DrawFn) -> Situation:
    """Elastic gangs on few nodes, under tight quotas."""
    paths = draw(st.sets(st.sampled_from(("default", "p", "q")), min_size=1))
    quotas = tuple(TenantPolicy(path, quota=draw(st.sampled_from(TIGHT_QUOTAS))) for path in sorted(paths))
    share = FairShare(tenants=quotas, reclaim=draw(st.sampled_from(Reclaim)))
    policy = Policy((draw(schedulers()),), share)
    specs = draw(st.lists(st.sampled_from(CROWDED_NODES), min_size=1, max_size=4))
    cluster = ClusterRecords(tuple(Node(NodeName(f"n{at}"), spec) for at, spec in enumerate(specs)))
    running = _started(draw, cluster, policy, draw(jobs("r", (6, 8, 4, 2), small_gangs(LOW))))
    waiting = [JobRecord(job) for job in draw(jobs("w", (3, 4, 2, 1), small_gangs(ALL)))]
    return Situation(replace(cluster, jobs=(*running, *waiting)), policy)
