"""Words for what the engine says in data: reasons, remedies, causes, events, amounts.

A text depends on its record alone, and on how times are to be written, so that records which are equal read
the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil, floor

from rota.model.explanation import Change, Outcome, Remedy
from rota.model.job import Job, Priority
from rota.model.plan import Eviction, EvictionCause
from rota.model.quantities import format_bytes, format_cpu, format_duration, format_gpu, format_price
from rota.model.task import TaskSpec
from rota.model.verdict import RUNNING_JOBS, Code, Kind, Reason, Unblock
from rota.views.calendar_wording import CALENDAR_PASSING, CALENDAR_REASONS
from rota.views.quoting import one_line
from rota.views.times import TimeText, utc_text

_READABLE_LENGTH = 7
_BINARY_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


# -- amounts


def asked_text(resource: str, amount: int) -> str:
    """An amount of a resource with its name, rounded up where it would be long: `8 cpu`, `64Gi memory`."""
    return f"{_amount(resource, amount, ceil)} {_noun(resource)}"


def amount_text(resource: str, amount: int) -> str:
    """An amount of a resource without its name, rounded down where it would be long."""
    return _amount(resource, amount, floor)


def _asked(resource: str, amount: int) -> str:
    return _amount(resource, amount, ceil)


def _amount(resource: str, amount: int, rounded: Callable[[float], int]) -> str:
    match resource:
        case "cpu":
            return format_cpu(amount)
        case "memory" | "storage":
            return _bytes_text(amount, rounded)
        case "gpu" | "gpu share":
            return format_gpu(amount)
        case _:
            return str(amount)


def _noun(resource: str) -> str:
    return "of a gpu" if resource == "gpu share" else resource


def _bytes_text(size_bytes: int, rounded: Callable[[float], int]) -> str:
    exact = format_bytes(size_bytes)
    if len(exact) <= _READABLE_LENGTH:
        return exact
    power = min((size_bytes.bit_length() - 1) // 10, len(_BINARY_UNITS))
    tenths = rounded(10 * size_bytes / 1024**power)
    return f"{tenths / 10:g}{_BINARY_UNITS[power - 1]}"


def price_text(price_micro: int) -> str:
    return f"{format_price(price_micro)}/h"


def priority_text(priority: int) -> str:
    names = {int(one): one.name.lower() for one in Priority}
    return names.get(priority, str(priority))


def others_moved_text(count: int) -> str:
    return f"planned starts of {count_text(count, 'job')} of other projects move, too"


def count_text(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def request_text(job: Job) -> str:
    """What its tasks ask for: `2 tasks, each 32 cpu, 256Gi memory, 4 gpu`."""
    groups = job.template.groups
    if job.template.task_count == 1:
        return _spec_text(groups[0].spec)
    return "; ".join(
        f"{group.count:,} tasks, each {_spec_text(group.spec)}"
        if group.count > 1
        else f"1 task of {_spec_text(group.spec)}"
        for group in groups
    )


def _spec_text(spec: TaskSpec) -> str:
    requests = spec.requests
    amounts = {
        "cpu": requests.cpu_milli,
        "memory": requests.memory_bytes,
        "gpu share" if spec.gpu.is_fraction else "gpu": spec.gpu.total_milli,
        "storage": requests.storage_bytes,
        **dict(requests.extended),
    }
    texts = [asked_text(resource, amount) for resource, amount in amounts.items() if amount]
    if spec.gpu.models:
        texts.append(f"model {' or '.join(spec.gpu.models)}")
    return ", ".join(texts) or "no resources"


# -- reasons


def reason_text(reason: Reason, when: TimeText = utc_text) -> str:
    """`when`: how times are written in it; as in data, unless told otherwise."""
    timed = CALENDAR_REASONS.get(reason.code)
    return timed(reason, when) if timed else _REASONS[reason.code](reason)


def _beyond_capacity(reason: Reason) -> str:
    asks = asked_text(reason.subject, reason.asked)
    if not reason.available:
        return f"asks {asks}, has none"
    return f"beyond every such node: asks {asks}, largest has {amount_text(reason.subject, reason.available)}"


def _insufficient(reason: Reason) -> str:
    free = amount_text(reason.subject, reason.available)
    if reason.subject == "gpu share":
        return f"insufficient gpu: asks {_asked('gpu', reason.asked)} of a device, most free {free}"
    asks = _asked(reason.subject, reason.asked)
    return f"insufficient {reason.subject}: asks {asks}, most free {free}"


def _pool(reason: Reason) -> str:
    if not reason.subject:
        return "no pool that job, queue and tenant have in common"
    return f"not in pool {reason.subject}"


def _near(reason: Reason) -> str:
    key, conditions = _affinity_parts(reason.subject)
    return f"no job with {conditions} in the same {key}"


def _away(reason: Reason) -> str:
    key, conditions = _affinity_parts(reason.subject)
    return f"anti-affinity: a job with {conditions} in the same {key}"


def _affinity_parts(subject: str) -> tuple[str, str]:
    key, _, conditions = subject.partition(": ")
    return key, _conditions(conditions)


def _conditions(text: str) -> str:
    """`app In web` the short way, `app=web`."""
    return re.sub(r"(\S+) In ([^\s,]+)(?=\s|$)", r"\1=\2", text)


def _plugin(reason: Reason) -> str:
    return one_line(reason.detail) or "refused, without a word why"


def _topology(reason: Reason) -> str:
    return f"no room for {count_text(reason.asked, 'task')} {_layout(reason.detail or reason.subject)}"


def _topology_beyond(reason: Reason) -> str:
    tasks = count_text(reason.asked, "task")
    return f"beyond capacity: {tasks} {_layout(reason.detail)}, {reason.available} fit when all is idle"


def _layout(rules: str) -> str:
    """`zone: same, rack: 2` in words."""
    return " and ".join(_layout_of(*rule.partition(": ")[::2]) for rule in rules.split(", "))


def _layout_of(key: str, mode: str) -> str:
    match mode:
        case "same" | "":
            return f"in one {key}"
        case "different":
            return f"each in another {key}"
        case count:
            return f"in {count} of {key}"


def _quota(reason: Reason) -> str:
    tenant, _, resource = reason.subject.rpartition(" ")
    asks, left = asked_text(resource, reason.asked), amount_text(resource, reason.available)
    return f"quota of {tenant}: asks {asks}, {left} left"


def _quota_beyond(reason: Reason) -> str:
    tenant, _, resource = reason.subject.rpartition(" ")
    return f"beyond the quota of {tenant}: asks {asked_text(resource, reason.asked)}"


def _limit(reason: Reason) -> str:
    whose, _, resource = reason.subject.rpartition(" ")
    if resource == RUNNING_JOBS:
        return f"limit of {whose}: {count_text(reason.available, 'job')} at once"
    most = asked_text(resource, reason.available)
    return f"limit of {whose}: {most} at once, asks {_asked(resource, reason.asked)}"


def _preempted(reason: Reason) -> str:
    by = f" by {reason.subject}" if reason.subject else ""
    return f"preempted{by}, queued again"


def _no_scheduler(reason: Reason) -> str:
    if not reason.subject:
        return f"no scheduler serves the namespace {reason.detail}"
    where = f" for the namespace {reason.detail}" if reason.detail else ""
    return f"no scheduler named {reason.subject}{where}"


_REASONS: dict[Code, Callable[[Reason], str]] = {
    Code.NODE_NOT_READY: lambda r: "node not ready",
    Code.NODE_CORDONED: lambda r: "node cordoned",
    Code.OTHER_NODE_NAMED: lambda r: f"only node {r.subject} will do",
    Code.POOL: _pool,
    Code.BACKEND: lambda r: f"not of backend {r.subject}",
    Code.NODE_SELECTOR: lambda r: f"node selector {r.subject} doesn't match",
    Code.NODE_AFFINITY: lambda r: f"node affinity {_conditions(r.subject)} doesn't match",
    Code.TAINT: lambda r: f"untolerated taint {r.subject}",
    Code.PASSING_TAINT: lambda r: f"untolerated taint {r.subject}",
    Code.GPU_MODEL: lambda r: f"no GPU of model {r.subject}",
    Code.PRICE: lambda r: f"too dear: allows {price_text(r.asked)}, cheapest {price_text(r.available)}",
    Code.BEYOND_CAPACITY: _beyond_capacity,
    Code.INSUFFICIENT: _insufficient,
    Code.NODE_IN_USE: lambda r: "node in use: asks to have it to itself",
    Code.NODE_EXCLUSIVE: lambda r: "a job has the node to itself",
    Code.PORT_TAKEN: lambda r: f"host port {r.subject} taken",
    Code.DISK_TAKEN: lambda r: f"disk {r.subject} in use there",
    Code.CLAIM_IN_USE: lambda r: f"another task uses {r.subject}, which is for one at a time",
    Code.VOLUME_LIMIT: lambda r: f"too many volumes of {r.subject}" if r.subject else "too many volumes",
    Code.VOLUME_AFFINITY: lambda r: "one of its volumes can't be used there",
    Code.VOLUME_ZONE: lambda r: "one of its volumes is in another zone",
    Code.VOLUME_UNBOUND: lambda r: "no volume there for one of its claims",
    Code.VOLUME_SPACE: lambda r: "too little space there for one of its volumes",
    Code.JOB_AFFINITY: _near,
    Code.JOB_ANTI_AFFINITY: _away,
    Code.RUNNING_ANTI_AFFINITY: lambda r: "anti-affinity of a job there",
    Code.TOPOLOGY_LABEL_MISSING: lambda r: f"node has no label {r.subject}",
    Code.SPREAD: lambda r: f"spread over {r.subject} would be uneven by more than {r.asked}",
    Code.PLUGIN: _plugin,
    Code.GANG: lambda r: f"room for {r.available} of the {r.asked} tasks that start together",
    Code.GANG_BEYOND_CAPACITY: lambda r: (
        f"gang beyond capacity: {r.asked} tasks start together, {r.available} fit when all is idle"
    ),
    Code.TOPOLOGY: _topology,
    Code.TOPOLOGY_BEYOND_CAPACITY: _topology_beyond,
    Code.QUOTA: _quota,
    Code.QUOTA_BEYOND: _quota_beyond,
    Code.LIMIT: _limit,
    Code.LIMIT_BEYOND: _limit,
    Code.PARTNER: lambda r: f"waits for its partner {r.subject}",
    Code.STRICT_QUEUE: lambda r: f"behind {r.subject}, which can't start (strict queue)",
    Code.PREEMPTED: _preempted,
    Code.EVICTED_BY_TAINT: lambda r: "evicted by a NoExecute taint, queued again",
    Code.NO_SCHEDULER: _no_scheduler,
    Code.NO_NODES: lambda r: "the cluster has no nodes",
}


# -- remedies


def remedy_text(remedy: Remedy) -> str:
    return _REMEDIES[remedy.change](remedy)


def _less(remedy: Remedy) -> str:
    if not remedy.amount:
        return f"ask for no {_noun(remedy.subject)} (asks {_asked(remedy.subject, remedy.asked)})"
    most = f"{amount_text(remedy.subject, remedy.amount)} {_noun(remedy.subject)}"
    return f"ask for at most {most} (asks {_asked(remedy.subject, remedy.asked)})"


def _smaller_gang(remedy: Remedy) -> str:
    return f"start with {count_text(remedy.amount, 'task')} (needs {remedy.asked})"


def _shorter(remedy: Remedy) -> str:
    has = format_duration(remedy.asked) if remedy.asked else "none"
    return f"set a time limit of at most {format_duration(remedy.amount)} (has {has})"


def _less_affinity(remedy: Remedy) -> str:
    if remedy.subject.startswith("spread"):
        return f"drop the {remedy.subject}"
    key, conditions = _affinity_parts(remedy.subject)
    return f"drop the affinity over {key} with {conditions}"


_REMEDIES: dict[Change, Callable[[Remedy], str]] = {
    Change.RESOURCE: _less,
    Change.GANG_SIZE: _smaller_gang,
    Change.TOLERATION: lambda r: f"tolerate {r.subject}",
    Change.NODE_SELECTOR: lambda r: f"drop the node selector {r.subject}",
    Change.NODE_LABEL: lambda r: f"give node {r.node} the label {r.subject}",
    Change.NODE_AFFINITY: lambda r: f"drop the node affinity {_conditions(r.subject)}".rstrip(),
    Change.POOL: lambda r: f"allow the pool {r.subject}",
    Change.GPU_MODEL: lambda r: f"allow the GPU model {r.subject}",
    Change.JOB_AFFINITY: _less_affinity,
    Change.EXCLUSIVE: lambda r: "share nodes: drop exclusive",
    Change.PRICE: lambda r: f"pay up to {price_text(r.amount)} a task (allows {price_text(r.asked)})",
    Change.TOPOLOGY: lambda r: f"drop the topology rule over {r.subject}",
    Change.TIME_LIMIT: _shorter,
    Change.PRIORITY: lambda r: (
        f"raise the priority to {priority_text(r.amount)} (is {priority_text(r.asked)})"
    ),
}


# -- single words

_KINDS = {Kind.NOT_NOW: "not now", Kind.NEVER: "never"}
_CAUSES = {
    EvictionCause.PREEMPTED: "preempted",
    EvictionCause.RECLAIMED: "quota taken back",
    EvictionCause.TAINT: "NoExecute taint",
    EvictionCause.MAINTENANCE: "maintenance",
}
_EVENTS = {
    Unblock.TASK_PLACED: "a task is placed",
    Unblock.TASK_ENDED: "a task ends",
    Unblock.NODE_CHANGED: "a node changes",
    Unblock.NODE_ADDED: "a node joins",
    Unblock.POLICY_CHANGED: "the policy changes",
    Unblock.TIME_PASSED: "time passes",
    Unblock.NEXT_CYCLE: "the next cycle comes",
}
_OUTCOMES = {
    Outcome.PLACED: "starts",
    Outcome.RUNNING: "runs",
    Outcome.EVICTED: "is evicted",
    Outcome.WAITING: "waits",
}


def kind_text(kind: Kind) -> str:
    return _KINDS[kind]


def cause_text(eviction: Eviction) -> str:
    return _CAUSES[eviction.cause] + (", ends the job" if eviction.ends_job else "")


def passing_text(reason: Reason) -> str:
    """Whether the reason can pass, and by what."""
    if reason.code in CALENDAR_PASSING:
        return CALENDAR_PASSING[reason.code]
    events = " or ".join(text for event, text in _EVENTS.items() if event in reason.unblocked_by)
    events = events.replace("changes or a node joins", "changes or joins")
    return f"until {events}" if reason.kind is Kind.NOT_NOW else f"never, unless {events}"


def outcome_text(outcome: Outcome) -> str:
    return _OUTCOMES[outcome]
