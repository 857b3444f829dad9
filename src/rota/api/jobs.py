"""Jobs as clients see them. Times are in UTC, durations in seconds."""

from __future__ import annotations

from datetime import datetime

from msgspec import field

from rota.api.documents import Document
from rota.lifecycle.state import EndReason, Phase, TaskPhase
from rota.model.causes import Cause


class ElementsDocument(Document, frozen=True, kw_only=True):
    """What an array consists of."""

    size: int
    """How many jobs it has that are kept, finished ones included."""
    phases: dict[Phase, int]
    """How many of them are in each phase."""
    at_once: int | None = None
    """So many of them may run at the same time; null: as many as there is room for."""


class JobDocument(Document, frozen=True, kw_only=True):
    """A job, as a list shows it; in a folded list also an array, by its number. Then `elements` says what it
    consists of, and the rest is that of the job that says most about it: one that failed, or that waits."""

    id: str
    name: str
    project: str
    user: str
    queue: str
    phase: Phase
    cause: Cause | None
    message: str
    priority: int
    labels: dict[str, str]
    array: str | None
    """The number that all jobs of its array begin with."""
    tasks: int
    tasks_running: int
    tasks_done: int
    tasks_failed: int
    nodes: list[str]
    attempt: int
    submitted: datetime
    started: datetime | None
    ended: datetime | None
    time_limit_s: float | None
    promised: datetime | None
    exit_code: int | None
    """Of the task that decided its fate, once it is over."""
    command: str
    """As one line, shortened."""
    waits_for: list[str] = field(default_factory=list)
    """Jobs that have to end before, and haven't yet: the first 20."""
    not_before: datetime | None = None
    """When the pause before its retry is over."""
    reason: str | None = None
    """In lists: why it waits, by the latest plan, in words with times in UTC."""
    elements: ElementsDocument | None = None
    """Of an array."""

    def __repr__(self) -> str:
        """Short: a notebook shows it."""
        return f"JobDocument(id={self.id!r}, name={self.name!r}, phase={self.phase.value!r})"

    @property
    def phases(self) -> dict[Phase, int]:
        """Of an array, how many of its jobs are in each; else its own."""
        return {self.phase: 1} if self.elements is None else self.elements.phases

    @property
    def is_over(self) -> bool:
        return all(phase.is_terminal for phase in self.phases)

    @property
    def succeeded(self) -> bool:
        return all(phase is Phase.SUCCEEDED for phase in self.phases)


class AttemptDocument(Document, frozen=True, kw_only=True):
    """One start of one task."""

    rank: int
    fence: int
    node: str
    gpu_devices: list[int]
    phase: TaskPhase | None
    """None: it has ended."""
    bound: datetime
    started: datetime | None
    ended: datetime | None
    reason: EndReason | None
    exit_code: int | None
    signal: int | None
    message: str
    cpu_s: float | None
    max_memory_bytes: int | None


class JobDetail(Document, frozen=True, kw_only=True):
    """A job, with all there is to know of it."""

    job: JobDocument
    spec: dict[str, object]
    """As submitted, in the form of a job file. Its environment is for its owner alone."""
    attempts: list[AttemptDocument]
    """The latest thousand."""
    depends_on: list[str]
    """Those that haven't ended yet."""
    estimate: EstimateDocument | None
    start_by: datetime | None = None
    """When the job fails if it hasn't started by then; null: never."""
    start_by_from: str = ""
    """Who says so: "job", "queue NAME" or "scheduler NAME"."""


class ArrayDetail(Document, frozen=True, kw_only=True):
    """An array, with all there is to know of it as a whole."""

    array: JobDocument
    """As in a folded list."""
    spec: dict[str, object]
    """Of one of its jobs, in the form of a job file. Its environment is for its owner alone."""
    first: dict[Phase, list[str]]
    """In each phase that there are jobs in, the ids of the first 20."""
    estimate: EstimateDocument | None
    """Of the first of its jobs that waits."""


class InputDocument(Document, frozen=True, kw_only=True):
    """How far a job is with what it was sent."""

    taken: int
    """Bytes of it that needn't be sent again."""
    open: bool
    """False: no more is taken. It was ended, or nobody reads it."""


class OutputDocument(Document, frozen=True, kw_only=True):
    """A file that a task left."""

    rank: int
    path: str
    size_bytes: int
    executable: bool


class MissingOutput(Document, frozen=True, kw_only=True):
    """One that a task was to leave, and didn't."""

    rank: int
    path: str
    """As the job declares it."""


class OutputsDocument(Document, frozen=True, kw_only=True):
    items: list[OutputDocument]
    missing: list[MissingOutput]
    """Of tasks that have ended."""


class EstimateDocument(Document, frozen=True, kw_only=True):
    """The estimated start of a waiting job."""

    job: str
    told: datetime
    expected: datetime | None
    bound: datetime | None
    """Not later than this in nine of ten cases."""
    latest: datetime | None
    """By the time limits alone."""
    promised: bool
    position: int | None
    """In its queue: how many wait before it."""
    reason: str | None
    """Why there is no estimate, or of what quality it is."""


class EfficiencyDocument(Document, frozen=True, kw_only=True):
    """What a job used, against what it asked for."""

    job: str
    wall_s: float
    cpu_asked_s: float
    cpu_used_s: float
    memory_asked_bytes: int
    memory_used_bytes: int
    time_limit_s: float | None


class SubmittedEntry(Document, frozen=True, kw_only=True):
    """One job as it was submitted, or a whole array."""

    id: str
    """Of the job; of an array, the number that all of its jobs begin with."""
    name: str
    count: int
    """How many jobs it is."""
    first: str
    last: str
    """Ids of its first and last job."""
    is_array: bool


class Submitted(Document, frozen=True, kw_only=True):
    dry_run: bool
    jobs: list[JobDocument]
    """The first 1,000; `entries` tell of all."""
    warnings: list[str]
    count: int
    """Of jobs, elements of arrays included."""
    entries: list[SubmittedEntry]
    """As many as were submitted, in their order."""
