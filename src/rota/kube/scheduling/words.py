"""What users of kubectl read of a pod that waits, in kube-scheduler's words where it has some.

Text is made of typed reasons here and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from rota.kube.mirror.mirror import Mirror
from rota.kube.mirror.reasons import (
    AwaitsVictims,
    ClaimAwaited,
    ClaimEnding,
    ClaimLost,
    ClaimMissing,
    ClaimOfAnother,
    ClaimsUnbound,
    GangIncomplete,
    GangOthersFirst,
    Hold,
    Misread,
    PodGroupMissing,
    PodGroupUnusable,
    Unusable,
    VolumeMissing,
)
from rota.kube_objects.pods import PodTask
from rota.model.ids import JobId, TaskName
from rota.model.job import JobTemplate
from rota.model.plan import Plan
from rota.model.task import TaskSpec
from rota.model.verdict import Code, Reason, Verdict
from rota.views.wording import reason_text

_PHRASES = {
    Code.NODE_NOT_READY: "node(s) were not ready",
    Code.NODE_CORDONED: "node(s) were unschedulable",
    Code.OTHER_NODE_NAMED: "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    Code.NODE_SELECTOR: "node(s) didn't match Pod's node affinity/selector",
    Code.NODE_AFFINITY: "node(s) didn't match Pod's node affinity/selector",
    Code.PORT_TAKEN: "node(s) didn't have free ports for the requested pod ports",
    Code.JOB_AFFINITY: "node(s) didn't match pod affinity rules",
    Code.JOB_ANTI_AFFINITY: "node(s) didn't match pod anti-affinity rules",
    Code.RUNNING_ANTI_AFFINITY: "node(s) didn't satisfy existing pods anti-affinity rules",
    Code.SPREAD: "node(s) didn't match pod topology spread constraints",
    Code.DISK_TAKEN: "node(s) had no available disk",
    Code.CLAIM_IN_USE: (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use"
        " by another pod"
    ),
    Code.VOLUME_LIMIT: "node(s) exceed max volume count",
    Code.VOLUME_AFFINITY: "node(s) didn't match PersistentVolume's node affinity",
    Code.VOLUME_UNBOUND: "node(s) didn't find available persistent volumes to bind",
    Code.VOLUME_SPACE: "node(s) did not have enough free storage",
    Code.VOLUME_ZONE: "node(s) had no available volume zone",
}
_RESOURCES = {"storage": "ephemeral-storage"}
_BY_EVICTING = frozenset(
    {
        Code.INSUFFICIENT,
        Code.PORT_TAKEN,
        Code.DISK_TAKEN,
        Code.CLAIM_IN_USE,
        Code.VOLUME_LIMIT,
        Code.JOB_ANTI_AFFINITY,
        Code.RUNNING_ANTI_AFFINITY,
        Code.SPREAD,
        Code.GANG,
    }
)
"""Reasons that the end of other pods could do away with."""
_NO_HELP = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"


def waiting_texts(plan: Plan, mirror: Mirror) -> Iterator[tuple[TaskName, str]]:
    """Why each pod waits that was decided about."""
    for entry in plan.waiting:
        texts: dict[JobTemplate, str] = {}
        for job_id in entry.jobs:
            record = mirror.state.record(job_id)
            for rank in record.waiting_ranks():
                name = record.job.task_name(rank)
                task = mirror.task(name)
                if task is None:
                    continue
                text = texts.get(task.template)
                if text is None:
                    text = unschedulable_text(entry.verdict, task, mirror.node_count)
                    texts[task.template] = text
                yield name, text


def plan_lines(plan: Plan, mirror: Mirror) -> list[str]:
    """A plan for people, a line for each thing that would be done, and for each pod that would wait."""

    def pod(job_id: JobId, rank: int) -> TaskName:
        return mirror.state.record(job_id).job.task_name(rank)

    held = ((name, held_text(hold, mirror.node_count)) for name, hold in mirror.holds.items())
    return [
        *(f"bind {pod(one.job, one.rank)} to {one.node}" for one in plan.bindings),
        *(f"evict {pod(one.job, one.rank)} from {one.node} for {one.preemptor}" for one in plan.evictions),
        *(f"wait {name}: {text}" for name, text in (*waiting_texts(plan, mirror), *held)),
    ]


def unschedulable_text(verdict: Verdict, task: PodTask, nodes: int) -> str:
    """In all of the cluster's nodes, each counted once."""
    if any(refusal.reason.code is Code.NO_NODES for refusal in verdict.refusals):
        return "no nodes available to schedule pods"
    counts: Counter[str] = Counter()
    helps: Counter[str] = Counter()
    others = []
    for refusal in verdict.refusals:
        if not refusal.nodes:
            others.append(reason_text(refusal.reason))
            continue
        for phrase in _phrases(refusal.reason, task.spec):
            counts[phrase] += refusal.nodes
        helps[_NO_VICTIMS if refusal.reason.code in _BY_EVICTING else _NO_HELP] += refusal.nodes
    if not counts:
        return f"0/{nodes} nodes are available: {', '.join(others)}."
    if task.template.may_preempt is False:
        preemption = "not eligible due to preemptionPolicy=Never."
    else:
        preemption = f"0/{nodes} nodes are available: {_histogram(helps)}."
    return f"0/{nodes} nodes are available: {_histogram(counts)}. preemption: {preemption}"


def held_text(hold: Hold, nodes: int) -> str:
    """Why a pod waits that isn't decided about yet."""
    match hold:
        case GangIncomplete(gang, ready, needed, role):
            pods = f"{role} pods" if role else "pods"
            return f"gang {gang}: {ready} of {needed} {pods} present; they start together"
        case GangOthersFirst(gang):
            return f"gang {gang}: it starts once those pods have that must start together"
        case PodGroupMissing(group):
            return f"there is no {group} in its namespace yet; the pod waits for it"
        case PodGroupUnusable(group, problem):
            return f"its {group} can't be used: {problem}"
        case AwaitsVictims(node):
            return f"pods on {node} are ending to make room for it"
        case Unusable(problem):
            return f"the pod can't be used: {problem}"
        case _:
            return f"0/{nodes} nodes are available: {_claims_text(hold)}."


ClaimHold: TypeAlias = (
    ClaimMissing | ClaimsUnbound | ClaimAwaited | ClaimLost | ClaimEnding | ClaimOfAnother | VolumeMissing
)


def _claims_text(hold: ClaimHold) -> str:
    match hold:
        case ClaimMissing(claim):
            return f'persistentvolumeclaim "{claim}" not found'
        case ClaimsUnbound():
            return "pod has unbound immediate PersistentVolumeClaims"
        case ClaimAwaited(claim):
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{claim}"'
        case ClaimLost(claim, volume):
            return f'persistentvolumeclaim "{claim}" bound to non-existent persistentvolume "{volume}"'
        case ClaimEnding(claim):
            return f'persistentvolumeclaim "{claim}" is being deleted'
        case ClaimOfAnother(claim):
            return f"PVC {claim} was not created for this pod (pod is not owner)"
        case VolumeMissing(volume):
            return f'persistentvolume "{volume}" not found'


def misread_text(misread: Misread) -> str:
    return f"{misread.problem}; assumed: {misread.assumed}"


def _histogram(counts: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {phrase}" for phrase, count in counts.items()))


def _phrases(reason: Reason, spec: TaskSpec) -> list[str]:
    """One, but where a node lacks several resources: each of them is named."""
    match reason.code:
        case Code.BEYOND_CAPACITY | Code.INSUFFICIENT:
            others = reason.detail.split(",") if reason.detail else []
            return [_lack(resource) for resource in (reason.subject, *others)]
        case Code.VOLUME_AFFINITY:
            others = reason.detail.split(",")
            return [_PHRASES[code] for code in _PHRASES if code is reason.code or code.value in others]
        case Code.TAINT | Code.PASSING_TAINT:
            return [f"node(s) had untolerated taint {{{reason.subject}}}"]
        case Code.TOPOLOGY_LABEL_MISSING if _is_spread_over(reason.subject, spec):
            return [f"{_PHRASES[Code.SPREAD]} (missing required label)"]
        case Code.TOPOLOGY_LABEL_MISSING:
            return [_PHRASES[Code.JOB_AFFINITY]]
        case Code.GANG | Code.GANG_BEYOND_CAPACITY:
            return [f"node(s) had room, but for {reason.available} of {reason.asked} pods of the gang only"]
        case code:
            return [_PHRASES.get(code) or reason_text(reason)]


def _lack(resource: str) -> str:
    return "Too many pods" if resource == "slots" else f"Insufficient {_RESOURCES.get(resource, resource)}"


def _is_spread_over(key: str, spec: TaskSpec) -> bool:
    return any(one.required and one.topology_key == key for one in spec.spread)
