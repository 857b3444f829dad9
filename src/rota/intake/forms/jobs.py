"""Jobs and their tasks as they are written: in files of clusters, and when they are submitted."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from rota.intake.checking.fields import Amount
from rota.intake.forms.blocks import (
    MOST_ARGUMENTS,
    MOST_ENTRIES,
    MOST_GROUPS,
    MOST_RULES,
    MOST_TERMS,
    MOST_TOLERATIONS,
    AmountsForm,
    Count,
    Form,
    JobAffinityForm,
    LabelsForm,
    NamesForm,
    NodeAffinityForm,
    Positive,
    PriorityForm,
    SpreadForm,
    TolerationForm,
)
from rota.model.job import AtMaintenance
from rota.model.run import WINDOW, After, OnTaskFailure, Stdin
from rota.model.task import CostGoal

Port: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
MOST_PORTS = 64
WindowSide: TypeAlias = Annotated[int, Meta(ge=1, le=65535)]
"""Rows or columns of a terminal."""
ArgumentsForm: TypeAlias = Annotated[tuple[str, ...], Meta(max_length=MOST_ARGUMENTS)]


class GpuRequestForm(Form):
    count: Positive | UnsetType = UNSET
    share: Amount | UnsetType = UNSET
    models: NamesForm = ()


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
    ports: Annotated[tuple[Port | PortForm, ...], Meta(max_length=MOST_PORTS)] = ()
    exclusive: bool = False
    platform: str = ""
    runtime: str = ""
    labels: LabelsForm = field(default_factory=dict)
    node_selector: LabelsForm = field(default_factory=dict)
    node_affinity: NodeAffinityForm = field(default_factory=NodeAffinityForm)
    affinity: Annotated[tuple[JobAffinityForm, ...], Meta(max_length=MOST_TERMS)] = ()
    spread: Annotated[tuple[SpreadForm, ...], Meta(max_length=MOST_TERMS)] = ()
    tolerations: Annotated[tuple[str | TolerationForm, ...], Meta(max_length=MOST_TOLERATIONS)] = ()
    pools: NamesForm = ()
    backends: NamesForm = ()
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


class KindForm(TaskForm):
    """All that jobs of one kind have in common: what the engine decides by."""

    namespace: str | UnsetType = UNSET
    project: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    queue: str = "default"
    scheduler: str = ""
    priority: PriorityForm = "medium"
    preemptible: bool = True
    may_preempt: bool | UnsetType = UNSET
    tasks: Positive | UnsetType = UNSET
    groups: Annotated[tuple[GroupForm, ...], Meta(max_length=MOST_GROUPS)] | UnsetType = UNSET
    min_available: Amount | UnsetType = UNSET
    topology: Annotated[tuple[TopologyForm, ...], Meta(max_length=MOST_RULES)] = ()
    time_limit: Amount | UnsetType = UNSET
    start_within: Amount | UnsetType = UNSET
    at_maintenance: AtMaintenance = AtMaintenance.REQUEUE
    reservation: str = ""
    connect_to: str = ""


class InputFileForm(Form):
    path: str
    source: str | UnsetType = field(default=UNSET, name="from")
    sha256: str | UnsetType = UNSET
    size: Annotated[int, Meta(ge=0, lt=2**53)] | UnsetType = UNSET
    executable: bool = False
    unpack: bool = False


class WarnForm(Form):
    before: Amount
    signal: str | int = "SIGTERM"


class RetryForm(Form):
    limit: Count
    backoff: Amount | UnsetType = UNSET
    max_backoff: Amount | UnsetType = UNSET
    exit_codes: Annotated[tuple[Annotated[int, Meta(ge=1, le=255)], ...], Meta(max_length=255)] = ()


class DependencyForm(Form):
    job: str | int
    after: After = After.SUCCESS


class ExecutedForm(KindForm):
    """And what its tasks execute."""

    command: str | ArgumentsForm | UnsetType = UNSET
    args: ArgumentsForm = ()
    script: str | UnsetType = UNSET
    directory: str = ""
    environment: Annotated[dict[str, str], Meta(max_length=MOST_ENTRIES)] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict)
    files: Annotated[tuple[InputFileForm, ...], Meta(max_length=MOST_ENTRIES)] = ()
    outputs: Annotated[tuple[str, ...], Meta(max_length=MOST_ENTRIES)] = ()
    warn: WarnForm | UnsetType = UNSET
    grace: Amount | UnsetType = UNSET
    slurm_names: bool = False
    script_name: str = ""
    stdout: str = ""
    stderr: str = ""
    append: bool = False
    stdin: Stdin = Stdin.NONE
    window: tuple[WindowSide, WindowSide] = WINDOW


class RunForm(ExecutedForm):
    """And what becomes of it when they end."""

    retry: Count | RetryForm = 0
    on_task_failure: OnTaskFailure = OnTaskFailure.FAIL_JOB
    start_after: Amount | UnsetType = UNSET
    start_before: Amount | UnsetType = UNSET
    deadline: Amount | UnsetType = UNSET
    array: str | int | UnsetType = UNSET
    depends_on: Annotated[tuple[str | int | DependencyForm, ...], Meta(max_length=MOST_ENTRIES)] = ()
    hold: bool = False


class JobForm(RunForm, kw_only=True):
    """A job of a cluster whose state is known, as planning and simulating start from."""

    name: str
    submitted: Amount | UnsetType = UNSET
    retries: Count = 0
    running_on: str | tuple[str | RunningForm | None, ...] | UnsetType = UNSET
    started: Amount | UnsetType = UNSET
    preempted_by: NamesForm = ()
    done: tuple[Count, ...] = ()
    promised: PromiseForm | UnsetType = UNSET


class SubmittedForm(RunForm):
    """A job that is to run."""

    name: str | UnsetType = UNSET


TASK_FIELDS = frozenset(TaskForm.__struct_fields__)
KIND_FIELDS = frozenset(KindForm.__struct_fields__)
RUN_FIELDS = frozenset(ExecutedForm.__struct_fields__) - KIND_FIELDS | {"time_limit"}
"""Those that what a task executes depends on; a warning is so long before the time limit."""
STATE_FIELDS = frozenset(JobForm.__struct_fields__) - frozenset(SubmittedForm.__struct_fields__)
"""Those that say how a cluster stands, not what is to run."""


class JobsForm(Form):
    jobs: tuple[JobForm, ...]


class SubmissionForm(Form):
    jobs: tuple[SubmittedForm, ...]
