"""Kueue's workload generator files: test/performance/scheduler/configs/*/generator.yaml.

| Kueue | here |
|---|---|
| cohort i of class c | project `c-i` |
| its queue j of queue set s, class q | user `q-s-j` in that project |
| `nominalQuota`, `borrowingLimit` | the user's CPU quota; without a limit it may borrow all that is idle |
| `reclaimWithinCohort` | `FairShare.reclaim`, which Rota has once for all: queues that differ are refused |
| `withinClusterQueue` | `may_preempt`: true with `LowerPriority`, false with `Never` |
| workload k of set w, entry e | job `c-i/q-s-j/CLASS-w-k-e`; the class is its label `class` |
| `creationIntervalMs` | arrivals: see below |
| `request`, `podCount` | that many tasks of so much CPU, a gang |
| `priority`, `runtimeMs` | `priority`, `run_ms`; there are no time limits |

**Arrivals.** Each set of each queue makes one workload an interval, the first after one interval, all sets
and queues side by side; the entries of a set take turns.

**Nodes.** With a `topology` they are its leaves, labelled by each level's `nodeLabel`. Without one Kueue
admits by quota alone; so each cohort gets one node in a pool of its own that is as large as all its quotas
together, and its jobs ask for that pool: what fits the quotas fits the node.

**Topology constraints**, within the label `tasLevel`. Rota's affinity and spread count tasks by label, and
all jobs of a class share one, so that they share a template.
- `required`: topology rule "same": all tasks of the job in one domain.
- `preferred`: preferred affinity to tasks of the same class there. It draws all of the class together,
  which keeps each job in one domain as long as that has room.
- `balanced`: preferred spread of the class over the domains, with a skew of `sliceSize`. Kueue asks there
  that each slice of `sliceSize` pods be in one domain; the spread keeps domains even by that measure
  instead, and doesn't know slices.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, NamedTuple, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from rota.intake.checking.convert import convert
from rota.intake.checking.fields import Amount, Field
from rota.intake.checking.names import UniqueNames, read_name, read_step
from rota.intake.documents.document import Document
from rota.intake.forms.blocks import AmountsForm, Count, Form, Positive
from rota.intake.parts.amounts import read_resources
from rota.model.ids import JobId, Labels, NodeName
from rota.model.interning import Interned
from rota.model.job import Job, JobTemplate, TaskGroup, TopologyMode, TopologyRule
from rota.model.node import Node, NodeSpec
from rota.model.policy import FairShare, Quota, Reclaim, TenantPolicy
from rota.model.quantities import MAX_AMOUNT, parse_cpu_milli
from rota.model.resources import Resources
from rota.model.selectors import Operator, Requirement, Selector
from rota.model.task import JobAffinity, Spread, TaskSpec
from rota.model.workload import SimJob, Workload, WorkloadNote

MAX_WORKLOADS = 1_000_000
MAX_NODES = 1_000_000

_CLASS = "class"
_PREFERENCE = 100
_RECLAIM = {"Any": Reclaim.ANY, "LowerPriority": Reclaim.LOWER_PRIORITY, "Never": Reclaim.NEVER}

Milliseconds: TypeAlias = Annotated[int, Meta(ge=0, le=10**12)]


class _WorkloadForm(Form):
    className: str
    runtimeMs: Milliseconds
    request: Amount
    priority: Annotated[int, Meta(ge=-(2**31), lt=2**31)] = 0
    podCount: Positive = 1
    tasConstraint: Literal["required", "preferred", "balanced"] | UnsetType = UNSET
    tasLevel: str | UnsetType = UNSET
    sliceSize: Positive = 1


class _WorkloadsSetForm(Form):
    count: Count
    creationIntervalMs: Milliseconds
    workloads: tuple[_WorkloadForm, ...]


class _QueuesSetForm(Form):
    className: str
    count: Count
    nominalQuota: Amount
    workloadsSets: tuple[_WorkloadsSetForm, ...]
    borrowingLimit: Amount | UnsetType = UNSET
    reclaimWithinCohort: Literal["Any", "LowerPriority", "Never"] = "Never"
    withinClusterQueue: Literal["LowerPriority", "Never"] = "Never"


class _CohortForm(Form):
    className: str
    count: Count
    queuesSets: tuple[_QueuesSetForm, ...]


class _LevelForm(Form):
    name: str
    count: Positive
    nodeLabel: str
    capacity: AmountsForm = field(default_factory=dict)


class _TopologyForm(Form):
    name: str
    levels: Annotated[tuple[_LevelForm, ...], Meta(min_length=1)]


class _FlavorForm(Form):
    name: str
    nodeLabel: str = ""
    topologyName: str = ""


class _GeneratorForm(Form):
    cohorts: Annotated[tuple[_CohortForm, ...], Meta(min_length=1)]
    topology: _TopologyForm | UnsetType = UNSET
    resourceFlavor: _FlavorForm | UnsetType = UNSET


class _Queue(NamedTuple):
    cohort: str
    name: str
    form: _QueuesSetForm
    at: Field

    @property
    def path(self) -> str:
        return f"{self.cohort}/{self.name}"


class _Made(NamedTuple):
    """A workload, and where in the file's order it comes."""

    arrival_ms: int
    order: int
    job: SimJob


def kueue_from(document: Document, *, name: str = "") -> Workload:
    form = convert(document, _GeneratorForm)
    at = Field(document)
    _check_size(form, at)
    queues = list(_queues(form, at))
    topology = None if form.topology is UNSET else form.topology
    labels = _flavor_labels(form)
    maker = _JobMaker(topology)
    made = sorted(job for queue in queues for job in maker.jobs_of(queue))
    return Workload(
        name=name or document.path,
        jobs=tuple(one.job for one in made),
        nodes=_pools(queues) if topology is None else _leaves(topology, labels, at.at("topology")),
        fair_share=_fair_share(queues),
        notes=_notes(topology),
    )


def _notes(topology: _TopologyForm | None) -> tuple[WorkloadNote, ...]:
    if topology is None:
        return (WorkloadNote("no nodes in the file: each cohort has one of the size of its quotas"),)
    return ()


def _queues(form: _GeneratorForm, at: Field) -> Iterator[_Queue]:
    names = UniqueNames("cohort")
    for number, cohort in enumerate(form.cohorts):
        cohort_at = at.at("cohorts", number)
        read_step(cohort.className, cohort_at.at("className"))
        names.claim(cohort.className, cohort_at.at("className"))
        for index in range(cohort.count):
            for set_number, queues in enumerate(cohort.queuesSets):
                queues_at = cohort_at.at("queuesSets", set_number)
                read_step(queues.className, queues_at.at("className"))
                for queue in range(queues.count):
                    queue_name = f"{queues.className}-{set_number}-{queue}"
                    yield _Queue(f"{cohort.className}-{index}", queue_name, queues, queues_at)


def _check_size(form: _GeneratorForm, at: Field) -> None:
    total = sum(
        cohort.count
        * queues.count
        * max(1, sum(one.count * len(one.workloads) for one in queues.workloadsSets))
        for cohort in form.cohorts
        for queues in cohort.queuesSets
    )
    if total > MAX_WORKLOADS:
        raise at.at("cohorts").error(f"{total:,} workloads", f"make at most {MAX_WORKLOADS:,}")


# -- workloads


class _JobMaker:
    def __init__(self, topology: _TopologyForm | None) -> None:
        self._levels = None if topology is None else {level.nodeLabel for level in topology.levels}
        self._intern_spec = Interned[TaskSpec]()
        self._order = 0

    def jobs_of(self, queue: _Queue) -> Iterator[_Made]:
        for set_number, workloads in enumerate(queue.form.workloadsSets):
            at = queue.at.at("workloadsSets", set_number, "workloads")
            templates = [
                self._template(queue, form, at.at(entry)) for entry, form in enumerate(workloads.workloads)
            ]
            width = len(str(max(0, workloads.count - 1)))
            for turn in range(workloads.count * len(templates)):
                number, entry = divmod(turn, len(templates))
                form = workloads.workloads[entry]
                arrival_ms = (turn + 1) * workloads.creationIntervalMs
                job_id = JobId(f"{queue.path}/{form.className}-{set_number}-{number:0{width}}-{entry}")
                job = SimJob(Job(job_id, templates[entry], arrival_ms), arrival_ms, form.runtimeMs)
                self._order += 1
                yield _Made(arrival_ms, self._order, job)

    def _template(self, queue: _Queue, form: _WorkloadForm, at: Field) -> JobTemplate:
        read_name(form.className, at.at("className"))
        rules: tuple[TopologyRule, ...] = ()
        level = self._level(form, at)
        if form.tasConstraint == "required":
            rules = (TopologyRule(level, TopologyMode.SAME),)
        return JobTemplate(
            groups=(TaskGroup(self._spec(queue, form, level, at), form.podCount),),
            project=queue.cohort,
            user=queue.name,
            labels=((_CLASS, form.className),),
            priority=form.priority,
            may_preempt=queue.form.withinClusterQueue == "LowerPriority",
            topology=rules,
        )

    def _level(self, form: _WorkloadForm, at: Field) -> str:
        if form.tasLevel is UNSET:
            if form.tasConstraint is not UNSET:
                raise at.at("tasConstraint").error("a constraint within no level", "add tasLevel")
            return ""
        if form.tasConstraint is UNSET:
            raise at.at("tasLevel").error("a level without a constraint", "add tasConstraint")
        if self._levels is None or form.tasLevel not in self._levels:
            raise at.at("tasLevel").error(
                f'the topology has no level "{form.tasLevel}"', "name the nodeLabel of one of its levels"
            )
        return form.tasLevel

    def _spec(self, queue: _Queue, form: _WorkloadForm, level: str, at: Field) -> TaskSpec:
        selector = Selector((Requirement(_CLASS, Operator.IN, (form.className,)),))
        affinity: tuple[JobAffinity, ...] = ()
        spread: tuple[Spread, ...] = ()
        if form.tasConstraint == "preferred":
            affinity = (JobAffinity(level, selector, weight=_PREFERENCE),)
        elif form.tasConstraint == "balanced":
            spread = (Spread(level, form.sliceSize, selector, required=False),)
        return self._intern_spec(
            TaskSpec(
                requests=Resources(cpu_milli=at.at("request").read(parse_cpu_milli, form.request)),
                labels=((_CLASS, form.className),) if affinity or spread else (),
                job_affinity=affinity,
                spread=spread,
                pools=(queue.cohort,) if self._levels is None else (),
            )
        )


# -- quotas


def _fair_share(queues: Sequence[_Queue]) -> FairShare:
    reclaims = {queue.form.reclaimWithinCohort for queue in queues}
    if len(reclaims) > 1:
        differing = next(
            queue for queue in queues if queue.form.reclaimWithinCohort != queues[0].form.reclaimWithinCohort
        )
        raise differing.at.at("reclaimWithinCohort").error(
            "is not the same for all queues", "Rota has one rule for all: read one kind of them at a time"
        )
    return FairShare(
        tenants=tuple(TenantPolicy(queue.path, quota=_quota(queue)) for queue in queues),
        reclaim=_RECLAIM[reclaims.pop()] if reclaims else Reclaim.NEVER,
    )


def _nominal_milli(queue: _Queue) -> int:
    return queue.at.at("nominalQuota").read(parse_cpu_milli, queue.form.nominalQuota)


def _quota(queue: _Queue) -> Quota:
    borrowable = None
    if queue.form.borrowingLimit is not UNSET:
        limit = queue.at.at("borrowingLimit").read(parse_cpu_milli, queue.form.borrowingLimit)
        borrowable = (("cpu", limit),)
    return Quota(nominal=(("cpu", _nominal_milli(queue)),), borrowable=borrowable)


# -- nodes


def _pools(queues: Sequence[_Queue]) -> tuple[Node, ...]:
    cpu_milli: dict[str, int] = {}
    for queue in queues:
        cpu_milli[queue.cohort] = cpu_milli.get(queue.cohort, 0) + _nominal_milli(queue)
        if cpu_milli[queue.cohort] > MAX_AMOUNT:
            raise queue.at.at("nominalQuota").error(
                "with this the cohort's quota is absurdly large", "lower it"
            )
    # A task takes a slot and at least a thousandth of a CPU, so slots are never what is short.
    return tuple(
        Node(NodeName(cohort), NodeSpec(Resources(cpu_milli=milli, slots=max(1, milli)), pool=cohort))
        for cohort, milli in cpu_milli.items()
    )


def _flavor_labels(form: _GeneratorForm) -> Labels:
    if form.resourceFlavor is UNSET or not form.resourceFlavor.nodeLabel:
        return ()
    return ((form.resourceFlavor.nodeLabel, form.resourceFlavor.name),)


def _leaves(topology: _TopologyForm, labels: Labels, at: Field) -> tuple[Node, ...]:
    *_, leaf = topology.levels
    capacity = read_resources(leaf.capacity, at.at("levels", len(topology.levels) - 1, "capacity"))
    places: list[tuple[str, Labels]] = [("", labels)]
    for number, level in enumerate(topology.levels):
        if len(places) * level.count > MAX_NODES:
            raise at.at("levels", number, "count").error(
                f"with this there are more than {MAX_NODES:,} nodes", "lower it"
            )
        width = len(str(level.count - 1))
        names = [f"{level.name}-{index:0{width}}" for index in range(level.count)]
        places = [
            (inner, (*outer_labels, (level.nodeLabel, inner)))
            for outer, outer_labels in places
            for inner in (f"{outer}-{name}" if outer else name for name in names)
        ]
    return tuple(
        Node(NodeName(name), NodeSpec(capacity, labels=tuple(sorted(node_labels))))
        for name, node_labels in places
    )
