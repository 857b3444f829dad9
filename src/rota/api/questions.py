"""Answers to questions about jobs: why one waits, whether it may run longer, what would happen with more.

Times are text, RFC 3339 in UTC. All that a program or a table shows is in these documents. Fields that were
added since the first version have defaults, so that clients and servers of one minor version understand each
other.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct, UnsetType, field

from rota.api.documents import Document


class Entry(Struct, frozen=True):
    """The base of these: fields can also be read by name, since answers were dictionaries before 0.6."""

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, {"from": "from_"}.get(name, name))
        except AttributeError:
            raise KeyError(name) from None


class ReasonEntry(Entry, frozen=True, omit_defaults=True):
    """Why a job waits, and how many nodes say so; 0: it isn't about nodes."""

    plugin: str
    message: str
    nodes: int
    times: list[str] = []
    """Times that the message contains, as they are written there: clients may show them in local time."""


class StartEstimate(Entry, frozen=True):
    expected: str
    bound: str
    """Not later in nine of ten cases."""
    latest: str | None
    """By time limits alone; null: they don't tell."""


class RefusalEntry(Entry, frozen=True):
    """Nodes that refuse a job for one reason."""

    plugin: str
    message: str
    verdict: str
    unblocked_by: list[str]
    nodes: list[str]
    lasts: str = ""
    """Until when it refuses, in words: "until a task ends"."""
    times: list[str] = []
    """Times that the message contains, as they are written there."""


class ScoreEntry(Entry, frozen=True):
    node: str
    total: float
    criteria: dict[str, float]
    chosen: bool = False
    """The job's first task runs or starts there."""


class RemedyEntry(Entry, frozen=True):
    """A change that would help."""

    change: str
    message: str
    start: str | None
    """When it would then start; null: once there is room."""
    starts_on: list[str]
    evicts: list[str]


class PluginFaultEntry(Entry, frozen=True):
    """A plugin that failed when this job was decided on, or started. Its say was left out."""

    plugin: str
    call: str
    error: str


class OwnerEntry(Entry, frozen=True):
    kind: str
    """"job" or "gang"."""
    name: str


class WhyDocument(Entry, frozen=True):
    job: str
    outcome: str
    verdict: str | None
    start: str | None
    """Of a job that waits, when it is planned to start."""
    promised: bool
    nodes: list[str]
    reasons: list[ReasonEntry]
    refusals: list[RefusalEntry]
    weights: dict[str, int]
    scores: list[ScoreEntry]
    remedies: list[RemedyEntry]
    cut_short: bool = False
    """The time for the answer was over before all changes that could help were tried."""
    estimate: StartEstimate | UnsetType | None = UNSET
    """Only where there is a history to learn from; null: no estimate is known, or none is needed."""
    at: str = ""
    """The moment that the answer is about. What starts then starts now."""
    request: str = ""
    """What its tasks ask for, in words: "2 tasks, each 4 cpu, 16Gi memory"."""
    priority: str = ""
    """By name, or a number."""
    task_of: OwnerEntry | None = None
    """Where the question was about one task: the job or gang that it belongs to."""
    evicts: list[str] = []
    """Jobs that are evicted so that it can start."""
    evicted_from: list[str] = []
    """Nodes that it is evicted from."""
    faults: list[PluginFaultEntry] = []
    """Plugins that were left out because they failed."""
    waits_for_node: str = ""
    """Of a job that no node could ever run, in words, the node that it waits for."""


class WhyAnswer(Struct, frozen=True):
    why: WhyDocument


class ObstacleEntry(Entry, frozen=True):
    kind: str
    name: str
    start: str
    nodes: list[str]
    message: str = ""
    """In words: "maintenance power"."""


class MovedEntry(Entry, frozen=True):
    job: str
    from_: str = field(name="from")
    to: str | None
    """Null: it would have no place in the calendar."""


class ExtensionDocument(Entry, frozen=True):
    """Whether a running job may run longer, the cost, and the planned starts that would move."""

    job: str
    granted: bool
    answer: str
    limit: str
    had: str | None
    end: str | None
    longest: str | None
    cost: float
    in_the_way: list[ObstacleEntry]
    moved: list[MovedEntry]
    others_moved: int = 0
    """How many starts move besides, of jobs of projects that aren't yours."""
    message: str = ""
    """The answer in words: "can't run for 13h: its nodes are needed"."""


class ExtendAnswer(Struct, frozen=True):
    extension: ExtensionDocument


class PlannedJob(Document, frozen=True, kw_only=True):
    """The plan for one of the jobs in the question."""

    index: int
    """Which of them, from 0; each element of an array counts."""
    starts: datetime | None
    """Null: the start is unknown, and `reasons` say why."""
    promised: bool
    nodes: list[str]
    reasons: list[str]
    name: str = ""
    array_index: int | None = None
    """Of an element of an array."""
    verdict: str | None = None
    """Of a job that waits: "not-now" or "never"."""


class PlannedChange(Document, frozen=True, kw_only=True):
    """Another job's planned start, without these jobs and with them."""

    job: str
    before: datetime | None
    after: datetime | None


class PlanAnswer(Document, frozen=True, kw_only=True):
    jobs: list[PlannedJob]
    changes: list[PlannedChange]
    others_changed: int = 0
    """How many planned starts would change besides, of jobs of projects that aren't yours."""
