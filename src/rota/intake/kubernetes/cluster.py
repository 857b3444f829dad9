"""A cluster's objects as the records that decisions are made from."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from msgspec import structs

from rota.intake._amounts import Totals
from rota.intake._fields import Field
from rota.intake.document import Document
from rota.intake.kubernetes.faults import Faults
from rota.intake.kubernetes.jobs import TEMPLATE, BatchJobReader, as_job
from rota.intake.kubernetes.manifests import Manifests
from rota.intake.kubernetes.notes import Note, Notes
from rota.kube_objects.errors import PodError
from rota.kube_objects.gangs import as_gang
from rota.kube_objects.namespaces import Namespaces, namespace_of
from rota.kube_objects.nodes import as_node
from rota.kube_objects.objects.metadata import Namespace
from rota.kube_objects.objects.nodes import Node as KubeNode
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.kube_objects.objects.workloads import Job, PriorityClass
from rota.kube_objects.pods import DEFAULT_GANG_KEYS, GangKeys, PodReader, PodState, PodTask
from rota.kube_objects.priority import PriorityClasses
from rota.kube_objects.volumes import Volumes
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName, TaskName
from rota.model.job import JobRecord
from rota.model.node import Node

T = TypeVar("T")


class Reading(NamedTuple):
    records: ClusterRecords
    notes: tuple[Note, ...]
    """What was left out and why, where that is no error."""


def read_cluster(documents: Iterable[Document], gang_keys: GangKeys = DEFAULT_GANG_KEYS) -> Reading:
    """The cluster that these manifests describe together. InputError says all that is wrong with them."""
    faults, notes = Faults(), Notes()
    reader = _ClusterReader(Manifests(documents, faults, notes), gang_keys, faults, notes)
    nodes = reader.nodes()
    pods = reader.pods({node.name for node in nodes})
    jobs = reader.jobs(pods, reader.pods_to_come(pods))
    faults.raise_any()
    return Reading(ClusterRecords(nodes=tuple(nodes), jobs=tuple(jobs)), notes.all())


class _ClusterReader:
    def __init__(self, manifests: Manifests, gang_keys: GangKeys, faults: Faults, notes: Notes) -> None:
        self._manifests = manifests
        self._gang_keys = gang_keys
        self._faults = faults
        self._notes = notes
        self._totals = Totals("pods")
        namespaces = Namespaces(self._all(Namespace), self._mentioned_namespaces())
        volumes = Volumes(self._all(PersistentVolume), self._all(PersistentVolumeClaim))
        priorities = PriorityClasses(self._all(PriorityClass))
        self._pod_reader = PodReader(priorities, namespaces, volumes, gang_keys)
        self._places: dict[TaskName, Field] = {}
        """Where each pod stands, or the template of the Job that is yet to create it."""

    def nodes(self) -> list[Node]:
        nodes = []
        totals = Totals("nodes")
        for found, place in self._manifests.of(KubeNode):
            with self._faults.of(place):
                node = as_node(found)
                totals.add(node.spec.capacity, 1, place.at("status"))
                nodes.append(node)
        return nodes

    def pods(self, nodes: set[NodeName]) -> list[PodTask]:
        pods = []
        for pod, place in self._manifests.of(Pod):
            with self._faults.of(place):
                task = self._pod_reader.read(pod, partial(self._notes.add, place))
                self._places[task.name] = place
                self._count(task, 1)
                if task.state is PodState.RUNNING and task.node not in nodes:
                    self._notes.add(place, "on a node that is not in these files, so left out", task.name)
                    task = structs.replace(task, state=PodState.DONE)
                pods.append(task)
        return pods

    def pods_to_come(self, pods: Sequence[PodTask]) -> Iterator[list[PodTask]]:
        """Of each Job those that it would create now, if any."""
        reader = BatchJobReader(self._pod_reader, self._all(Pod), {pod.name for pod in pods})
        for job, place in self._manifests.of(Job):
            missing: list[PodTask] = []
            with self._faults.of(place):
                template = place.at(*TEMPLATE)
                missing = reader.missing_pods(job, partial(self._notes.add, template))
                self._places.update((pod.name, template) for pod in missing)
                if missing:
                    self._count(missing[0], len(missing))
            if missing:
                yield missing

    def jobs(self, pods: Sequence[PodTask], pods_to_come: Iterable[list[PodTask]]) -> list[JobRecord]:
        jobs: list[JobRecord] = []
        gangs: defaultdict[JobId, list[PodTask]] = defaultdict(list)
        for pod in pods:
            self._note_gates(pod)
            if pod.gang:
                gangs[_gang_id(pod)].append(pod)
            elif pod.state in (PodState.WAITING, PodState.RUNNING):
                jobs.append(pod.as_job())
        for missing in pods_to_come:
            self._note_gates(missing[0])
            if missing[0].gang:
                gangs[_gang_id(missing[0])].extend(missing)
            elif missing[0].state is PodState.WAITING:
                jobs.append(as_job(missing))
        return jobs + self._gangs(gangs)

    def _gangs(self, gangs: dict[JobId, list[PodTask]]) -> list[JobRecord]:
        records = []
        for gang_id, pods in gangs.items():
            try:
                gang = as_gang(gang_id, pods, self._gang_keys)
            except PodError as error:
                self._faults.add(self._places[TaskName(error.pod)], error)
                continue
            for pod in gang.held:
                self._note(pod, "too few pods of its gang can start, so it is left out")
            if gang.record is not None:
                records.append(gang.record)
        return records

    def _count(self, pod: PodTask, times: int) -> None:
        at = self._places[pod.name].at("spec")
        self._totals.add(pod.spec.requests, times, at)
        self._totals.add(pod.spec.overhead, times, at)

    def _note_gates(self, pod: PodTask) -> None:
        if pod.state is PodState.GATED:
            self._note(pod, "has scheduling gates, so it is left out")

    def _note(self, pod: PodTask, reason: str) -> None:
        self._notes.add(self._places[pod.name], reason, pod.name)

    def _all(self, wanted: type[T]) -> Iterator[T]:
        return (found.object for found in self._manifests.of(wanted))

    def _mentioned_namespaces(self) -> set[str]:
        pods = {namespace_of(pod.metadata) for pod in self._all(Pod)}
        return pods | {namespace_of(job.metadata) for job in self._all(Job)}


def _gang_id(pod: PodTask) -> JobId:
    """No pod's or Job's name has a colon in it."""
    return JobId(f"{pod.template.namespace}/gang:{pod.gang}")
