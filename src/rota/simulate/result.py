"""What came of a replay: of every job when and where it ran, and what its user was told."""

from __future__ import annotations

from msgspec import Struct

from rota.model.cluster import Calendar
from rota.model.estimate import Estimate
from rota.model.ids import JobId, NodeName
from rota.model.plan import PluginFault
from rota.model.verdict import Verdict


class Stretch(Struct, frozen=True, omit_defaults=True):
    """A task on a node, from its start until it ended or was evicted."""

    rank: int
    node: NodeName
    start_ms: int
    end_ms: int
    evicted: bool = False


class JobResult(Struct, frozen=True, omit_defaults=True):
    job: JobId
    queue: str
    project: str
    user: str
    tasks: int
    cpu_milli: int
    """Of all its tasks, like the GPUs."""
    gpu_milli: int
    arrival_ms: int
    run_ms: int
    limit_ms: int | None = None
    start_ms: int | None = None
    """The first start of the run that ended; None: it never started."""
    end_ms: int | None = None
    """None: it still runs, or never did, at the end of the replay."""
    timed_out: bool = False
    preemptions: int = 0
    promised_ms: int | None = None
    """The first start that it was promised."""
    stretches: tuple[Stretch, ...] = ()
    estimates: tuple[Estimate, ...] = ()
    """In the order in which they were told; the first when it arrived."""
    cancelled: bool = False
    """By its user, while it waited, as in the trace."""
    verdict: Verdict | None = None
    """Why it never started; None: it did, or was cancelled."""


class Sample(Struct, frozen=True):
    """The cluster between this moment and the next sample."""

    time_ms: int
    waiting: int
    running: int
    """Jobs."""
    cpu_milli: int
    """In use by running tasks, like the GPUs."""
    gpu_milli: int


class SimResult(Struct, frozen=True, omit_defaults=True):
    workload: str
    policy: str
    seed: int
    nodes: tuple[NodeName, ...]
    cpu_milli: int
    """What the nodes have, like the GPUs."""
    gpu_milli: int
    jobs: tuple[JobResult, ...]
    samples: tuple[Sample, ...]
    cycles: int
    calendar: Calendar = Calendar()
    epoch_ms: int = 0
    """When the workload began, in milliseconds since 1970; 0: at no particular time."""
    faults: tuple[PluginFault, ...] = ()
    """Each once, however often it came."""
