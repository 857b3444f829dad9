"""Jobs and their tasks as they are written."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from rota.intake._fields import Amount
from rota.intake._forms import (
    AmountsForm,
    Count,
    Form,
    JobAffinityForm,
    LabelsForm,
    NodeAffinityForm,
    Positive,
    PriorityForm,
    SpreadForm,
    TolerationForm,
)
from rota.model.job import AtMaintenance
from rota.model.task import CostGoal

Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]


class GpuRequestForm(Form):
    count: Positive | UnsetType = UNSET
    share: Amount | UnsetType = UNSET
    models: tuple[str, ...] = ()


class PortForm(Form):
    port: Port
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    address: str = ""


class CostForm(Form):
    goal: CostGoal = CostGoal.NONE
    max_per_hour: Amount | UnsetType = UNSET
    max_total: Amount | UnsetType = UNSET


class TaskForm(Form):
    """What a job says of its tasks, or a group of them of its own."""

    resources: AmountsForm = field(default_factory=dict)
    limits: AmountsForm = field(default_factory=dict)
    gpus: Amount | GpuRequestForm = 0
    ports: tuple[Port | PortForm, ...] = ()
    exclusive: bool = False
    platform: str = ""
    runtime: str = ""
    labels: LabelsForm = field(default_factory=dict)
    node_selector: LabelsForm = field(default_factory=dict)
    node_affinity: NodeAffinityForm = field(default_factory=NodeAffinityForm)
    affinity: tuple[JobAffinityForm, ...] = ()
    spread: tuple[SpreadForm, ...] = ()
    tolerations: tuple[str | TolerationForm, ...] = ()
    pools: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    near: LabelsForm = field(default_factory=dict)
    cost: CostForm = field(default_factory=CostForm)


class GroupForm(TaskForm):
    tasks: Positive = 1


class TopologyForm(Form):
    key: str
    tasks: Literal["same", "different"] | Positive


class RunningForm(Form):
    rank: Count
    node: str
    started: Amount | UnsetType = UNSET
    gpus: tuple[Count, ...] = ()


class PromisedTaskForm(Form):
    node: str
    gpus: tuple[Count, ...] = ()


class PromiseForm(Form):
    start: Amount
    on: str | tuple[str | PromisedTaskForm | None, ...]


class JobForm(TaskForm, kw_only=True):
    name: str
    namespace: str = "default"
    project: str = "default"
    user: str = "default"
    queue: str = "default"
    scheduler: str = ""
    priority: PriorityForm = "medium"
    preemptible: bool = True
    may_preempt: bool | UnsetType = UNSET
    submitted: Amount | UnsetType = UNSET
    retries: Count = 0
    tasks: Positive | UnsetType = UNSET
    groups: tuple[GroupForm, ...] | UnsetType = UNSET
    min_available: Amount | UnsetType = UNSET
    topology: tuple[TopologyForm, ...] = ()
    time_limit: Amount | UnsetType = UNSET
    start_after: Amount | UnsetType = UNSET
    start_before: Amount | UnsetType = UNSET
    start_within: Amount | UnsetType = UNSET
    at_maintenance: AtMaintenance = AtMaintenance.REQUEUE
    reservation: str = ""
    connect_to: str = ""
    running_on: str | tuple[str | RunningForm | None, ...] | UnsetType = UNSET
    started: Amount | UnsetType = UNSET
    preempted_by: tuple[str, ...] = ()
    done: tuple[Count, ...] = ()
    promised: PromiseForm | UnsetType = UNSET


TASK_FIELDS = frozenset(TaskForm.__struct_fields__)
KIND_FIELDS = frozenset(JobForm.__struct_fields__) - {
    "name",
    "submitted",
    "retries",
    "running_on",
    "started",
    "preempted_by",
    "done",
    "start_after",
    "start_before",
    "promised",
}
"""Those that jobs of one kind have in common; the others tell them apart."""


class JobsForm(Form):
    jobs: tuple[JobForm, ...]
