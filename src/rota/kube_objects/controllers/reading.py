"""Pods that controllers would make, read as tasks of the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rota.kube_objects.controllers.kinds import pods_to_come
from rota.kube_objects.controllers.to_come import (
    PodSet,
    PodsToCome,
    Surroundings,
    check_count,
    made_pod,
)
from rota.kube_objects.errors import FieldError, FieldPath
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.metadata import KubeObject
from rota.kube_objects.pods import Note, PodReader, PodTask
from rota.model.ids import JobId, TaskName
from rota.model.job import Job, JobRecord, TaskGroup
from rota.model.quantities import CountOrPercent

_COUNTED_BY: dict[str, FieldPath] = {
    "Job": ("spec", "parallelism"),
    **dict.fromkeys(
        ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"), ("spec", "replicas")
    ),
}


class MadeTasks(Struct, frozen=True):
    """What one controller makes at once."""

    job: JobId
    """As which they are one job of the model."""
    tasks: tuple[PodTask, ...]
    places: tuple[FieldPath, ...]
    """Of each, the template within the object."""

    def jobs(self) -> Iterator[JobRecord]:
        """Of pods that may start one by one: equal ones are tasks of one job, others jobs of their own."""
        if len({task.template for task in self.tasks}) > 1:
            yield from (task.as_job() for task in self.tasks)
            return
        first = self.tasks[0]
        template = replace(first.template, groups=(TaskGroup(first.spec, len(self.tasks)),), min_available=1)
        names = tuple(task.name for task in self.tasks)
        yield JobRecord(Job(self.job, template, first.submitted_ms, task_names=names))


class ControllerReader:
    def __init__(self, pod_reader: PodReader, around: Surroundings) -> None:
        self._pod_reader = pod_reader
        self._around = around
        self._count = 0
        self._taken: set[str] = {f"{namespace}/{name}" for namespace, name in around.pod_names}

    def read(self, found: KubeObject, kind: str, note: Note) -> Iterator[MadeTasks]:
        """FieldError where a template isn't valid, or where there are too many. `kind`: for its name, where
        something else has the same."""
        for made in pods_to_come(found, self._around):
            self._count += made.count
            check_count(self._count, _COUNTED_BY.get(kind, ("spec",)))
            yield self._read(found, made, kind, note)

    def _read(self, found: KubeObject, made: PodsToCome, kind: str, note: Note) -> MadeTasks:
        tasks: list[PodTask] = []
        places: list[FieldPath] = []
        for pods in made.sets:
            read = self._tasks(found, pods, note)
            tasks += read
            places += [pods.at] * len(read)
        job = self._job_id(found, made.name, kind)
        if made.together is not None:
            least = CountOrPercent(count=made.together)
            # Who names a gang by the label means that one.
            tasks = [task if task.gang else replace(task, gang=job, min_available=least) for task in tasks]
        return MadeTasks(job, tuple(replace(task, batch_job=job) for task in tasks), tuple(places))

    def _tasks(self, found: KubeObject, pods: PodSet, note: Note) -> Sequence[PodTask]:
        namespace = namespace_of(found.metadata)
        if not any(one.labels for one in pods.pods):
            first = self._task(found, pods, 0, note) if pods.pods else None
            return [replace(first, name=TaskName(f"{namespace}/{one.name}")) for one in pods.pods if first]
        return [self._task(found, pods, at, note) for at in range(len(pods.pods))]

    def _task(self, found: KubeObject, pods: PodSet, at: int, note: Note) -> PodTask:
        try:
            task = self._pod_reader.read(made_pod(found, pods, pods.pods[at]), note)
        except FieldError as error:
            raise FieldError((*pods.at, *error.path), error.problem, error.remedy) from None
        node = pods.template.spec.node_name
        if node:
            group = TaskGroup(replace(task.spec, node_name=node))
            task = replace(task, template=replace(task.template, groups=(group,)))
        return task

    def _job_id(self, found: KubeObject, name: str, kind: str) -> JobId:
        """A pod, or something of another kind, may have the same name."""
        namespace = namespace_of(found.metadata)
        plain, full = f"{namespace}/{name}", f"{namespace}/{kind.lower()}:{name}"
        job = plain if plain not in self._taken else full
        self._taken.add(job)
        return JobId(job)
