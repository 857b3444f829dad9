"""A cluster's objects as the records that decisions are made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from msgspec import structs

from rota.intake.checking.fields import Field, raise_all
from rota.intake.documents.document import Document
from rota.intake.errors import InputError
from rota.intake.kubernetes.faults import Faults
from rota.intake.kubernetes.manifests import Manifests
from rota.intake.kubernetes.notes import Note, Notes
from rota.intake.parts.amounts import Totals
from rota.kube_objects.controllers.kinds import CONTROLLERS
from rota.kube_objects.controllers.ownership import Ownership
from rota.kube_objects.controllers.reading import ControllerReader, MadeTasks
from rota.kube_objects.controllers.to_come import Surroundings
from rota.kube_objects.errors import FieldError, PodError, TooFewPods
from rota.kube_objects.gangs import Gang, agreed, as_gang
from rota.kube_objects.namespaces import Namespaces, namespace_of
from rota.kube_objects.nodes import as_node
from rota.kube_objects.objects.metadata import Namespace
from rota.kube_objects.objects.nodes import Node as KubeNode
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.kube_objects.objects.workloads import PriorityClass
from rota.kube_objects.pods import DEFAULT_GANG_KEYS, GangKeys, PodReader, PodState, PodTask
from rota.kube_objects.priority import PriorityClasses
from rota.kube_objects.volumes import Volumes, key_of_claim
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, TaskName
from rota.model.job import JobRecord
from rota.model.node import Node

T = TypeVar("T")


class Reading(NamedTuple):
    records: ClusterRecords
    notes: tuple[Note, ...]
    """What was left out and why, where that is no error."""
    faults: tuple[InputError, ...] = ()
    """Of pods and of what makes them: what can't be used, and was left out or is assumed otherwise."""
    incomplete: tuple[InputError, ...] = ()
    """Gangs of which too few pods are there: they wait for the others."""
    held: int = 0
    """Pods that wait for something that isn't in these files: others of their gang, a gate."""


def read_cluster(documents: Iterable[Document], gang_keys: GangKeys = DEFAULT_GANG_KEYS) -> Reading:
    """The cluster that these manifests describe together. InputError says all that is wrong with them."""
    reader = ClusterObjects(documents, gang_keys)
    reading = reader.read(reader.nodes)
    raise_all([*reading.faults, *reading.incomplete])
    return reading


class ClusterObjects:
    """Two steps: nodes may also come from elsewhere, and pods run on those, too."""

    def __init__(self, documents: Iterable[Document], gang_keys: GangKeys = DEFAULT_GANG_KEYS) -> None:
        """InputError: what is wrong with nodes, or with the files as such."""
        self.faults = Faults(go_on=True)
        """Of pods and of what makes them."""
        self._incomplete = Faults(go_on=True)
        self._notes = Notes()
        of_cluster = Faults()
        self._manifests = Manifests(documents, of_cluster, self.faults, self._notes)
        self.nodes = tuple(_nodes(self._manifests, of_cluster))
        self._gang_keys = gang_keys
        self._totals = Totals("pods")
        self._held = 0
        namespaces = Namespaces(self._all(Namespace), self._mentioned_namespaces())
        self._claims = list(self._all(PersistentVolumeClaim))
        volumes = Volumes(self._all(PersistentVolume), self._claims)
        priorities = PriorityClasses(self._all(PriorityClass))
        self._pod_reader = PodReader(priorities, namespaces, volumes, gang_keys)
        self._places: dict[TaskName, Field] = {}
        """Where each pod stands, or the template of what is yet to create it."""
        if of_cluster.all():
            self.read(self.nodes)
            raise_all([*self.faults.all(), *of_cluster.all()])

    def read(self, nodes: Sequence[Node]) -> Reading:
        """`nodes`: all of the cluster."""
        pods = self._pods({node.name for node in nodes})
        jobs = self._jobs(pods, self._pods_to_come(nodes))
        records = ClusterRecords(nodes=self.nodes, jobs=tuple(jobs))
        notes, faults = self._notes.all(), self.faults.all()
        return Reading(records, notes, faults, self._incomplete.all(), self._held)

    def unread_files(self) -> Iterator[InputError]:
        return self._manifests.unread_files()

    def _pods(self, nodes: set[str]) -> list[PodTask]:
        pods = []
        for pod, place, _ in self._manifests.of(Pod):
            with self.faults.of(place):
                task = self._read_pod(pod, place)
                self._places[task.name] = place
                self._count(task, 1)
                if task.state is PodState.RUNNING and task.node not in nodes:
                    self._notes.add(place, "on a node that is not in these files, so left out", task.name)
                    task = structs.replace(task, state=PodState.DONE)
                pods.append(task)
        return pods

    def _read_pod(self, pod: Pod, place: Field) -> PodTask:
        """Of an annotation that can't be used one is told, and all pods of the gang start together."""
        note = partial(self._notes.add, place)
        try:
            return self._pod_reader.read(pod, note)
        except FieldError as error:
            if error.path != ("metadata", "annotations", self._gang_keys.annotation):
                raise
            self.faults.add(place, error)
        others = {
            key: value
            for key, value in (pod.metadata.annotations or {}).items()
            if key != self._gang_keys.annotation
        }
        metadata = structs.replace(pod.metadata, annotations=others)
        return self._pod_reader.read(structs.replace(pod, metadata=metadata), note)

    def _pods_to_come(self, nodes: Sequence[Node]) -> Iterator[MadeTasks]:
        """Of each object that makes pods those that it would create now."""
        found = self._manifests.of_any(CONTROLLERS)
        owners = Ownership(((one.kind, one.object) for one in found), self._all(Pod))
        around = Surroundings(
            nodes=nodes,
            pod_names=frozenset(
                (namespace_of(one.metadata), one.metadata.name or "") for one in self._all(Pod)
            ),
            claims={key_of_claim(claim): claim for claim in self._claims},
            active_of=owners.active_of,
            daemons_on=owners.daemons_on,
        )
        reader = ControllerReader(self._pod_reader, around)
        for one in found:
            if owners.is_made_by_another(one.object.metadata):
                continue
            with self.faults.of(one.place):
                for made in reader.read(one.object, one.kind, partial(self._notes.add, one.place)):
                    for task, at in zip(made.tasks, made.places, strict=True):
                        self._places[task.name] = one.place.at(*at)
                    self._count(made.tasks[0], len(made.tasks))
                    yield made

    def _jobs(self, pods: Sequence[PodTask], pods_to_come: Iterable[MadeTasks]) -> list[JobRecord]:
        jobs: list[JobRecord] = []
        gangs: defaultdict[JobId, list[PodTask]] = defaultdict(list)
        for pod in pods:
            self._note_gates(pod)
            if pod.gang:
                gangs[_gang_id(pod)].append(pod)
            elif pod.state in (PodState.WAITING, PodState.RUNNING):
                jobs.append(pod.as_job())
        for made in pods_to_come:
            first = made.tasks[0]
            self._note_gates(first, len(made.tasks))
            if first.gang:
                gangs[_gang_id(first)].extend(made.tasks)
            elif first.state is PodState.WAITING:
                jobs += made.jobs()
        return jobs + self._gangs(gangs)

    def _gangs(self, gangs: dict[JobId, list[PodTask]]) -> list[JobRecord]:
        records = []
        for gang_id, pods in gangs.items():
            try:
                gang = as_gang(gang_id, self._agreeing(pods), self._gang_keys)
            except TooFewPods as error:
                self._incomplete.add(self._places[TaskName(error.pod)], error)
                gang = self._what_runs(gang_id, pods)
            for pod in gang.held:
                self._note(pod, "too few pods of its gang can start, so it is left out")
            self._held += len(gang.held)
            if gang.record is not None:
                records.append(gang.record)
        return records

    def _what_runs(self, gang_id: JobId, pods: Sequence[PodTask]) -> Gang:
        """Of a gang that waits for more pods: those that run go on."""
        self._held += sum(pod.state is PodState.WAITING for pod in pods)
        running = [structs.replace(pod, min_available=None) for pod in pods if pod.state is PodState.RUNNING]
        return as_gang(gang_id, running, self._gang_keys) if running else Gang(None, ())

    def _agreeing(self, pods: list[PodTask]) -> list[PodTask]:
        """Where pods say different numbers, that is told, and the highest counts, as in a cluster."""
        present = sum(pod.state is not PodState.GONE for pod in pods)
        least, disagreement = agreed(pods, present)
        if disagreement is None:
            return pods
        said = [pod for pod in pods if pod.min_available is not None]
        other = next(pod for pod in said if pod.min_available != said[0].min_available)
        problem = (
            f"{other.name} says {other.min_available}, but {said[0].name} of the same gang says"
            f" {said[0].min_available}"
        )
        path = ("metadata", "annotations", self._gang_keys.annotation)
        error = PodError(other.name, path, problem, "give all pods of a gang the same")
        self.faults.add(self._places[other.name], error)
        return [structs.replace(pod, min_available=least) for pod in pods]

    def _count(self, pod: PodTask, times: int) -> None:
        at = self._places[pod.name].at("spec")
        self._totals.add(pod.spec.requests, times, at)
        self._totals.add(pod.spec.overhead, times, at)

    def _note_gates(self, pod: PodTask, times: int = 1) -> None:
        if pod.state is PodState.GATED:
            self._note(pod, "has scheduling gates, so it is left out")
            self._held += times

    def _note(self, pod: PodTask, reason: str) -> None:
        self._notes.add(self._places[pod.name], reason, pod.name)

    def _all(self, wanted: type[T]) -> Iterator[T]:
        return (found.object for found in self._manifests.of(wanted))

    def _mentioned_namespaces(self) -> set[str]:
        pods = {namespace_of(pod.metadata) for pod in self._all(Pod)}
        return pods | {namespace_of(one.object.metadata) for one in self._manifests.of_any(CONTROLLERS)}


def _nodes(manifests: Manifests, faults: Faults) -> Iterator[Node]:
    totals = Totals("nodes")
    for found, place, _ in manifests.of(KubeNode):
        with faults.of(place):
            node = as_node(found)
            totals.add(node.spec.capacity, 1, place.at("status"))
            yield node


def _gang_id(pod: PodTask) -> JobId:
    """No pod's or Job's name has a colon in it."""
    return JobId(f"{pod.template.namespace}/gang:{pod.gang}")
