"""What users of kubectl read of a pod that waits, in kube-scheduler's words where it has some.

Text is made of typed reasons here and nowhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
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
    NotAllowed,
    PodGroupMissing,
    PodGroupUnusable,
    Unusable,
    VolumeMissing,
    Wish,
)
from rota.kube.scheduling.rules import BY_EVICTING
from rota.kube_objects.belonging import EXCLUSIVE, PROJECT, QUEUE, USER
from rota.kube_objects.pods import PodTask
from rota.kube_objects.selectors import named_nodes
from rota.model.ids import JobId, TaskName
from rota.model.job import JobTemplate
from rota.model.plan import Plan
from rota.model.reasons import (
    BeyondCapacity,
    ClaimInUse,
    DiskTaken,
    GangBeyondCapacity,
    GangLacksRoom,
    Insufficient,
    JobAffinityUnmet,
    JobAntiAffinityUnmet,
    NobodyToEvict,
    NoNodes,
    NoSpaceForVolume,
    NoVolumeToBind,
    PortTaken,
    RunningAntiAffinity,
    SpreadUneven,
    TooManyVolumes,
    TopologyLabelMissing,
    VolumeInOtherZone,
    VolumeOutOfReach,
)
from rota.model.task import TaskSpec, VolumeTrouble
from rota.model.verdict import Reason, Refusal, Verdict
from rota.plugins.gpu_model import OtherGpuModel
from rota.plugins.node_affinity import NodeAffinityUnmet
from rota.plugins.node_name import OtherNodeNamed
from rota.plugins.node_ready import NodeCordoned, NodeNotReady
from rota.plugins.node_selector import NodeSelectorUnmet
from rota.plugins.taints import UntoleratedPassingTaint, UntoleratedTaint
from rota.views.wording import reason_text

_PHRASES: dict[type[Reason], str] = {
    NodeNotReady: "node(s) were not ready",
    NodeCordoned: "node(s) were unschedulable",
    OtherNodeNamed: "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    NodeSelectorUnmet: "node(s) didn't match Pod's node affinity/selector",
    NodeAffinityUnmet: "node(s) didn't match Pod's node affinity/selector",
    PortTaken: "node(s) didn't have free ports for the requested pod ports",
    JobAffinityUnmet: "node(s) didn't match pod affinity rules",
    JobAntiAffinityUnmet: "node(s) didn't match pod anti-affinity rules",
    RunningAntiAffinity: "node(s) didn't satisfy existing pods anti-affinity rules",
    SpreadUneven: "node(s) didn't match pod topology spread constraints",
    DiskTaken: "node(s) had no available disk",
    ClaimInUse: (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use"
        " by another pod"
    ),
    TooManyVolumes: "node(s) exceed max volume count",
    VolumeOutOfReach: "node(s) didn't match PersistentVolume's node affinity",
    NoVolumeToBind: "node(s) didn't find available persistent volumes to bind",
    NoSpaceForVolume: "node(s) did not have enough free storage",
    VolumeInOtherZone: "node(s) had no available volume zone",
    NobodyToEvict: "No preemption victims found for incoming pod",
}
_RESOURCES = {"storage": "ephemeral-storage", "gpu": "shared GPU", "gpu-best": "shared GPU"}
_NAMES_CONFLICT = "pod affinity terms conflict"
_NO_HELP = "Preemption is not helpful for scheduling"
_MAY_NOT = "preemption: not eligible due to preemptionPolicy=Never."


def waiting_texts(plan: Plan, mirror: Mirror) -> Iterator[tuple[JobId, TaskName, str]]:
    """Why each pod waits that was decided about, with the job that it is, or is a part of."""
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
                    text = unschedulable_text(entry.verdict, task, mirror.node_count, entry.still)
                    texts[task.template] = text
                yield job_id, name, text


def plan_lines(plan: Plan, mirror: Mirror) -> list[str]:
    """A plan for people, a line for each thing that would be done, and for each pod that would wait."""

    def pod(job_id: JobId, rank: int) -> TaskName:
        return mirror.state.record(job_id).job.task_name(rank)

    held = ((name, held_text(hold, mirror.node_count)) for name, hold in mirror.holds.items())
    waiting = ((name, text) for _, name, text in waiting_texts(plan, mirror))
    return [
        *(f"bind {pod(one.job, one.rank)} to {one.node}" for one in plan.bindings),
        *(f"evict {pod(one.job, one.rank)} from {one.node} for {one.preemptor}" for one in plan.evictions),
        *(f"wait {name}: {text}" for name, text in (*waiting, *held)),
    ]


def unschedulable_text(verdict: Verdict, task: PodTask, nodes: int, still: Sequence[Refusal] = ()) -> str:
    """In all of the cluster's nodes, each counted once. `still`: what would be in the way without those who
    may have to go for it, where that was asked."""
    refused = refused_text(verdict, task, nodes)
    counted = [one for one in verdict.refusals if one.nodes]
    if not counted:
        return refused
    if task.template.may_preempt is False:
        return f"{refused} {_MAY_NOT}"
    if named_nodes(task.spec.node_affinity) == set():
        # Nodes aren't even asked, nor who could go.
        still = ()
    elif not still:
        hopeful = sum(one.nodes for one in counted if isinstance(one.reason, BY_EVICTING))
        still = (Refusal(NobodyToEvict(), hopeful),) if hopeful else ()
    counts = _counts(still, task.spec)
    if others := nodes - sum(one.nodes for one in still):
        counts[_NO_HELP] += others
    return f"{refused} preemption: 0/{nodes} nodes are available: {_histogram(counts)}."


def _no_help(nodes: int) -> str:
    return f"preemption: 0/{nodes} nodes are available: {nodes} {_NO_HELP}."


def refused_text(verdict: Verdict, task: PodTask, nodes: int) -> str:
    """Without what is said of preemption: for those that have room made for them, that is all."""
    if any(isinstance(refusal.reason, NoNodes) for refusal in verdict.refusals):
        return "no nodes available to schedule pods"
    counted = [one for one in verdict.refusals if one.nodes]
    if not counted:
        others = ", ".join(reason_text(one.reason) for one in verdict.refusals)
        return f"0/{nodes} nodes are available: {others}."
    if named_nodes(task.spec.node_affinity) == set():
        return f"0/{nodes} nodes are available: {_NAMES_CONFLICT}."
    return f"0/{nodes} nodes are available: {_histogram(_counts(counted, task.spec))}."


def _counts(refusals: Sequence[Refusal], spec: TaskSpec) -> Counter[str]:
    counts: Counter[str] = Counter()
    for refusal in refusals:
        for phrase in _phrases(refusal.reason, spec):
            counts[phrase] += refusal.nodes
    return counts


def held_text(hold: Hold, nodes: int, *, may_preempt: bool = True) -> str:
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
        case NotAllowed():
            return not_allowed_text(hold)
        case _:
            preemption = _no_help(nodes) if may_preempt else _MAY_NOT
            return f"0/{nodes} nodes are available: {_claims_text(hold)}. {preemption}"


_WISHES = {
    Wish.PROJECT: (PROJECT, "an operator can allow it by tenants.{value}.namespaces of the policy"),
    Wish.USER: (USER, "an operator can allow it by tenants.{project}.users of the policy"),
    Wish.QUEUE: (QUEUE, "an operator can allow it by limits.projects.{project}.queues of the policy"),
    Wish.UNKNOWN_QUEUE: (QUEUE, "the policy has no queue of that name"),
    Wish.EXCLUSIVE: (
        EXCLUSIVE,
        "an operator can allow it by limits.projects.{project}.exclusive of the policy",
    ),
}


def not_allowed_text(hold: NotAllowed) -> str:
    key, remedy = _WISHES[hold.wish]
    says = f'the pod says {key}: "{hold.value}", which the namespace {hold.namespace} may not'
    return f"{says}; {remedy.format(value=hold.value, project=hold.project)}"


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
    match reason:
        case BeyondCapacity() | Insufficient():
            return [_lack(resource) for resource in (reason.resource, *reason.also)]
        case VolumeOutOfReach(also):
            return [_PHRASES[VolumeOutOfReach], *(_PHRASES[_BESIDES[one]] for one in also)]
        case UntoleratedTaint() | UntoleratedPassingTaint():
            others = f" and {reason.others} others" if reason.others else ""
            return [f"node(s) had untolerated taint {{{reason.key}: {reason.value}{others}}}"]
        case TopologyLabelMissing(key) if _is_spread_over(key, spec):
            return [f"{_PHRASES[SpreadUneven]} (missing required label)"]
        case OtherGpuModel(models):
            return [f"node(s) had no GPU of the model {' or '.join(models)}"]
        case TopologyLabelMissing():
            return [_PHRASES[JobAffinityUnmet]]
        case GangLacksRoom(needed, fitting) | GangBeyondCapacity(needed, fitting):
            return [f"node(s) had room, but for {fitting} of {needed} pods of the gang only"]
        case _:
            return [_PHRASES.get(type(reason)) or reason_text(reason)]


_BESIDES: dict[VolumeTrouble, type[Reason]] = {
    VolumeTrouble.UNBOUND: NoVolumeToBind,
    VolumeTrouble.SPACE: NoSpaceForVolume,
}


def _lack(resource: str) -> str:
    return "Too many pods" if resource == "slots" else f"Insufficient {_RESOURCES.get(resource, resource)}"


def _is_spread_over(key: str, spec: TaskSpec) -> bool:
    return any(one.required and one.topology_key == key for one in spec.spread)
