"""kube-scheduler's throughput workloads (scheduler_perf), as the facts in workloads.json.

A file holds several; the caller names one. Its init pods run when the replay begins, dealt out over the nodes
in turn; its measured pods (or gangs of them) all arrive at time 0 and run without end, as upstream only
watches how fast they are placed.

Constraints and peculiar nodes are written there in words (`features`, `notes`). `_FEATURES` and `_NOTES` say
what each means here; a feature that isn't listed is refused, so that no constraint gets lost. Init pods have
the constraints of the measured ones where they are otherwise the same. Left out, and said in the notes of the
workload: what upstream creates and deletes while it measures, and pods that a gate holds back for good.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from rota.intake.checking.convert import convert
from rota.intake.checking.fields import Field
from rota.intake.checking.names import UniqueNames, read_name
from rota.intake.documents.document import Document
from rota.intake.forms.blocks import Count, Positive
from rota.intake.traces._choice import choose
from rota.intake.traces._notes import Notes
from rota.model.ids import JobId, Labels, NodeName
from rota.model.interning import Interned
from rota.model.job import Job, JobTemplate, Placement, Priority, TaskGroup, TopologyMode, TopologyRule
from rota.model.node import Node, NodeSpec
from rota.model.resources import HostPort, Resources
from rota.model.selectors import NodeTerm, Operator, Requirement, Selector
from rota.model.task import JobAffinity, Spread, TaskSpec
from rota.model.workload import ENDLESS_MS, SimJob, Workload

Amount: TypeAlias = Annotated[int, Meta(ge=0, le=10**12)]

_MIB = 2**20
_NAMESPACES = ("sched-0", "sched-1")
"""Of init and of measured pods."""
_PINNED_NODE = "scheduler-perf-node"
_HOST_PORTS = re.compile(r"(\d{1,9}) \+ \(index mod (\d{1,9})\)", re.ASCII)


class _NodeForm(Struct):
    cpu_m: Amount
    memory_mi: Amount
    pods: Positive


class _PodForm(Struct, frozen=True):
    cpu_m: Amount
    memory_mi: Amount
    labels: dict[str, str] = {}
    priority: Annotated[int, Meta(ge=-(2**31), lt=2**31)] = Priority.MEDIUM
    host_port: str = ""


class _GangForm(Struct):
    groups: Positive
    pods_per_group: Positive
    min_count: Positive


class _CaseForm(Struct):
    name: str
    nodes: Positive
    init_pods: Count
    measured_pods: Count
    measured_pod: _PodForm
    init_pod: _PodForm | UnsetType = UNSET
    gang: _GangForm | UnsetType = UNSET
    features: tuple[str, ...] = ()
    notes: str = ""


class _FileForm(Struct):
    default_node: _NodeForm
    workloads: tuple[_CaseForm, ...]


def scheduler_perf_from(document: Document, workload: str | None = None) -> Workload:
    """`workload` is which one; there is no need to name it where there is only one."""
    form = convert(document, _FileForm)
    at = Field(document)
    names = UniqueNames("workload")
    for number, case in enumerate(form.workloads):
        names.claim(case.name, at.at("workloads", number, "name"))
    numbers = {case.name: number for number, case in enumerate(form.workloads)}
    number = choose(numbers, workload, at.at("workloads"))
    return _read(form.workloads[number], form.default_node, at.at("workloads", number))


# -- what the words mean


class _Meaning:
    """What features and notes say of one workload."""

    def __init__(self) -> None:
        self.measured: dict[str, object] = {}
        """Fields of the measured pods' spec."""
        self.topology: tuple[TopologyRule, ...] = ()
        self.node_labels: Callable[[int], Labels] = lambda number: ()
        self.pinned_node = False
        self.large_slots = 0
        self.init_kinds: tuple[dict[str, object], ...] = ()
        self.init_ends_every_ms = 0
        self.notes = Notes()


def _selector(color: str) -> Selector:
    return Selector((Requirement("color", Operator.IN, (color,)),))


def _affinity(color: str, key: str, *, anti: bool, weight: int | None) -> JobAffinity:
    # Every node has its name as its host.
    key = "host" if key == "hostname" else key
    return JobAffinity(key, _selector(color), _NAMESPACES, anti, weight)


def _pod_affinity(meaning: _Meaning, match: re.Match[str]) -> None:
    weight = None if match["how"] == "required" else int(match["weight"] or 1)
    term = _affinity(match["color"], match["key"], anti=bool(match["anti"]), weight=weight)
    meaning.measured["job_affinity"] = (term,)


def _node_zones(meaning: _Meaning, match: re.Match[str]) -> None:
    zones = Requirement("zone", Operator.IN, tuple(match["zones"].split(", ")))
    meaning.measured["node_affinity"] = (NodeTerm(Selector((zones,))),)


def _pinned(meaning: _Meaning, match: re.Match[str]) -> None:
    name = Requirement("metadata.name", Operator.IN, (_PINNED_NODE,))
    meaning.measured["node_affinity"] = (NodeTerm(names=(name,)),)


def _spread(meaning: _Meaning, match: re.Match[str]) -> None:
    required = match["action"] == "DoNotSchedule"
    spread = Spread(match["key"], int(match["skew"]), _selector(match["color"]), required)
    meaning.measured["spread"] = (spread,)


def _mixed(meaning: _Meaning, match: re.Match[str]) -> None:
    kinds: list[dict[str, object]] = [{}]
    for one in re.finditer(r"(required|preferred) (anti-)?affinity \((\w+), (\w+)\)", match["groups"]):
        how, anti, color, key = one.groups()
        term = _affinity(color, key, anti=bool(anti), weight=None if how == "required" else 1)
        kinds.append({"labels": (("color", color),), "job_affinity": (term,)})
    meaning.init_kinds = tuple(kinds)


def _racks(meaning: _Meaning, match: re.Match[str]) -> None:
    size = int(match["size"])
    meaning.node_labels = lambda number: (("rack", f"rack-{number // size:02}"),)
    meaning.topology = (TopologyRule("rack", TopologyMode.SAME),)


def _gated(meaning: _Meaning, match: re.Match[str]) -> None:
    meaning.notes.count("pods held back by a gate to the end, left out", times=int(match["count"]))


def _deleted(meaning: _Meaning, match: re.Match[str]) -> None:
    meaning.init_ends_every_ms = max(1, 1000 // int(match["rate"]))


def _churn(meaning: _Meaning, match: re.Match[str]) -> None:
    meaning.notes.remark(f"left out: {match[0]}")


def _nothing(meaning: _Meaning, match: re.Match[str]) -> None:
    """What is said there follows from the numbers."""


def _zone(meaning: _Meaning, match: re.Match[str]) -> None:
    meaning.node_labels = lambda number: (("zone", match["zone"]),)


def _zones(meaning: _Meaning, match: re.Match[str]) -> None:
    zones = match["zones"].split(", ")
    meaning.node_labels = lambda number: (("zone", zones[number % len(zones)]),)


def _pinned_node(meaning: _Meaning, match: re.Match[str]) -> None:
    meaning.pinned_node = True
    meaning.large_slots = int(match["slots"])


def _large_node(meaning: _Meaning, match: re.Match[str]) -> None:
    meaning.large_slots = int(match["slots"])


_Handler = Callable[[_Meaning, re.Match[str]], None]

_FEATURES: Mapping[str, _Handler] = {
    r"(?P<how>required|preferred) pod (?P<anti>anti-)?affinity(?:, weight (?P<weight>\d{1,9}))?: "
    r"label color=(?P<color>\w+), topology (?P<key>\w+), namespaces sched-0 and sched-1": _pod_affinity,
    r"required node affinity: zone in \((?P<zones>[\w, -]+)\)": _node_zones,
    r"required node affinity on the field metadata\.name = one named node": _pinned,
    r"topology spread: maxSkew (?P<skew>\d{1,9}) over (?P<key>\w+), "
    r"(?P<action>DoNotSchedule|ScheduleAnyway), selector color=(?P<color>\w+)": _spread,
    r"plain measured pods beside five groups of 2000 init pods: (?P<groups>plain, .*)": _mixed,
    r"all pods of a group in one rack \((?P<size>[1-9]\d{0,8}) nodes a rack, \d+ racks\)": _racks,
    r"gang(?:: all pods of a group or none)?": _nothing,
    r"(?P<count>\d{1,9}) pods held by a scheduling gate to the end": _gated,
    r"\d+ scheduled pods deleted at (?P<rate>[1-9]\d{0,8}) per second while measuring": _deleted,
    r"preemption: .*": _nothing,
    r"each gang pod must evict .*": _nothing,
    r"preemption churn: .*": _churn,
    r"churn[:,] .*": _churn,
}
_NOTES: Mapping[str, _Handler] = {
    r"every node carries zone=(?P<zone>[\w-]+)": _zone,
    r"nodes labelled round-robin over the zones (?P<zones>[\w-]+(?:, [\w-]+)*)": _zones,
    r"one extra node named scheduler-perf-node with room for (?P<slots>\d{1,9}) pods": _pinned_node,
    r"the one node has room for (?P<slots>\d{1,9}) pods": _large_node,
}


def _meaning(case: _CaseForm, at: Field) -> _Meaning:
    meaning = _Meaning()
    for number, feature in enumerate(case.features):
        for form, handle in _FEATURES.items():
            if match := re.fullmatch(form, feature):
                handle(meaning, match)
                break
        else:
            raise at.at("features", number).error(
                "this reader doesn't know this feature", "teach it to, in scheduler_perf.py"
            )
    for form, handle in _NOTES.items():
        if match := re.search(form, case.notes):
            handle(meaning, match)
    return meaning


# -- nodes and pods


def _read(case: _CaseForm, node: _NodeForm, at: Field) -> Workload:
    read_name(case.name, at.at("name"))
    if case.init_pods and case.init_pod is UNSET:
        raise at.at("init_pod").error("is missing", "say what the init pods ask for")
    meaning = _meaning(case, at)
    nodes = _nodes(case, node, meaning)
    return Workload(
        name=case.name,
        jobs=(*_init(case, meaning, nodes, at), *_measured(case, meaning, at)),
        nodes=nodes,
        notes=meaning.notes.all(),
    )


def _nodes(case: _CaseForm, form: _NodeForm, meaning: _Meaning) -> tuple[Node, ...]:
    intern = Interned[NodeSpec]()
    width = len(str(case.nodes - 1))
    capacity = Resources(form.cpu_m, form.memory_mi * _MIB, slots=form.pods)
    large = structs.replace(capacity, slots=meaning.large_slots or form.pods)
    plain_count = case.nodes - 1 if meaning.pinned_node else case.nodes
    plain = large if meaning.large_slots and not meaning.pinned_node else capacity
    nodes = [
        Node(NodeName(f"node-{number:0{width}}"), intern(NodeSpec(plain, labels=meaning.node_labels(number))))
        for number in range(plain_count)
    ]
    if meaning.pinned_node:
        nodes.append(Node(NodeName(_PINNED_NODE), NodeSpec(large)))
    return tuple(nodes)


def _spec(pod: _PodForm, constraints: Mapping[str, object]) -> TaskSpec:
    plain = TaskSpec(
        requests=Resources(pod.cpu_m, pod.memory_mi * _MIB), labels=tuple(sorted(pod.labels.items()))
    )
    return structs.replace(plain, **constraints)


def _template(spec: TaskSpec, pod: _PodForm, namespace: str, count: int = 1) -> JobTemplate:
    return JobTemplate((TaskGroup(spec, count),), namespace=namespace, priority=pod.priority)


def _measured(case: _CaseForm, meaning: _Meaning, at: Field) -> Iterator[SimJob]:
    pod = case.measured_pod
    spec = _spec(pod, meaning.measured)
    name, count, template = "pod", case.measured_pods, _template(spec, pod, _NAMESPACES[1])
    if case.gang is not UNSET:
        gang = case.gang
        if gang.groups * gang.pods_per_group != case.measured_pods:
            raise at.at("gang").error(f"doesn't come to {case.measured_pods} pods", "correct one of them")
        if gang.min_count > gang.pods_per_group:
            raise at.at("gang", "min_count").error("more than the group has pods", "lower it")
        name, count = "gang", gang.groups
        template = structs.replace(
            _template(spec, pod, _NAMESPACES[1], gang.pods_per_group),
            min_available=gang.min_count,
            topology=meaning.topology,
        )
    width = len(str(max(0, count - 1)))
    for number in range(count):
        yield SimJob(Job(JobId(f"{name}-{number:0{width}}"), template), 0, ENDLESS_MS)


def _init(case: _CaseForm, meaning: _Meaning, nodes: tuple[Node, ...], at: Field) -> Iterator[SimJob]:
    pod = case.init_pod
    if pod is UNSET:
        return
    ports = _ports(pod, at.at("init_pod", "host_port"))
    kinds = meaning.init_kinds or (meaning.measured if pod == case.measured_pod else {},)
    specs = [_spec(pod, kind) for kind in kinds]
    templates: dict[tuple[int, int], JobTemplate] = {}
    width = len(str(max(0, case.init_pods - 1)))
    for number in range(case.init_pods):
        kind, port = number * len(kinds) // case.init_pods, number % len(ports)
        template = templates.get((kind, port))
        if template is None:
            spec = structs.replace(specs[kind], ports=ports[port])
            template = templates[kind, port] = _template(spec, pod, _NAMESPACES[0])
        # Pods with ports come to a node one of each; others to each node in turn.
        node = nodes[number // len(ports) % len(nodes)]
        ends_ms = (number + 1) * meaning.init_ends_every_ms or ENDLESS_MS
        job = Job(JobId(f"init-{number:0{width}}"), template)
        yield SimJob(job, 0, ends_ms, placements=(Placement(0, node.name),))


def _ports(pod: _PodForm, at: Field) -> list[tuple[HostPort, ...]]:
    """Those of the pods in turn."""
    if not pod.host_port:
        return [()]
    match = _HOST_PORTS.match(pod.host_port)
    if match is None:
        raise at.error("this reader doesn't know this rule", 'write it like "8000 + (index mod 10)"')
    first, count = int(match[1]), int(match[2])
    if not 0 < first <= first + count - 1 < 2**16:
        raise at.error("there are no such ports", "give 1 to 65535")
    return [(HostPort(first + number),) for number in range(count)]
