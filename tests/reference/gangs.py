"""Whether a job could start: every way to place its tasks is tried."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from rota.model.job import JobRecord, TopologyMode, TopologyRule
from rota.model.node import Node
from rota.model.policy import Policy, QueuePolicy, SchedulerPolicy
from rota.model.task import InDomains, JobAffinity, Spread, TaskSpec
from tests.reference.quotas import broken, usage
from tests.reference.rules import Ask, device_choices, refusals, selects
from tests.reference.world import Task, World, domain, free_devices


@dataclass(frozen=True)
class GangAsk:
    """What waits of a job: for each group the ranks, and how many must start together."""

    record: JobRecord
    asks: tuple[Ask, ...]
    ranks: tuple[tuple[int, ...], ...]
    needed: int


def gang_ask(record: JobRecord, policy: Policy, now_ms: int) -> GangAsk:
    job = record.job
    waiting = list(record.waiting_ranks())
    groups = range(len(job.template.groups))
    ranks = tuple(tuple(rank for rank in waiting if job.group_of(rank) == group) for group in groups)
    missing = job.template.min_count - len(record.placements) - len(record.done)
    return GangAsk(
        record,
        tuple(_ask(record, group, policy, now_ms) for group in groups),
        ranks,
        max(1, min(missing, len(waiting))),
    )


def rest_of(gang: GangAsk, started: Collection[int]) -> GangAsk:
    """What still waits once these ranks have started."""
    left = tuple(tuple(rank for rank in ranks if rank not in started) for ranks in gang.ranks)
    return GangAsk(gang.record, gang.asks, left, 1 if started else gang.needed)


def _ask(record: JobRecord, group: int, policy: Policy, now_ms: int) -> Ask:
    job, template = record.job, record.job.template
    spec = template.groups[group].spec
    tenants = {tenant.path: tenant.pools for tenant in policy.fair_share.tenants}
    scheduler = scheduler_of(record, policy)
    limits = [
        spec.pools,
        queue_of(record, scheduler).pools if scheduler else (),
        tenants.get(template.project, ()),
        tenants.get(f"{template.project}/{template.user}", ()),
    ]
    most = spec.max_price_micro_per_hour
    if template.max_cost_micro is not None and template.time_limit_ms:
        # Each task may cost its part of what the job may.
        hourly = template.max_cost_micro * 3_600_000 // (template.time_limit_ms * template.task_count)
        most = hourly if most is None else min(most, hourly)
    return Ask(job, spec, now_ms, tuple(frozenset(limit) for limit in limits if limit), most)


def scheduler_of(record: JobRecord, policy: Policy) -> SchedulerPolicy | None:
    template = record.job.template
    for scheduler in policy.schedulers:
        is_meant = len(policy.schedulers) == 1 or template.scheduler in ("", scheduler.name)
        if is_meant and (not scheduler.namespaces or template.namespace in scheduler.namespaces):
            return scheduler
    return None


def queue_of(record: JobRecord, scheduler: SchedulerPolicy) -> QueuePolicy:
    """Its queue; one that nobody has defined is like the default one, on all pools."""
    queues = {queue.name: queue for queue in scheduler.queues}
    name = record.job.template.queue
    if name in queues:
        return queues[name]
    like = queues.get("default", QueuePolicy())
    return QueuePolicy(name, like.strategy, like.tenant_key, like.strict, like.order)


def hopeful(gang: GangAsk, of_its_own: bool) -> GangAsk:
    """The same as if other jobs did what it waits for: came near it, and evened out its spreads.
    Unless hopeful of its own, too, its tasks must do what they demand of each other."""
    namespace = gang.record.job.template.namespace
    labels = [ask.spec.labels for ask in gang.asks]

    def granted(spec: TaskSpec) -> frozenset[JobAffinity | Spread | InDomains]:
        company = [
            term
            for term in spec.job_affinity
            if of_its_own or not any(selects(term, namespace, namespace, one) for one in labels)
        ]
        return frozenset((*company, *spec.spread, *spec.in_domains))

    asks = tuple(replace(ask, granted=granted(ask.spec)) for ask in gang.asks)
    return replace(gang, asks=asks)


def can_start(world: World, gang: GangAsk, needed: int | None = None, quotas: Policy | None = None) -> bool:
    """Whether at least `needed` of its tasks find places, in any order, on any nodes and devices,
    within the quotas of the policy, if one is given."""
    held = [world.nodes[task.node] for task in world.of(gang.record.job.id)]
    search = _Search(world.copy(), gang, gang.needed if needed is None else needed, quotas)
    return search.completes(held, [])


@dataclass
class _Search:
    world: World
    gang: GangAsk
    needed: int
    quotas: Policy | None

    def __post_init__(self) -> None:
        self._used = usage(self.world)
        self._failed: set[tuple[tuple[int, str, tuple[int, ...]], ...]] = set()

    def completes(self, held: list[Node], placed: list[Task]) -> bool:
        rules = self.gang.record.job.template.topology
        if len(placed) >= self.needed and lies_right(rules, held):
            return True
        state = tuple(sorted((task.job.group_of(task.rank), task.node, task.devices) for task in placed))
        if state in self._failed:
            return False
        for task, node in self._next(placed):
            if not _may_still_lie_right(rules, [*held, node]):
                continue
            self.world.put(task)
            done = self._keeps_quotas() and self.completes([*held, node], [*placed, task])
            self.world.lift(task)
            if done:
                return True
        self._failed.add(state)
        return False

    def _keeps_quotas(self) -> bool:
        return self.quotas is None or not broken(self.quotas, self._used, usage(self.world))

    def _next(self, placed: list[Task]) -> Iterator[tuple[Task, Node]]:
        """Every next step: the first task left of some group, on some node, on some devices."""
        for group, ask in enumerate(self.gang.asks):
            left = self.gang.ranks[group][sum(task.job.group_of(task.rank) == group for task in placed) :]
            if not left:
                continue
            for node in self.world.nodes.values():
                if not refusals(self.world, ask, node):
                    for devices in device_choices(free_devices(self.world, node), ask.spec.gpu):
                        yield Task(ask.job, left[0], node.name, devices), node


def lies_right(rules: Sequence[TopologyRule], nodes: Sequence[Node]) -> bool:
    """Whether a job with tasks on these nodes meets its rules about how they lie to each other."""
    return all(
        len({domain(node, rule.key) for node in nodes}) == rule.count
        for rule in rules
        if rule.mode is TopologyMode.COUNT
    ) and _may_still_lie_right(rules, nodes)


def _may_still_lie_right(rules: Sequence[TopologyRule], nodes: Sequence[Node]) -> bool:
    for rule in rules:
        domains = [domain(node, rule.key) for node in nodes]
        distinct = len(set(domains))
        most = {
            TopologyMode.SAME: 1,
            TopologyMode.DIFFERENT: len(domains),
            TopologyMode.COUNT: rule.count,
        }[rule.mode]
        least = len(domains) if rule.mode is TopologyMode.DIFFERENT else 0
        if None in domains or not least <= distinct <= most:
            return False
    return True
