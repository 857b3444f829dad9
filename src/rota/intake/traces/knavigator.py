"""Gang and topology benchmarks after NVIDIA's knavigator: gang.json, scaling_and_topology.json.

All jobs arrive at once, at time 0, in the order of their ids. A job of r replicas is a gang of r tasks; each
runs for the given time and takes whole GPUs. There are no time limits. The files say nothing of the nodes'
CPU and memory, so a node has what the pods that its GPUs have room for ask for.

`scaling_and_topology.json` holds three workloads: `multi`, `single` and `network-topology`. In the last, the
levels of switches are node labels, closed nodes are cordoned, and the job has a preferred affinity to its own
tasks within each level, more for nearer ones: 90, 70, and so on, as in knavigator's own job templates.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from rota.intake.checking.convert import convert
from rota.intake.checking.fields import Amount, Field
from rota.intake.checking.names import UniqueNames, read_name
from rota.intake.documents.document import Document
from rota.intake.forms.blocks import Positive
from rota.intake.parts.tasks import MAX_DEVICES
from rota.intake.traces._choice import choose
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.node import Gpus, Node, NodeSpec
from rota.model.quantities import parse_bytes, parse_cpu_milli
from rota.model.resources import GpuRequest, Resources
from rota.model.selectors import Operator, Requirement, Selector
from rota.model.task import JobAffinity, TaskSpec
from rota.model.workload import SimJob, Workload

NETWORK_TOPOLOGY = "network-topology"

_NEAREST_WEIGHT = 90
_WEIGHT_STEP = 20
_LEAST_WEIGHT = 10

Devices: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_DEVICES)]
Seconds: TypeAlias = Annotated[int, Meta(ge=0, le=10**9)]


class _ClusterForm(Struct):
    """Fields beyond these are remarks for readers, here and below."""

    nodes: Positive
    gpus_per_node: Devices


class _PodForm(Struct):
    gpus: Devices
    cpu: Amount = 0
    memory: Amount = 0


class _StepForm(Struct):
    count: Positive
    replicas: Positive


class _JobForm(Struct):
    replicas: Positive
    duration_s: Seconds


class _GangForm(Struct):
    cluster: _ClusterForm
    pod: _PodForm
    duration_s: Seconds
    steps: tuple[_StepForm, ...] = ()
    jobs: tuple[_JobForm, ...] = ()
    name: str = ""


class _ScalingJobsForm(Struct):
    name: str
    jobs: Positive
    replicas: Positive


class _ScalingForm(Struct):
    cluster: _ClusterForm
    pod_gpus: Devices
    duration_s: Seconds
    workloads: tuple[_ScalingJobsForm, ...]


class _TopologyJobForm(Struct):
    replicas: Positive
    gpus_per_pod: Devices
    duration_s: Seconds


class _TopologyForm(Struct):
    levels: tuple[str, ...]
    """From the nearest to the farthest."""
    nodes: tuple[dict[str, str | bool], ...]
    job: _TopologyJobForm


class _ScalingAndTopologyForm(Struct):
    scaling: _ScalingForm | UnsetType = UNSET
    network_topology: _TopologyForm | UnsetType = UNSET


def knavigator_from(document: Document, workload: str | None = None) -> Workload:
    """`workload` is which one, where the file holds several."""
    at = Field(document)
    if isinstance(document.data, dict) and "cluster" in document.data:
        form = convert(document, _GangForm)
        gang = _gang(form, at)
        return choose({gang.name: gang}, workload, at)
    return choose(dict(_scaling_and_topology(convert(document, _ScalingAndTopologyForm), at)), workload, at)


def _gang(form: _GangForm, at: Field) -> Workload:
    stepwise = [step.replicas for step in form.steps for _ in range(step.count)]
    listed = [job.replicas for job in form.jobs]
    if not stepwise and not listed:
        raise at.error("neither steps nor jobs", "give one of them")
    if stepwise and listed and stepwise != listed:
        raise at.at("jobs").error("steps and jobs are not the same", "correct one of them, or remove it")
    durations_s = [job.duration_s for job in form.jobs] or [form.duration_s] * len(stepwise)
    pod = TaskSpec(
        Resources(
            cpu_milli=at.at("pod", "cpu").read(parse_cpu_milli, form.pod.cpu),
            memory_bytes=at.at("pod", "memory").read(parse_bytes, form.pod.memory),
        ),
        gpu=_gpus(form.pod.gpus, form.cluster, at.at("pod", "gpus")),
    )
    return Workload(
        name=form.name or "gang",
        jobs=_burst(pod, listed or stepwise, durations_s),
        nodes=_nodes(form.cluster, pod),
    )


def _scaling_and_topology(form: _ScalingAndTopologyForm, at: Field) -> Iterator[tuple[str, Workload]]:
    if form.scaling is not UNSET:
        scaling = form.scaling
        gpus = _gpus(scaling.pod_gpus, scaling.cluster, at.at("scaling", "pod_gpus"))
        pod = TaskSpec(gpu=gpus)
        names = UniqueNames("workload")
        for number, one in enumerate(scaling.workloads):
            names.claim(one.name, at.at("scaling", "workloads", number, "name"))
            jobs = _burst(pod, [one.replicas] * one.jobs, [scaling.duration_s] * one.jobs)
            yield one.name, Workload(name=one.name, jobs=jobs, nodes=_nodes(scaling.cluster, pod))
    if form.network_topology is not UNSET:
        yield NETWORK_TOPOLOGY, _network(form.network_topology, at.at("network_topology"))
    if form.scaling is UNSET and form.network_topology is UNSET:
        raise at.error("no workload of knavigator", "give a file with scaling or network_topology")


def _gpus(count: int, cluster: _ClusterForm, at: Field) -> GpuRequest:
    if count > cluster.gpus_per_node:
        raise at.error(f"{count} GPUs of a node that has {cluster.gpus_per_node}", "ask for fewer")
    return GpuRequest(count)


def _burst(pod: TaskSpec, replicas: Sequence[int], durations_s: Sequence[int]) -> tuple[SimJob, ...]:
    templates = {count: JobTemplate((TaskGroup(pod, count),)) for count in set(replicas)}
    width = len(str(len(replicas)))
    return tuple(
        SimJob(Job(JobId(f"job-{number:0{width}}"), templates[count]), 0, duration_s * 1000)
        for number, (count, duration_s) in enumerate(zip(replicas, durations_s, strict=True), start=1)
    )


def _nodes(cluster: _ClusterForm, pod: TaskSpec) -> tuple[Node, ...]:
    pods = cluster.gpus_per_node // pod.gpu.count
    capacity = Resources(pod.requests.cpu_milli * pods, pod.requests.memory_bytes * pods)
    spec = NodeSpec(capacity, Gpus(cluster.gpus_per_node))
    width = len(str(cluster.nodes))
    return tuple(Node(NodeName(f"n{number:0{width}}"), spec) for number in range(1, cluster.nodes + 1))


# -- the tree of switches


def _network(form: _TopologyForm, at: Field) -> Workload:
    labels = (("app", NETWORK_TOPOLOGY),)
    own = Selector((Requirement("app", Operator.IN, (NETWORK_TOPOLOGY,)),))
    weights = (max(_LEAST_WEIGHT, _NEAREST_WEIGHT - _WEIGHT_STEP * up) for up in range(len(form.levels)))
    affinity = tuple(
        JobAffinity(level, own, weight=weight) for level, weight in zip(form.levels, weights, strict=True)
    )
    pod = TaskSpec(gpu=GpuRequest(form.job.gpus_per_pod), labels=labels, job_affinity=affinity)
    nodes = [_switched_node(form, number, at.at("nodes", number)) for number in range(len(form.nodes))]
    names = UniqueNames("node")
    for number, node in enumerate(nodes):
        names.claim(node.name, at.at("nodes", number, "id"))
    return Workload(
        name=NETWORK_TOPOLOGY,
        jobs=_burst(pod, [form.job.replicas], [form.job.duration_s]),
        nodes=tuple(nodes),
    )


def _switched_node(form: _TopologyForm, number: int, at: Field) -> Node:
    fields = form.nodes[number]
    schedulable = fields.get("schedulable", True)
    if not isinstance(schedulable, bool):
        raise at.at("schedulable").error("expected true or false")
    labels = tuple(sorted((level, _text(fields, level, at)) for level in form.levels))
    return Node(
        NodeName(read_name(_text(fields, "id", at), at.at("id"))),
        NodeSpec(Resources(), Gpus(form.job.gpus_per_pod), labels=labels),
        cordoned=not schedulable,
    )


def _text(fields: dict[str, str | bool], name: str, at: Field) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise at.at(name).error("is missing, or is no text", "give each node an id and each level")
    return value
