"""How tests write nodes, tasks and jobs.

Amounts are as people write them (cpu in cores, memory "8Gi", gpu 2 or 0.3), times are seconds from
now, conditions on labels are "zone In a,b", "cores Gt 8" or "ssd Exists".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict, Unpack

from rota.model.ids import JobId, Labels, QueueName
from rota.model.job import Job, JobTemplate, Percent, Priority, TaskGroup, TopologyMode, TopologyRule
from rota.model.node import Gpus, NodeSpec
from rota.model.quantities import parse_bytes, parse_cpu_milli, parse_gpu_milli, parse_price_micro
from rota.model.resources import WHOLE_GPU_MILLI, GpuRequest, Resources
from rota.model.selectors import NodeTerm, Operator, PreferredNodeTerm, Requirement, Selector
from rota.model.taints import Effect, Taint, Toleration
from rota.model.task import JobAffinity, Spread, TaskSpec

NOW_MS = 1_800_000_000_000


class Amounts(TypedDict, total=False):
    cpu: float
    memory: str
    storage: str
    slots: int
    extended: Mapping[str, int]


class NodeWords(Amounts, total=False):
    gpus: int
    gpu_model: str
    backend: str
    pool: str
    labels: Mapping[str, str]
    zone: str
    taints: Iterable[str | Taint]
    price: float


class TaskWords(Amounts, total=False):
    gpu: float
    gpu_models: Sequence[str]
    labels: Mapping[str, str]
    selector: Mapping[str, str]
    requires: Iterable[str]
    prefers: str
    affinity: Iterable[JobAffinity]
    spread: Iterable[Spread]
    tolerates: Iterable[str | Toleration]
    spec: Mapping[str, Any]
    """Any other field of TaskSpec."""


class JobWords(TaskWords, total=False):
    tasks: int
    groups: Sequence[TaskGroup]
    """Tasks that differ, made with `tasks(3, cpu=1)`; in the place of the task's own words."""
    min_available: int | str
    priority: str | int
    topology: Iterable[TopologyRule]
    submitted: float
    limit: float
    """Time limit in seconds."""
    queue: str
    reservation: str
    after: float
    before: float
    """The period in which it is to start."""
    template: Mapping[str, Any]
    """Any other field of JobTemplate."""
    job: Mapping[str, Any]
    """Any other field of Job."""


def resources(words: Amounts) -> Resources:
    return Resources(
        parse_cpu_milli(words.get("cpu", 0)),
        parse_bytes(words.get("memory", "0")),
        parse_bytes(words.get("storage", "0")),
        words.get("slots", 0),
        tuple(sorted(words.get("extended", {}).items())),
    )


def node_spec(words: NodeWords) -> NodeSpec:
    labels = dict(words.get("labels", {}))
    if "zone" in words:
        labels["zone"] = words["zone"]
    return NodeSpec(
        resources(words),
        Gpus(words.get("gpus", 0), words.get("gpu_model", "")),
        words.get("backend", "local"),
        words.get("pool", "default"),
        pairs(labels),
        tuple(taint(one) if isinstance(one, str) else one for one in words.get("taints", ())),
        parse_price_micro(words.get("price", 0)),
    )


def task(words: TaskWords) -> TaskSpec:
    milli = parse_gpu_milli(words.get("gpu", 0))
    whole = milli >= WHOLE_GPU_MILLI
    gpu = GpuRequest(
        milli // WHOLE_GPU_MILLI if whole else int(milli > 0),
        milli if 0 < milli < WHOLE_GPU_MILLI else WHOLE_GPU_MILLI,
        tuple(words.get("gpu_models", ())),
    )
    requires = tuple(when(one) for one in words.get("requires", ()))
    wish = (PreferredNodeTerm(100, node_term(words["prefers"])),) if "prefers" in words else ()
    tolerations = (toleration(one) if isinstance(one, str) else one for one in words.get("tolerates", ()))
    return TaskSpec(
        requests=resources(words),
        gpu=gpu,
        labels=pairs(words.get("labels", {})),
        node_selector=pairs(words.get("selector", {})),
        node_affinity=(NodeTerm(Selector(requires)),) if requires else (),
        preferred_nodes=wish,
        job_affinity=tuple(words.get("affinity", ())),
        spread=tuple(words.get("spread", ())),
        tolerations=tuple(tolerations),
        **words.get("spec", {}),
    )


def tasks(count: int, **words: Unpack[TaskWords]) -> TaskGroup:
    return TaskGroup(task(words), count)


def job(name: str, words: JobWords) -> Job:
    least = words.get("min_available")
    urgency = words.get("priority", 0)
    fields = dict(words.get("template", {}))
    if "limit" in words:
        fields["time_limit_ms"] = int(words["limit"] * 1000)
    if "reservation" in words:
        fields["reservation"] = words["reservation"]
    if "queue" in words or "queue" in fields:
        fields["queue"] = QueueName(words.get("queue", fields.get("queue", "")))
    template = JobTemplate(
        groups=tuple(words.get("groups", ())) or (TaskGroup(task(words), words.get("tasks", 1)),),
        min_available=Percent(int(least.rstrip("%"))) if isinstance(least, str) else least,
        priority=int(Priority[urgency.upper()]) if isinstance(urgency, str) else urgency,
        topology=tuple(words.get("topology", ())),
        **fields,
    )
    submitted_ms = NOW_MS + int(words.get("submitted", 0) * 1000)
    period: dict[str, Any] = {}
    if "after" in words:
        period["start_after_ms"] = NOW_MS + int(words["after"] * 1000)
    if "before" in words:
        period["start_before_ms"] = NOW_MS + int(words["before"] * 1000)
    return Job(JobId(name), template, submitted_ms, **period, **words.get("job", {}))


def pairs(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted(labels.items()))


def taint(text: str) -> Taint:
    """dedicated=ml:NoSchedule"""
    mark, _, effect = text.rpartition(":")
    key, _, value = mark.partition("=")
    return Taint(key, Effect(effect), value)


def toleration(text: str) -> Toleration:
    """dedicated=ml, dedicated (whatever the value), either with :NoSchedule, or * for everything"""
    if text == "*":
        return Toleration(exists=True)
    mark, _, effect = text.partition(":")
    key, equals, value = mark.partition("=")
    return Toleration(key, not equals, value, Effect(effect) if effect else None)


def when(text: str) -> Requirement:
    key, operator, *values = text.split(" ", 2)
    return Requirement(key, Operator(operator), tuple(values[0].split(",")) if values else ())


def node_term(*conditions: str) -> NodeTerm:
    return NodeTerm(Selector(tuple(map(when, conditions))))


def near(key: str, condition: str, weight: int | None = None) -> JobAffinity:
    return JobAffinity(key, Selector((when(condition),)), weight=weight)


def apart(key: str, condition: str, weight: int | None = None) -> JobAffinity:
    return JobAffinity(key, Selector((when(condition),)), anti=True, weight=weight)


def spread(key: str, condition: str, max_skew: int = 1, **fields: Any) -> Spread:
    return Spread(key, max_skew, Selector((when(condition),)), **fields)


def lie(key: str, mode: str, count: int = 0) -> TopologyRule:
    """How a job's tasks lie to each other: lie("zone", "same"), lie("region", "count", 2)."""
    return TopologyRule(key, TopologyMode(mode), count)
