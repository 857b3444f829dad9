"""Pods that start together or not at all, as one job of the model."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

from msgspec import Struct, structs

from rota.kube_objects.errors import PodError, TooFewPods
from rota.kube_objects.pods import GangKeys, PodState, PodTask
from rota.model.ids import JobId
from rota.model.job import Job, JobRecord, TaskGroup
from rota.model.quantities import CountOrPercent
from rota.model.task import TaskSpec


class Gang(NamedTuple):
    record: JobRecord | None
    """None: nothing of it runs or could start."""
    held: tuple[PodTask, ...]
    """Pods that wait but can't start, because too many of the others are gated or being replaced."""


def as_gang(gang_id: JobId, pods: Sequence[PodTask], gang_keys: GangKeys) -> Gang:
    """PodError where the pods don't make a gang.

    `pods` are all of the gang that are known. Pods that are done count as started; those that are gone
    are no longer part of it.
    """
    present = sorted((pod for pod in pods if pod.state is not PodState.GONE), key=lambda pod: pod.name)
    needed = _min_available(pods, len(present), gang_keys)
    ready = [pod for pod in present if pod.state is not PodState.GATED]
    held: tuple[PodTask, ...] = ()
    if len(ready) < needed:
        held = tuple(pod for pod in ready if pod.state is PodState.WAITING)
        ready = [pod for pod in ready if pod.state is not PodState.WAITING]
    if all(pod.state is PodState.DONE for pod in ready):
        return Gang(None, held)
    return Gang(_record(gang_id, ready, min(needed, len(ready))), held)


def _record(gang_id: JobId, pods: Sequence[PodTask], min_available: int) -> JobRecord:
    by_spec: dict[TaskSpec, list[PodTask]] = {}
    for pod in pods:
        by_spec.setdefault(pod.spec, []).append(pod)
    ranked = list(chain.from_iterable(by_spec.values()))
    highest = max(pods, key=lambda pod: pod.template.priority)
    # What a single Job is yet to create is known by the name of that Job.
    batch_jobs = {pod.batch_job for pod in pods}
    is_batch_job = len(batch_jobs) == 1 and batch_jobs != {""}
    job = Job(
        id=batch_jobs.pop() if is_batch_job else gang_id,
        template=structs.replace(
            highest.template,
            groups=tuple(TaskGroup(spec, len(alike)) for spec, alike in by_spec.items()),
            min_available=min_available,
        ),
        submitted_ms=min(pod.submitted_ms for pod in pods),
        task_names=tuple(pod.name for pod in ranked),
        tasks_are_jobs=not is_batch_job,
    )
    return JobRecord(
        job,
        placements=tuple(
            pod.placement(rank) for rank, pod in enumerate(ranked) if pod.state is PodState.RUNNING
        ),
        done=tuple(rank for rank, pod in enumerate(ranked) if pod.state is PodState.DONE),
    )


class Disagreement(Struct, frozen=True):
    """Pods of one gang say different things of how many must start together."""

    said: tuple[str, ...]
    assumed: str


def agreed(pods: Sequence[PodTask], present: int) -> tuple[CountOrPercent | None, Disagreement | None]:
    """What they say; of several answers the one that asks for the most: nobody starts too early by it."""
    said = {pod.min_available for pod in pods if pod.min_available is not None}
    if len(said) < 2:
        return next(iter(said), None), None
    most = max(said, key=lambda one: (one.of(present), str(one)))
    return most, Disagreement(tuple(sorted(map(str, said))), str(most))


def _min_available(pods: Sequence[PodTask], present: int, gang_keys: GangKeys) -> int:
    """How many must start together: what the pods say, or all that are present."""
    stating = [pod for pod in pods if pod.min_available is not None]
    if not stating:
        return present
    first = stating[0]
    assert first.min_available is not None
    for other in stating:
        if other.min_available != first.min_available:
            raise PodError(
                other.name,
                ("metadata", "annotations", gang_keys.annotation),
                f"{other.name} says {other.min_available}, but {first.name} of the same gang says"
                f" {first.min_available}",
                "give all pods of a gang the same",
            )
    needed = first.min_available.of(present)
    if needed > len(pods):
        raise TooFewPods(
            first.name,
            ("metadata", "annotations", gang_keys.annotation),
            f"{needed} pods are to start together, but the gang has {len(pods)}",
            f"give at most {len(pods)}, or add the gang's other pods",
        )
    return needed
