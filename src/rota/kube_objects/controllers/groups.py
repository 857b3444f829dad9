"""Pods that start together: Volcano's Jobs, Kueue's Workloads, LeaderWorkerSets."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rota.kube_objects.controllers.to_come import (
    MadePod,
    PodSet,
    PodsToCome,
    Surroundings,
    absent,
    check_count,
    name_of,
    one_or,
)
from rota.kube_objects.errors import FieldError, FieldPath
from rota.kube_objects.objects.controllers import (
    LeaderWorkerSet,
    VolcanoCronJob,
    VolcanoJob,
    VolcanoJobSpec,
    VolcanoTask,
    Workload,
)
from rota.kube_objects.objects.metadata import KubeObject
from rota.kube_objects.objects.pods import PodTemplate

_VOLCANO = "volcano.sh/"
_VOLCANO_ENDED = frozenset({"Completed", "Failed", "Terminated", "Aborted", "Completing", "Terminating"})
_LEADER_WORKER_SET = "leaderworkerset.sigs.k8s.io/"
_SETTLED = frozenset({"Admitted", "Finished"})
"""Of a Workload: its pods are there, or are no longer to come."""


def of_volcano_job(found: VolcanoJob, around: Surroundings) -> Iterator[PodsToCome]:
    state = found.status.state if found.status else None
    if state is not None and state.phase in _VOLCANO_ENDED:
        return
    yield from _of_volcano(found, found.spec, ("spec",), around)


def of_volcano_cron_job(found: VolcanoCronJob, around: Surroundings) -> Iterator[PodsToCome]:
    """As if it were due."""
    if not found.spec.suspend:
        yield from _of_volcano(found, found.spec.job_template.spec, ("spec", "jobTemplate", "spec"), around)


def _of_volcano(
    found: KubeObject, spec: VolcanoJobSpec, path: FieldPath, around: Surroundings
) -> Iterator[PodsToCome]:
    name = name_of(found)
    wanted = sum(one_or(task.replicas) for task in spec.tasks or ())
    check_count(wanted, (*path, "tasks"))
    if spec.min_available is not None and spec.min_available > wanted:
        problem = f"{spec.min_available} pods are to start together, and its tasks have {wanted}"
        raise FieldError((*path, "minAvailable"), problem, "lower it, or raise replicas of a task")
    labels = {f"{_VOLCANO}job-name": name, f"{_VOLCANO}queue-name": spec.queue or "default"}
    sets = []
    roles: set[str] = set()
    for at, task in enumerate(spec.tasks or ()):
        role = task.name or f"default{at}"
        if role in roles:
            problem = f"another task is named {role}: its pods would have the same names"
            raise FieldError((*path, "tasks", at, "name"), problem, "give each task a name of its own")
        roles.add(role)
        named = (
            MadePod(f"{name}-{role}-{index}", {f"{_VOLCANO}task-index": str(index)})
            for index in range(one_or(task.replicas))
        )
        pods = tuple(absent(found, named, around))
        template = _prioritised(task, spec.priority_class_name)
        own = {**labels, f"{_VOLCANO}task-spec": role}
        sets.append(PodSet(template, (*path, "tasks", at, "template"), pods, own))
    least = wanted if not spec.min_available else spec.min_available
    yield PodsToCome(name, tuple(sets), together=_left(least, wanted, sets))


def _prioritised(task: VolcanoTask, priority_class: str | None) -> PodTemplate:
    """The Job's priority is that of all its tasks that have none."""
    spec = task.template.spec
    if not priority_class or spec.priority_class_name or spec.priority is not None:
        return task.template
    return replace(task.template, spec=replace(spec, priority_class_name=priority_class))


def _left(least: int, wanted: int, sets: list[PodSet]) -> int:
    """Of those that are to start together, how many still have to: some may be there."""
    to_come = sum(len(one.pods) for one in sets)
    return max(min(1, to_come), least - (wanted - to_come))


def of_workload(found: Workload, around: Surroundings) -> Iterator[PodsToCome]:
    conditions = (found.status.conditions if found.status else None) or ()
    if found.spec.active is False or any(one.type in _SETTLED and one.status == "True" for one in conditions):
        return
    name, sets, least = name_of(found), [], 0
    check_count(sum(one_or(one.count) for one in found.spec.pod_sets or ()), ("spec", "podSets"))
    for at, pod_set in enumerate(found.spec.pod_sets or ()):
        role, count = pod_set.name or "main", one_or(pod_set.count)
        pods = tuple(MadePod(f"{name}-{role}-{index}") for index in range(count))
        sets.append(PodSet(pod_set.template, ("spec", "podSets", at, "template"), pods))
        least += count if pod_set.min_count is None else min(count, pod_set.min_count)
    yield PodsToCome(name, tuple(sets), together=least)


def of_leader_worker_set(found: LeaderWorkerSet, around: Surroundings) -> Iterator[PodsToCome]:
    """Each replica is a leader and its workers, which start together."""
    template, name = found.spec.leader_worker_template, name_of(found)
    at = ("spec", "leaderWorkerTemplate")
    size = one_or(template.size)
    check_count(size * one_or(found.spec.replicas), ("spec", "replicas"))
    for group in range(one_or(found.spec.replicas)):
        leader = f"{name}-{group}"
        labels = {
            f"{_LEADER_WORKER_SET}name": name,
            f"{_LEADER_WORKER_SET}group-index": str(group),
        }
        named = [
            MadePod(
                leader if not index else f"{leader}-{index}",
                {f"{_LEADER_WORKER_SET}worker-index": str(index)},
            )
            for index in range(size)
        ]
        first, workers = (tuple(absent(found, some, around)) for some in (named[:1], named[1:]))
        sets = [PodSet(template.worker_template, (*at, "workerTemplate"), workers, labels)]
        if template.leader_template is None:
            sets.insert(0, PodSet(template.worker_template, (*at, "workerTemplate"), first, labels))
        else:
            sets.insert(0, PodSet(template.leader_template, (*at, "leaderTemplate"), first, labels))
        yield PodsToCome(leader, tuple(sets), together=_left(size, size, sets))
