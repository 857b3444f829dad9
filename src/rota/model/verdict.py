"""Why something doesn't run: typed reasons. Text is made of them at the edge (`views/wording.py`)."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct


class Kind(Enum):
    NOT_NOW = "not-now"
    """Can start once an event of `unblocked_by` comes."""
    NEVER = "never"
    """Can't start on this cluster as it is defined, however idle: the job or the cluster must change."""


class Unblock(Enum):
    """Events after which it is worth asking again."""

    TASK_ENDED = "task ended"
    TASK_PLACED = "task placed"
    NODE_CHANGED = "node changed"
    NODE_ADDED = "node added"
    POLICY_CHANGED = "policy changed"
    TIME_PASSED = "time passed"
    NEXT_CYCLE = "next cycle"


class Code(Enum):
    NODE_NOT_READY = "node not ready"
    NODE_CORDONED = "node cordoned"
    OTHER_NODE_NAMED = "other node named"
    POOL = "pool"
    BACKEND = "backend"
    NODE_SELECTOR = "node selector"
    NODE_AFFINITY = "node affinity"
    TAINT = "taint"
    PASSING_TAINT = "passing taint"
    GPU_MODEL = "gpu model"
    PRICE = "price"
    BEYOND_CAPACITY = "beyond capacity"
    INSUFFICIENT = "insufficient"
    NODE_IN_USE = "node in use"
    NODE_EXCLUSIVE = "node exclusive"
    PORT_TAKEN = "port taken"
    DISK_TAKEN = "disk taken"
    CLAIM_IN_USE = "claim in use"
    VOLUME_LIMIT = "volume limit"
    VOLUME_AFFINITY = "volume affinity"
    VOLUME_ZONE = "volume zone"
    VOLUME_UNBOUND = "no volume to bind"
    VOLUME_SPACE = "no space for a volume"
    JOB_AFFINITY = "job affinity"
    JOB_ANTI_AFFINITY = "job anti-affinity"
    RUNNING_ANTI_AFFINITY = "running job's anti-affinity"
    TOPOLOGY_LABEL_MISSING = "topology label missing"
    SPREAD = "spread"
    PLUGIN = "plugin"
    GANG = "gang"
    GANG_BEYOND_CAPACITY = "gang beyond capacity"
    TOPOLOGY = "topology"
    TOPOLOGY_BEYOND_CAPACITY = "topology beyond capacity"
    QUOTA = "quota"
    QUOTA_BEYOND = "quota beyond"
    LIMIT = "limit"
    LIMIT_BEYOND = "limit beyond"
    PARTNER = "partner"
    STRICT_QUEUE = "strict queue"
    QUEUE_PAUSED = "queue paused"
    QUEUE_CLOSED = "queue closed"
    CALENDAR = "calendar"
    TOO_EARLY = "too early"
    PROMISED = "promised"
    PERIOD_MISSED = "period missed"
    SLA_MISSED = "sla missed"
    RESERVATION = "reservation"
    NOT_RESERVED_FOR = "not reserved for"
    MAINTENANCE = "maintenance"
    PREEMPTED = "preempted"
    EVICTED_BY_TAINT = "evicted by taint"
    EVICTED_FOR_MAINTENANCE = "evicted for maintenance"
    NO_SCHEDULER = "no scheduler"
    NO_NODES = "no nodes"


RUNNING_JOBS = "jobs"
"""As what a limit is of, beside resources."""


class Rule(Struct, frozen=True):
    """What a code means: who says it, whether it can pass, and by which events."""

    plugin: str
    kind: Kind
    unblocked_by: tuple[Unblock, ...]


_CLUSTER = (Unblock.NODE_CHANGED, Unblock.NODE_ADDED)
_ROOM = (Unblock.TASK_ENDED, *_CLUSTER)
_POLICY = (Unblock.POLICY_CHANGED,)


def _never(plugin: str, *events: Unblock) -> Rule:
    return Rule(plugin, Kind.NEVER, events)


def _not_now(plugin: str, *events: Unblock) -> Rule:
    return Rule(plugin, Kind.NOT_NOW, events)


RULES: dict[Code, Rule] = {
    Code.NODE_NOT_READY: _not_now("node-ready", *_CLUSTER),
    Code.NODE_CORDONED: _not_now("node-ready", *_CLUSTER),
    Code.OTHER_NODE_NAMED: _never("node-name", Unblock.NODE_ADDED),
    Code.POOL: _never("pool", *_CLUSTER, *_POLICY),
    Code.BACKEND: _never("backend", Unblock.NODE_ADDED),
    Code.NODE_SELECTOR: _never("node-selector", *_CLUSTER),
    Code.NODE_AFFINITY: _never("node-affinity", *_CLUSTER),
    Code.TAINT: _never("taints", *_CLUSTER),
    Code.PASSING_TAINT: _not_now("taints", *_CLUSTER),
    Code.GPU_MODEL: _never("gpu-model", *_CLUSTER),
    Code.PRICE: _never("price", *_CLUSTER),
    Code.BEYOND_CAPACITY: _never("resources", *_CLUSTER),
    Code.INSUFFICIENT: _not_now("resources", *_ROOM),
    Code.NODE_IN_USE: _not_now("exclusive", *_ROOM),
    Code.NODE_EXCLUSIVE: _not_now("exclusive", *_ROOM),
    Code.PORT_TAKEN: _not_now("ports", *_ROOM),
    Code.DISK_TAKEN: _not_now("volumes", *_ROOM),
    Code.CLAIM_IN_USE: _not_now("volumes", *_ROOM),
    Code.VOLUME_LIMIT: _not_now("volumes", *_ROOM),
    Code.VOLUME_AFFINITY: _never("volumes", *_CLUSTER),
    Code.VOLUME_ZONE: _never("volumes", *_CLUSTER),
    Code.VOLUME_UNBOUND: _not_now("volumes", *_ROOM),
    Code.VOLUME_SPACE: _not_now("volumes", *_ROOM),
    Code.JOB_AFFINITY: _not_now("job-affinity", Unblock.TASK_PLACED, *_CLUSTER),
    Code.JOB_ANTI_AFFINITY: _not_now("job-affinity", *_ROOM),
    Code.RUNNING_ANTI_AFFINITY: _not_now("job-affinity", *_ROOM),
    Code.TOPOLOGY_LABEL_MISSING: _never("job-affinity", *_CLUSTER),
    Code.SPREAD: _not_now("spread", Unblock.TASK_PLACED, *_ROOM),
    Code.PLUGIN: _not_now("plugin", Unblock.TASK_PLACED, *_ROOM, *_POLICY),
    Code.GANG: _not_now("gang", *_ROOM),
    Code.GANG_BEYOND_CAPACITY: _never("gang", *_CLUSTER),
    Code.TOPOLOGY: _not_now("topology", *_ROOM),
    Code.TOPOLOGY_BEYOND_CAPACITY: _never("topology", *_CLUSTER),
    Code.QUOTA: _not_now("quota", Unblock.TASK_ENDED, *_POLICY),
    Code.QUOTA_BEYOND: _never("quota", *_POLICY),
    Code.LIMIT: _not_now("limit", Unblock.TASK_ENDED, *_POLICY),
    Code.LIMIT_BEYOND: _never("limit", *_POLICY),
    Code.PARTNER: _not_now("partner", Unblock.TASK_PLACED),
    Code.STRICT_QUEUE: _not_now("queue", *_ROOM),
    Code.QUEUE_PAUSED: _not_now("queue", *_POLICY),
    Code.QUEUE_CLOSED: _not_now("queue", *_POLICY),
    Code.CALENDAR: _not_now("calendar", Unblock.TIME_PASSED, *_ROOM),
    Code.TOO_EARLY: _not_now("calendar", Unblock.TIME_PASSED),
    Code.PROMISED: _not_now("calendar", Unblock.TIME_PASSED),
    Code.PERIOD_MISSED: _never("calendar", *_POLICY),
    Code.SLA_MISSED: _never("calendar", *_POLICY),
    Code.RESERVATION: _not_now("reservation", Unblock.TIME_PASSED, *_ROOM),
    Code.NOT_RESERVED_FOR: _never("reservation", *_POLICY),
    Code.MAINTENANCE: _not_now("maintenance", Unblock.TIME_PASSED),
    Code.PREEMPTED: _not_now("preemption", Unblock.NEXT_CYCLE),
    Code.EVICTED_BY_TAINT: _not_now("taints", Unblock.NEXT_CYCLE),
    Code.EVICTED_FOR_MAINTENANCE: _not_now("maintenance", Unblock.NEXT_CYCLE),
    Code.NO_SCHEDULER: _never("scheduler", *_POLICY),
    Code.NO_NODES: _never("nodes", Unblock.NODE_ADDED),
}


class Reason(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    code: Code
    subject: str = ""
    """What it is about: a resource, a taint, a label, a key, a plugin, a job."""
    asked: int = 0
    available: int = 0
    """The most that any of the nodes concerned has, in the subject's base unit."""
    detail: str = ""
    """A plugin's own words."""

    @property
    def plugin(self) -> str:
        return self.subject if self.code is Code.PLUGIN else RULES[self.code].plugin

    @property
    def kind(self) -> Kind:
        return RULES[self.code].kind

    @property
    def unblocked_by(self) -> tuple[Unblock, ...]:
        return RULES[self.code].unblocked_by


class Refusal(Struct, frozen=True):
    """One reason and the number of nodes it refuses. 0: it isn't about nodes (a quota, a partner)."""

    reason: Reason
    nodes: int


class Verdict(Struct, frozen=True):
    """Why a job waits. Each node is counted in one refusal, the first in the pipeline's order."""

    kind: Kind
    refusals: tuple[Refusal, ...]

    @property
    def unblocked_by(self) -> frozenset[Unblock]:
        return frozenset(event for refusal in self.refusals for event in refusal.reason.unblocked_by)
