"""Makes the change that a remedy suggests, on the cluster's records."""

from __future__ import annotations

from msgspec.structs import replace

from rota.model.changes import (
    AskForLess,
    DropInDomains,
    DropJobAffinity,
    DropSpread,
    DropTopology,
    PayMore,
    RaisePriority,
    ShareNodes,
    ShortenTimeLimit,
    StartWithFewer,
)
from rota.model.explanation import Change
from rota.model.ids import NodeName
from rota.model.job import JobRecord
from rota.model.resources import Resources
from rota.model.taints import Toleration
from rota.model.task import TaskSpec
from rota.plugins.gpu_model import AllowGpuModel
from rota.plugins.node_affinity import DropNodeAffinity
from rota.plugins.node_selector import DropNodeSelector, LabelNode
from rota.plugins.pool import AllowPool
from rota.plugins.taints import Tolerate
from tests.builders import Cluster


def applied(cluster: Cluster, change: Change) -> Cluster:
    """The cluster in which somebody did what the change says."""
    if isinstance(change, LabelNode):
        return _with_nodes(cluster, change.node, change.key, change.value)
    jobs = tuple(
        _changed(record, change) if record.job.id == "j" else record for record in cluster.records.jobs
    )
    return Cluster(replace(cluster.records, jobs=jobs))


def _with_nodes(cluster: Cluster, name: NodeName, key: str, value: str) -> Cluster:
    nodes = []
    for node in cluster.records.nodes:
        if node.name == name:
            labels = dict(node.spec.labels) | {key: value}
            node = replace(node, spec=replace(node.spec, labels=tuple(sorted(labels.items()))))
        nodes.append(node)
    return Cluster(replace(cluster.records, nodes=tuple(nodes)))


def _changed(record: JobRecord, change: Change) -> JobRecord:
    template = record.job.template
    match change:
        case StartWithFewer(_, count):
            changed = replace(template, min_available=count)
        case RaisePriority(_, priority):
            changed = replace(template, priority=priority)
        case ShortenTimeLimit(_, most_ms):
            changed = replace(template, time_limit_ms=most_ms)
        case DropTopology(key):
            rules = tuple(rule for rule in template.topology if rule.key != key)
            changed = replace(template, topology=rules)
        case _:
            groups = (replace(group, spec=_changed_spec(group.spec, change)) for group in template.groups)
            changed = replace(template, groups=tuple(groups))
    return replace(record, job=replace(record.job, template=changed))


def _changed_spec(spec: TaskSpec, change: Change) -> TaskSpec:
    match change:
        case AskForLess():
            return _with_less(spec, change)
        case Tolerate(taints):
            extra = tuple(Toleration(one.key, not one.value, one.value, one.effect) for one in taints)
            return replace(spec, tolerations=spec.tolerations + extra)
        case DropNodeSelector(key, value):
            kept = tuple(pair for pair in spec.node_selector if pair != (key, value))
            return replace(spec, node_selector=kept)
        case DropNodeAffinity():
            return replace(spec, node_affinity=())
        case AllowPool(pool):
            return replace(spec, pools=(*spec.pools, pool) if spec.pools else ())
        case AllowGpuModel(model):
            models = (*spec.gpu.models, model) if spec.gpu.models else ()
            return replace(spec, gpu=replace(spec.gpu, models=models))
        case DropJobAffinity(key, requirements):
            terms = tuple(
                term
                for term in spec.job_affinity
                if (term.topology_key, term.selector.requirements) != (key, requirements)
            )
            return replace(spec, job_affinity=terms)
        case DropInDomains(key):
            return replace(spec, in_domains=tuple(one for one in spec.in_domains if one.topology_key != key))
        case DropSpread(key):
            return replace(spec, spread=tuple(one for one in spec.spread if one.topology_key != key))
        case ShareNodes():
            return replace(spec, exclusive=False)
        case PayMore(_, price_micro):
            return replace(spec, max_price_micro_per_hour=price_micro)
    raise AssertionError(change)


def _with_less(spec: TaskSpec, change: AskForLess) -> TaskSpec:
    requests: Resources = spec.requests
    amount = change.most
    match change.resource:
        case "cpu":
            return replace(spec, requests=replace(requests, cpu_milli=min(requests.cpu_milli, amount)))
        case "memory":
            return replace(spec, requests=replace(requests, memory_bytes=min(requests.memory_bytes, amount)))
        case "storage":
            return replace(
                spec, requests=replace(requests, storage_bytes=min(requests.storage_bytes, amount))
            )
        case "gpu" if change.of_one_device:
            return replace(spec, gpu=replace(spec.gpu, share_milli=min(spec.gpu.share_milli, amount)))
        case "gpu":
            return replace(spec, gpu=replace(spec.gpu, count=min(spec.gpu.count, amount // 1000)))
        case resource:
            extended = tuple(
                (name, min(had, amount) if name == resource else had) for name, had in requests.extended
            )
            return replace(spec, requests=replace(requests, extended=extended))
