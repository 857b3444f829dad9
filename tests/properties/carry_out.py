"""What a plan makes of a cluster, without any backend: the next cycle's records."""

from __future__ import annotations

from msgspec.structs import replace

from rota.engine import decide
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName
from rota.model.job import JobRecord, Placement
from rota.model.node import Node
from rota.model.plan import EvictionCause, Plan
from rota.model.policy import Policy
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS


def plan_for(records: ClusterRecords, policy: Policy, now_ms: int) -> Plan:
    return decide(snapshot_of(records, policy.defaults), policy, now_ms, PLUGINS)


def carried_out(records: ClusterRecords, plan: Plan, now_ms: int) -> ClusterRecords:
    """Evicted tasks wait again and know by whom, bound ones run, offers have become nodes."""
    records, names = _with_opened_offers(records, plan)
    jobs = {record.job.id: record for record in records.jobs}
    for eviction in plan.evictions:
        record = jobs[eviction.job]
        left = tuple(one for one in record.placements if one.rank != eviction.rank)
        job = record.job
        if eviction.cause is not EvictionCause.TAINT:
            job = replace(job, preempted_by=_joined(job.preempted_by, eviction.preemptor))
        jobs[eviction.job] = JobRecord(job, left, record.done)
    for binding in plan.bindings:
        record = jobs[binding.job]
        node = names.get(binding.node, binding.node)
        placement = Placement(binding.rank, node, now_ms, binding.gpu_devices)
        jobs[binding.job] = replace(record, placements=(*record.placements, placement))
    return replace(records, jobs=tuple(jobs.values()))


def _joined(known: tuple[JobId, ...], one: JobId) -> tuple[JobId, ...]:
    return known if one in known else (*known, one)


def _with_opened_offers(
    records: ClusterRecords, plan: Plan
) -> tuple[ClusterRecords, dict[NodeName, NodeName]]:
    """An offered node that got a task exists from then on, under a name of its own."""
    nodes, offers = list(records.nodes), []
    names: dict[NodeName, NodeName] = {}
    for offer in records.offers:
        opened = sorted(
            {binding.node for binding in plan.bindings if binding.node.rpartition("#")[0] == offer.name}
        )
        for name in opened:
            names[name] = NodeName(f"{offer.name}-{len(nodes)}")
            nodes.append(Node(names[name], offer.spec))
        if len(opened) < offer.limit:
            offers.append(replace(offer, limit=offer.limit - len(opened)))
    return replace(records, nodes=tuple(nodes), offers=tuple(offers)), names
