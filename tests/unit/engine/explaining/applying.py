"""A remedy carried out."""

from __future__ import annotations

from msgspec.structs import replace

from rota.engine.explaining.verdicts import term_text
from rota.model.explanation import Change, Remedy
from rota.model.ids import NodeName
from rota.model.job import JobRecord
from rota.model.resources import Resources
from rota.model.taints import Toleration
from rota.model.task import TaskSpec
from tests.builders import Cluster
from tests.words import taint


def applied(cluster: Cluster, remedy: Remedy) -> Cluster:
    """The cluster in which somebody did what the remedy says."""
    if remedy.change is Change.NODE_LABEL:
        key, _, value = remedy.subject.partition("=")
        return _with_nodes(cluster, remedy.node, key, value)
    jobs = tuple(
        _changed(record, remedy) if record.job.id == "j" else record for record in cluster.records.jobs
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


def _changed(record: JobRecord, remedy: Remedy) -> JobRecord:
    template = record.job.template
    match remedy.change:
        case Change.GANG_SIZE:
            changed = replace(template, min_available=remedy.amount)
        case Change.PRIORITY:
            changed = replace(template, priority=remedy.amount)
        case Change.TIME_LIMIT:
            changed = replace(template, time_limit_ms=remedy.amount)
        case Change.TOPOLOGY:
            rules = tuple(rule for rule in template.topology if rule.key != remedy.subject)
            changed = replace(template, topology=rules)
        case _:
            groups = (replace(group, spec=_changed_spec(group.spec, remedy)) for group in template.groups)
            changed = replace(template, groups=tuple(groups))
    return replace(record, job=replace(record.job, template=changed))


def _changed_spec(spec: TaskSpec, remedy: Remedy) -> TaskSpec:
    subject = remedy.subject
    match remedy.change:
        case Change.RESOURCE:
            return _with_less(spec, subject, remedy.amount)
        case Change.TOLERATION:
            extra = tuple(
                Toleration(one.key, not one.value, one.value, one.effect)
                for one in map(taint, subject.split(", "))
            )
            return replace(spec, tolerations=spec.tolerations + extra)
        case Change.NODE_SELECTOR:
            kept = tuple(pair for pair in spec.node_selector if "=".join(pair) != subject)
            return replace(spec, node_selector=kept)
        case Change.NODE_AFFINITY:
            return replace(spec, node_affinity=())
        case Change.POOL:
            return replace(spec, pools=(*spec.pools, subject) if spec.pools else ())
        case Change.GPU_MODEL:
            models = (*spec.gpu.models, subject) if spec.gpu.models else ()
            return replace(spec, gpu=replace(spec.gpu, models=models))
        case Change.JOB_AFFINITY:
            terms = tuple(term for term in spec.job_affinity if term_text(term) != subject)
            spreads = tuple(one for one in spec.spread if f"spread over {one.topology_key}" != subject)
            return replace(spec, job_affinity=terms, spread=spreads)
        case Change.EXCLUSIVE:
            return replace(spec, exclusive=False)
        case Change.PRICE:
            return replace(spec, max_price_micro_per_hour=remedy.amount)
    raise AssertionError(remedy)


def _with_less(spec: TaskSpec, subject: str, amount: int) -> TaskSpec:
    requests: Resources = spec.requests
    match subject:
        case "cpu":
            return replace(spec, requests=replace(requests, cpu_milli=min(requests.cpu_milli, amount)))
        case "memory":
            return replace(spec, requests=replace(requests, memory_bytes=min(requests.memory_bytes, amount)))
        case "storage":
            return replace(
                spec, requests=replace(requests, storage_bytes=min(requests.storage_bytes, amount))
            )
        case "gpu":
            return replace(spec, gpu=replace(spec.gpu, count=min(spec.gpu.count, amount // 1000)))
        case "gpu share":
            return replace(spec, gpu=replace(spec.gpu, share_milli=min(spec.gpu.share_milli, amount)))
    extended = tuple((name, min(had, amount) if name == subject else had) for name, had in requests.extended)
    return replace(spec, requests=replace(requests, extended=extended))
