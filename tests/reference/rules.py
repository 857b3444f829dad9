"""Why a node refuses a task, each rule in a few lines of plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from rota.model.job import Job
from rota.model.node import Node
from rota.model.reasons import (
    BeyondCapacity,
    Insufficient,
    JobAffinityUnmet,
    JobAntiAffinityUnmet,
    MemoryInUse,
    NodeExclusive,
    NodeInUse,
    OtherDomains,
    PortTaken,
    RunningAntiAffinity,
    SpreadUneven,
    TooFewDomains,
    TopologyLabelMissing,
)
from rota.model.resources import WHOLE_GPU_MILLI, GpuRequest, HostPort
from rota.model.selectors import NodeTerm, Selector
from rota.model.taints import Effect, Taint, bears_until_ms, tolerated
from rota.model.task import InDomains, JobAffinity, Spread, TaskSpec
from rota.model.verdict import Reason
from rota.plugins.backend import NotOfBackend
from rota.plugins.gpu_model import OtherGpuModel
from rota.plugins.memory import MemoryFull
from rota.plugins.node_affinity import NodeAffinityUnmet
from rota.plugins.node_name import OtherNodeNamed
from rota.plugins.node_ready import NodeCordoned, NodeNotReady
from rota.plugins.node_selector import NodeSelectorUnmet
from rota.plugins.pool import NotInPool
from rota.plugins.price import TooExpensive
from rota.plugins.taints import UntoleratedPassingTaint, UntoleratedTaint
from tests.reference.world import Task, World, amounts, capacity, domain, free, free_devices, label

Because = tuple[type[Reason], str]
"""A reason and what it is about; the subject is empty where the reason alone says enough."""


@dataclass(frozen=True)
class Ask:
    """A task to be placed, with all that its job, queue and tenant add to its own conditions."""

    job: Job
    spec: TaskSpec
    now_ms: int
    pools: tuple[frozenset[str], ...] = ()
    """Each must contain the node's pool."""
    most_per_hour: int | None = None
    granted: frozenset[JobAffinity | Spread | InDomains] = frozenset()
    """Rules about other tasks that are taken to be kept wherever the node has the key."""


def refusals(world: World, ask: Ask, node: Node) -> set[Because]:
    """All that speaks against the node."""
    return {
        *by_properties(ask, node, node.name in world.offered),
        *by_room(world, ask.spec, node),
        *by_neighbours(world, ask, node),
    }


# -- what the node is


def by_properties(ask: Ask, node: Node, is_offer: bool) -> Iterator[Because]:
    spec = ask.spec
    if spec.node_name and spec.node_name != node.name:
        yield OtherNodeNamed, spec.node_name
    if any(node.spec.pool not in pools for pools in ask.pools):
        yield NotInPool, ""
    if spec.backends and node.spec.backend not in spec.backends:
        yield NotOfBackend, ""
    for key, value in spec.node_selector:
        if label(node, key) != value:
            yield NodeSelectorUnmet, f"{key}={value}"
    if spec.node_affinity and not any(_holds(term, node) for term in spec.node_affinity):
        yield NodeAffinityUnmet, ""
    if spec.gpu.count and spec.gpu.models and node.spec.gpus.model not in spec.gpu.models:
        yield OtherGpuModel, ""
    for taint in _against(ask, node):
        yield UntoleratedPassingTaint if taint.is_passing else UntoleratedTaint, taint.notation
    if ask.most_per_hour is not None and price(spec, node, is_offer) > ask.most_per_hour:
        yield TooExpensive, ""
    if not node.ready:
        yield NodeNotReady, ""
    if node.cordoned:
        yield NodeCordoned, ""
    yield from _by_memory(node)


def _by_memory(node: Node) -> Iterator[Because]:
    if node.memory_others_bytes and node.memory_others_bytes >= node.spec.capacity.memory_bytes:
        yield MemoryFull, ""


def _holds(term: NodeTerm, node: Node) -> bool:
    conditions = [(one, label(node, one.key)) for one in term.labels.requirements]
    conditions += [(one, str(node.name)) for one in term.names]
    return bool(conditions) and all(one.admits(value) for one, value in conditions)


def _against(ask: Ask, node: Node) -> list[Taint]:
    """Taints that it doesn't tolerate, or that would drive it out again at once."""
    found = []
    for taint in node.spec.taints:
        until = bears_until_ms(taint, ask.spec.tolerations)
        is_over = taint.effect is Effect.NO_EXECUTE and until is not None and until <= ask.now_ms
        if taint.effect is not Effect.PREFER_NO_SCHEDULE and (
            is_over or not tolerated(taint, ask.spec.tolerations)
        ):
            found.append(taint)
    return found


def price(spec: TaskSpec, node: Node, is_offer: bool) -> Fraction:
    """Of an hour: the task's largest share of the node; all of it if the node is started for it."""
    has = capacity(node)
    shares = [
        Fraction(amount, has[name])
        for name, amount in amounts(spec).items()
        if name in ("cpu", "memory", "storage", "gpu") and has[name]
    ]
    share = 1 if is_offer or spec.exclusive else min(1, max(shares, default=0))
    return Fraction(node.spec.price_micro_per_hour) * share


# -- what is left of the node


def by_room(world: World, spec: TaskSpec, node: Node) -> Iterator[Because]:
    has, left, devices = capacity(node), free(world, node), free_devices(world, node)
    for name, amount in amounts(spec).items():
        if name == "gpu":
            continue
        if has.get(name, 0) < amount:
            yield BeyondCapacity, name
        if left.get(name, 0) < amount:
            by_others = name == "memory" and left[name] + node.memory_others_bytes >= amount
            yield (MemoryInUse, "") if by_others and node.memory_others_bytes else (Insufficient, name)
    if spec.gpu.count:
        if len(devices) < spec.gpu.count:
            yield BeyondCapacity, "gpu"
        if not device_choices(devices, spec.gpu):
            yield Insufficient, "gpu"
    others = world.on(node)
    if spec.exclusive and others:
        yield NodeInUse, ""
    if not spec.exclusive and any(other.spec.exclusive for other in others):
        yield NodeExclusive, ""
    if any(clash(mine, theirs) for other in others for mine in spec.ports for theirs in other.spec.ports):
        yield PortTaken, ""


def device_choices(left: list[int], gpu: GpuRequest) -> list[tuple[int, ...]]:
    """The devices that a task could get: all choices that differ in what they leave."""
    if not gpu.count:
        return [()]
    if gpu.is_fraction:
        by_rest = {rest: (device,) for device, rest in enumerate(left) if rest >= gpu.share_milli}
        return list(by_rest.values())
    idle = [device for device, rest in enumerate(left) if rest == WHOLE_GPU_MILLI]
    return [tuple(idle[: gpu.count])] if len(idle) >= gpu.count else []


def clash(one: HostPort, other: HostPort) -> bool:
    same = (one.port, one.protocol) == (other.port, other.protocol)
    return same and (not one.address or not other.address or one.address == other.address)


# -- who runs there and thereabouts


def by_neighbours(world: World, ask: Ask, node: Node) -> Iterator[Because]:
    spec, namespace = ask.spec, ask.job.template.namespace
    for term in spec.job_affinity:
        if term.is_required and not term.anti:
            yield from _near(world, ask, term, node)
        if term.is_required and term.anti and _in_domain(world, term, namespace, node):
            yield JobAntiAffinityUnmet, ""
    if any(
        _excludes(task, ask.job, spec, world.nodes[task.node], node)
        for task in world.tasks()
        if task.spec.job_affinity
    ):
        yield RunningAntiAffinity, ""
    for rule in spec.spread:
        if rule.required:
            yield from _spread(world, ask, rule, node)
    for few in spec.in_domains:
        yield from _in_domains(world, ask, few, node)


def _near(world: World, ask: Ask, term: JobAffinity, node: Node) -> Iterator[Because]:
    if domain(node, term.topology_key) is None:
        yield TopologyLabelMissing, term.topology_key
    if term in ask.granted:
        return
    namespace = ask.job.template.namespace
    is_of_the_kind = selects(term, namespace, namespace, ask.spec.labels)
    wanted = term.namespaces or (namespace,)
    alike = [
        other
        for other in ask.spec.job_affinity
        if other.is_required
        and not other.anti
        and (other.selector, other.namespaces or (namespace,)) == (term.selector, wanted)
    ]
    first = is_of_the_kind and not any(
        task for other in alike for task in _all_in_domains(world, other, namespace)
    )
    if not first and not _in_domain(world, term, namespace, node):
        yield JobAffinityUnmet, ""


def _all_in_domains(world: World, term: JobAffinity, namespace: str) -> Iterator[Task]:
    return (
        task
        for task in world.tasks()
        if selects(term, namespace, task.job.template.namespace, task.spec.labels)
        and domain(world.nodes[task.node], term.topology_key) is not None
    )


def _in_domain(world: World, term: JobAffinity, namespace: str, node: Node) -> bool:
    here = domain(node, term.topology_key)
    return here is not None and any(
        domain(world.nodes[task.node], term.topology_key) == here
        for task in _all_in_domains(world, term, namespace)
    )


def _excludes(owner: Task, job: Job, spec: TaskSpec, its_node: Node, node: Node) -> bool:
    """Whether the owner's anti-affinity keeps this task off the node."""
    its_namespace, namespace = owner.job.template.namespace, job.template.namespace
    return any(
        term.anti
        and term.is_required
        and selects(term, its_namespace, namespace, spec.labels)
        and domain(node, term.topology_key) is not None
        and domain(node, term.topology_key) == domain(its_node, term.topology_key)
        for term in owner.spec.job_affinity
    )


def selects(
    term: JobAffinity, own_namespace: str, namespace: str, labels: tuple[tuple[str, str], ...]
) -> bool:
    wanted = term.namespaces or (own_namespace,)
    return ("*" in wanted or namespace in wanted) and term.selector.selects(labels)


def _spread(world: World, ask: Ask, rule: Spread, node: Node) -> Iterator[Because]:
    here = domain(node, rule.topology_key)
    if here is None:
        yield TopologyLabelMissing, rule.topology_key
        return
    if rule in ask.granted:
        return
    counts: dict[str, int] = {}
    for other in world.nodes.values():
        there = domain(other, rule.topology_key)
        if there is not None and _has_keys(ask, other) and _counts_for_spread(ask, rule, other):
            counts[there] = counts.get(there, 0) + sum(
                _is_spread(rule.selector, ask.job, task) for task in world.on(other)
            )
    least = min(counts.values()) if counts and len(counts) >= rule.min_domains else 0
    itself = int(rule.selector.selects(ask.spec.labels))
    if counts.get(here, 0) + itself - least > rule.max_skew:
        yield SpreadUneven, rule.topology_key


def _in_domains(world: World, ask: Ask, rule: InDomains, node: Node) -> Iterator[Because]:
    here = domain(node, rule.topology_key)
    there = {domain(other, rule.topology_key) for other in world.nodes.values()} - {None}
    if here is None:
        yield TopologyLabelMissing, rule.topology_key
    if len(there) < rule.count:
        yield TooFewDomains, rule.topology_key
    if here is None or rule in ask.granted:
        return
    held = {
        domain(world.nodes[task.node], rule.topology_key)
        for task in world.tasks()
        if task.job.template.namespace == ask.job.template.namespace
        and rule.selector.selects(task.spec.labels)
    } - {None}
    if (here in held) != (len(held) >= rule.count) or len(there) < rule.count:
        yield OtherDomains, rule.topology_key


def _has_keys(ask: Ask, node: Node) -> bool:
    """Of all spreads that it must keep to: it could never go to another node."""
    return all(domain(node, one.topology_key) is not None for one in ask.spec.spread if one.required)


def _counts_for_spread(ask: Ask, rule: Spread, node: Node) -> bool:
    spec = ask.spec
    if rule.honor_affinity:
        if any(label(node, key) != value for key, value in spec.node_selector):
            return False
        if spec.node_affinity and not any(_holds(term, node) for term in spec.node_affinity):
            return False
    return not (rule.honor_taints and _against(ask, node))


def _is_spread(selector: Selector, job: Job, task: Task) -> bool:
    return task.job.template.namespace == job.template.namespace and selector.selects(task.spec.labels)
