"""How decisions are to be made: everything an operator can set, as data."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from rota.model.ids import DEFAULT_PROJECT
from rota.model.job import JobTemplate, Priority
from rota.model.limits import LimitsPolicy
from rota.model.resources import GpuRequest, Resources
from rota.model.run import Retry


class Strategy(Enum):
    """How the utilisation criterion judges a node."""

    LEAST_LOADED = "least-loaded"
    BALANCED = "balanced"
    BIN_PACKING = "bin-packing"
    ROUND_ROBIN = "round-robin"
    CUSTOM = "custom"


class Selection(Struct, frozen=True, omit_defaults=True):
    strategy: Strategy = Strategy.LEAST_LOADED
    plugin: str = ""
    """With CUSTOM: the plugin whose score takes the place of utilisation."""


class Weights(Struct, frozen=True):
    """Each criterion gives 0 to 1000; a node's score is the weighted sum."""

    utilisation: int = 40
    load: int = 30
    affinity: int = 20
    proximity: int = 10
    cost: int = 0


PACKING_WEIGHTS = Weights(utilisation=70, load=0)
"""Bin packing and round robin would be undone by a criterion that levels the load."""


def default_weights(strategy: Strategy) -> Weights:
    return PACKING_WEIGHTS if strategy in (Strategy.BIN_PACKING, Strategy.ROUND_ROBIN) else Weights()


class QueueStrategy(Enum):
    FIFO = "fifo"
    PRIORITY = "priority"
    FAIR = "fair"
    SMALLEST = "smallest"
    """By priority, then the least first: expected run time × share of the cluster, divided by how long
    it has waited, so that nobody starves."""


class TenantKey(Enum):
    PROJECT = "project"
    USER = "user"
    PROJECT_USER = "project/user"


class TenantLabel(Struct, frozen=True):
    """Jobs with the same value of a label are one tenant's; those without it are all of one, too."""

    key: str

    def value_of(self, template: JobTemplate) -> str:
        """The job's own, or that of its first tasks, which is all that pods have."""
        if self.key == NAMESPACE:
            return template.namespace
        for labels in (template.labels, template.groups[0].spec.labels):
            for key, value in labels:
                if key == self.key:
                    return value
        return ""


NAMESPACE = "namespace"
"""As the key of a label that every job has: which namespace it is in."""


class Backfill(Enum):
    """Which waiting jobs get a place in the calendar that those behind them must respect."""

    NONE = "none"
    """Nobody: whoever fits starts, and a large job may wait for long."""
    EASY = "easy"
    """The first that can't start now."""
    CONSERVATIVE = "conservative"
    """Every one, up to the queue's depth."""


class Durations(Enum):
    """By what a calendar of batch jobs is planned. Promises, reservations and maintenance are safe
    with either: those are kept free for as long as the limits say."""

    LIMITS = "limits"
    """Time limits: nobody delays who is next. Those behind may move when those before them do."""
    LEARNT = "learnt"
    """How long similar jobs ran: closer to what will be, and sometimes too early."""


DEFAULT_QUEUE = "default"
"""Of jobs that name none. It is always there."""


class QueuePolicy(Struct, frozen=True, omit_defaults=True):
    name: str = DEFAULT_QUEUE
    strategy: QueueStrategy = QueueStrategy.PRIORITY
    tenant_key: TenantKey | TenantLabel = TenantKey.PROJECT_USER
    strict: bool = False
    """Nobody overtakes: the first job that can't start now makes the rest of the queue wait."""
    order: int = 0
    """Queues with a lower number are served first."""
    pools: tuple[str, ...] = ()
    interactive: bool = False
    """First come, first served, and every job is promised a start, which is kept."""
    backfill: Backfill = Backfill.CONSERVATIVE
    durations: Durations = Durations.LIMITS
    depth: int = 100
    """So many jobs get a place in the calendar; those behind them start where that delays none."""
    timeout_ms: int | None = None
    """A job fails that hasn't started after it has waited for so long; None: the scheduler's."""


class Preemption(Struct, frozen=True):
    enabled: bool = True
    min_run_ms: int = 0
    """A task that has run for less is left alone."""


class Promotion(Struct, frozen=True):
    """A waiting job rises one class each `every_ms`, or at once when its retries are used up."""

    every_ms: int | None = None
    retry_budget: int | None = None
    up_to: int = Priority.HIGH


class Recovery(Struct, frozen=True):
    """A job that failed comes back after a pause that doubles each time. Once it has failed
    `drop_wishes_after` times, it no longer insists on what it only prefers."""

    backoff_ms: int | None = None
    """For jobs that don't say it themselves; None: BACKOFF_MS."""
    max_backoff_ms: int | None = None
    drop_wishes_after: int | None = None

    def completed(self, retry: Retry) -> Retry:
        """A job's retries, with these pauses where it has none of its own."""
        return replace(
            retry,
            backoff_ms=self.backoff_ms if retry.backoff_ms is None else retry.backoff_ms,
            max_backoff_ms=self.max_backoff_ms if retry.max_backoff_ms is None else retry.max_backoff_ms,
        )

    def drops_wishes(self, retries: int) -> bool:
        return self.drop_wishes_after is not None and retries >= self.drop_wishes_after


class Reclaim(Enum):
    """Whose jobs may be evicted when a tenant takes back quota that it had lent."""

    ANY = "any"
    LOWER_PRIORITY = "lower-priority"
    NEVER = "never"


class Quota(Struct, frozen=True, omit_defaults=True):
    """Amounts by resource name in base units (GPUs: `gpu`, in thousandths of a device).

    What a tenant doesn't use of `nominal` others may borrow, up to `lendable`; it may itself
    use up to `borrowable` beyond. A resource that isn't named in `nominal` isn't limited.
    """

    nominal: tuple[tuple[str, int], ...] = ()
    borrowable: tuple[tuple[str, int], ...] | None = None
    """None: all that others leave idle."""
    lendable: tuple[tuple[str, int], ...] | None = None
    """None: all of it."""


class TenantPolicy(Struct, frozen=True, omit_defaults=True):
    """`path` is a project ("vision") or a user within one ("vision/ada")."""

    path: str
    weight: int = 1
    quota: Quota | None = None
    pools: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    """Of a Kubernetes cluster: their pods may say that they are of this project. Those of the namespace of
    its name are, unless they say otherwise."""


class FairShare(Struct, frozen=True):
    half_life_ms: int = 7 * 24 * 3600 * 1000
    tenants: tuple[TenantPolicy, ...] = ()
    reclaim: Reclaim = Reclaim.ANY


class PluginConfig(Struct, frozen=True, omit_defaults=True):
    name: str
    weight: int = 0
    """Of its score; 0: it only filters."""
    settings: tuple[tuple[str, str], ...] = ()


class SchedulerPolicy(Struct, frozen=True, omit_defaults=True):
    """One scheduler: its name, what is in its scope, and how it decides."""

    name: str = "rota"
    namespaces: tuple[str, ...] = ()
    """Empty: all of them."""
    selection: Selection = Selection()
    weights: Weights = Weights()
    queues: tuple[QueuePolicy, ...] = (QueuePolicy(),)
    preemption: Preemption = Preemption()
    promotion: Promotion = Promotion()
    recovery: Recovery = Recovery()
    plugins: tuple[PluginConfig, ...] = ()
    timeout_ms: int | None = None
    """Of jobs in queues that have none of their own; None: they wait for ever."""
    wait_for_nodes: bool = False
    """Jobs that no node could ever run are kept waiting for one; else they are refused when they come in."""


class PlatformDefaults(Struct, frozen=True, omit_defaults=True):
    requests: Resources = Resources()
    limits: Resources = Resources()
    gpu: GpuRequest = GpuRequest()


_GIB = 2**30
PLATFORMS = (
    ("ubuntu-gpu", PlatformDefaults(Resources(2000, 4 * _GIB), Resources(8000, 16 * _GIB), GpuRequest(1))),
    ("ubuntu-latest", PlatformDefaults(Resources(500, _GIB), Resources(2000, 4 * _GIB))),
)
"""Those that a policy has if it doesn't describe them otherwise, in the order of names."""
ASSUMED = Resources(cpu_milli=1000, memory_bytes=256 * 2**20)
"""Of a task that doesn't say what it needs. So little memory that it is the cpus that fill first, on all but
the smallest machines; nobody is held to it (docs/decisions/0022)."""


class Defaults(Struct, frozen=True, omit_defaults=True):
    """What is filled in when a job comes in: requests by platform, overhead by runtime, and what a task that
    says nothing asks for."""

    platforms: tuple[tuple[str, PlatformDefaults], ...] = PLATFORMS
    runtimes: tuple[tuple[str, Resources], ...] = ()
    assumed: Resources = ASSUMED
    """CPU and memory."""


NO_DEFAULTS = Defaults(platforms=(), assumed=Resources())


class Policy(Struct, frozen=True, omit_defaults=True):
    """All schedulers that share the nodes, and what they have in common."""

    schedulers: tuple[SchedulerPolicy, ...] = (SchedulerPolicy(),)
    fair_share: FairShare = FairShare()
    defaults: Defaults = Defaults()
    limits: LimitsPolicy = LimitsPolicy()

    @property
    def queue_names(self) -> frozenset[str]:
        named = (queue.name for scheduler in self.schedulers for queue in scheduler.queues)
        return frozenset((DEFAULT_QUEUE, *named))

    @property
    def tenant_labels(self) -> tuple[TenantLabel, ...]:
        """Labels by which a fair queue tells tenants apart."""
        keys = {
            queue.tenant_key
            for scheduler in self.schedulers
            for queue in scheduler.queues
            if queue.strategy is QueueStrategy.FAIR and isinstance(queue.tenant_key, TenantLabel)
        }
        return tuple(sorted(keys, key=lambda label: label.key))

    @property
    def project_names(self) -> frozenset[str]:
        """Projects that need nobody to make them."""
        tenants = (tenant.path.partition("/")[0] for tenant in self.fair_share.tenants)
        return frozenset((DEFAULT_PROJECT, *tenants, *(name for name, _ in self.limits.projects)))
