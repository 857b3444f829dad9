"""Which objects documents hold: single ones, `v1 List` and lists of one kind, as kubectl prints them."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from rota.intake.checking.convert import convert
from rota.intake.checking.fields import Field
from rota.intake.checking.wording import describe_value, quoted
from rota.intake.documents.document import Document
from rota.intake.errors import InputError
from rota.intake.kubernetes.faults import Faults
from rota.intake.kubernetes.notes import Notes
from rota.kube_objects.errors import FieldError
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.controllers import (
    BarePodTemplate,
    CronJob,
    DaemonSet,
    Deployment,
    JobSet,
    LeaderWorkerSet,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    VolcanoCronJob,
    VolcanoJob,
    Workload,
)
from rota.kube_objects.objects.metadata import KubeObject, Metadata, Namespace
from rota.kube_objects.objects.nodes import Node
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.kube_objects.objects.workloads import Job, PriorityClass

T = TypeVar("T")


class Found(NamedTuple, Generic[T]):
    object: T
    place: Field
    kind: str


class _Kind(NamedTuple):
    group: str
    name: str

    @property
    def told(self) -> str:
        """With its group, where another of this name is read."""
        is_ambiguous = any(known.name == self.name for known in _TYPES)
        return f"{self.name} of {self.group or 'v1'}" if is_ambiguous else self.name


_CLUSTER: Mapping[_Kind, type[KubeObject]] = {
    _Kind("", "Node"): Node,
    _Kind("", "Namespace"): Namespace,
    _Kind("", "PersistentVolume"): PersistentVolume,
    _Kind("", "PersistentVolumeClaim"): PersistentVolumeClaim,
    _Kind("scheduling.k8s.io", "PriorityClass"): PriorityClass,
}
_WORKLOADS: Mapping[_Kind, type[KubeObject]] = {
    _Kind("", "Pod"): Pod,
    _Kind("", "PodTemplate"): BarePodTemplate,
    _Kind("", "ReplicationController"): ReplicationController,
    _Kind("apps", "Deployment"): Deployment,
    _Kind("apps", "ReplicaSet"): ReplicaSet,
    _Kind("apps", "StatefulSet"): StatefulSet,
    _Kind("apps", "DaemonSet"): DaemonSet,
    _Kind("extensions", "Deployment"): Deployment,
    _Kind("extensions", "ReplicaSet"): ReplicaSet,
    _Kind("extensions", "DaemonSet"): DaemonSet,
    _Kind("batch", "Job"): Job,
    _Kind("batch", "CronJob"): CronJob,
    _Kind("batch.volcano.sh", "Job"): VolcanoJob,
    _Kind("batch.volcano.sh", "CronJob"): VolcanoCronJob,
    _Kind("kueue.x-k8s.io", "Workload"): Workload,
    _Kind("jobset.x-k8s.io", "JobSet"): JobSet,
    _Kind("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): LeaderWorkerSet,
}
_TYPES = {**_CLUSTER, **_WORKLOADS}
_OUTSIDE_NAMESPACES = frozenset({"Node", "Namespace", "PersistentVolume", "PriorityClass"})
_CALLED = {VolcanoJob: "Volcano Job", Workload: "Kueue Workload"}
"""Where the kind alone could be another's."""
_NAME = re.compile(r"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,251}[A-Za-z0-9])?", re.ASCII)


def is_manifest(document: Document) -> bool:
    """Whether this is Kubernetes' and not Rota's own: each object states its API and its kind."""
    data = document.data
    return isinstance(data, dict) and "apiVersion" in data and "kind" in data


def kinds_read() -> list[str]:
    """Of objects, by the names that people call them."""
    return list(dict.fromkeys(_CALLED.get(wanted, kind.name) for kind, wanted in _TYPES.items()))


class Manifests:
    """The objects of the kinds that scheduling looks at, in the order of the documents."""

    def __init__(
        self, documents: Iterable[Document], faults: Faults, faults_of_pods: Faults, notes: Notes
    ) -> None:
        """`faults_of_pods`: of pods and of what makes them; one of them says nothing of the next."""
        self._found: dict[type, list[Found[Any]]] = {wanted: [] for wanted in _TYPES.values()}
        self._in_order: list[Found[Any]] = []
        self._places: dict[tuple[type, str], Field] = {}
        self._kinds: dict[str, Counter[_Kind]] = {}
        """Of each file, what is in it."""
        for document in documents:
            with faults.of(Field(document)):
                self._read(document, faults, faults_of_pods, notes)

    def of(self, wanted: type[T]) -> list[Found[T]]:
        return self._found[wanted]

    def of_any(self, wanted: Container[type[KubeObject]]) -> list[Found[KubeObject]]:
        """Of these types, in the order of the documents."""
        return [found for found in self._in_order if type(found.object) in wanted]

    def unread_files(self) -> Iterator[InputError]:
        """Files that hold objects of which none is read."""
        for file, seen in self._kinds.items():
            if seen and not any(kind in _TYPES for kind in seen):
                found = ", ".join(f"{number} {kind.told}" for kind, number in seen.items())
                remedy = f"kinds that are read: {', '.join(kinds_read())}"
                yield InputError(file, f"nothing in it is read: {found}", remedy)

    def _read(self, document: Document, faults: Faults, faults_of_pods: Faults, notes: Notes) -> None:
        seen = self._kinds.setdefault(document.path, Counter())
        for place, kind in _objects(Field(document), _Kind("", "")):
            seen[kind] += 1
            if kind not in _TYPES:
                notes.add(place, f"{kind.told} is not read", _name_for_note(place.data))
                continue
            with (faults_of_pods if kind in _WORKLOADS else faults).of(place):
                self._add(place, kind)

    def _add(self, place: Field, kind: _Kind) -> None:
        wanted = _TYPES[kind]
        found = convert(place.document, wanted, at=place.path)
        if found.metadata.name is None and found.metadata.generate_name:
            found = replace(found, metadata=self._with_name(found.metadata, wanted))
        self._claim_name(kind.name, wanted, found.metadata, place)
        self._found[wanted].append(one := Found(found, place, _CALLED.get(wanted, kind.name)))
        self._in_order.append(one)

    def _with_name(self, metadata: Metadata, wanted: type) -> Metadata:
        """The cluster would choose one: here it is what it begins with, and a number from the second on."""
        stem = (metadata.generate_name or "").rstrip("-.") or "x"
        names = (stem if not index else f"{stem}-{index + 1}" for index in count())
        named = (replace(metadata, name=name) for name in names)
        return next(one for one in named if (wanted, _full_name(one)) not in self._places)

    def _claim_name(self, kind: str, wanted: type, metadata: Metadata, place: Field) -> None:
        if metadata.name is None:
            raise FieldError(("metadata", "name"), "is missing", "add this field")
        _check_name(metadata.name, "name")
        name = metadata.name
        if kind not in _OUTSIDE_NAMESPACES:
            _check_name(namespace_of(metadata), "namespace")
            name = _full_name(metadata)
        other = self._places.setdefault((wanted, name), place)
        if other is not place:
            raise FieldError(
                ("metadata", "name"),
                f"{kind} {name} is in {other.document.path}, line {other.line}, already",
                "remove one of them",
            )


def _full_name(metadata: Metadata) -> str:
    return f"{namespace_of(metadata)}/{metadata.name}"


def _check_name(name: str, field: str) -> None:
    if not _NAME.fullmatch(name):
        raise FieldError(
            ("metadata", field),
            f"{quoted(name)} is not a name of a Kubernetes object",
            "use letters, digits, dots and dashes",
        )


def _objects(place: Field, listed: _Kind) -> Iterator[tuple[Field, _Kind]]:
    """The object at this place, or those of the list there; in a list of one kind they needn't state it."""
    data = place.data
    if not isinstance(data, dict):
        raise place.error(
            f"expected a Kubernetes object, got {describe_value(data)}",
            "give a mapping with apiVersion and kind",
        )
    kind = _kind(data, place, listed)
    if not kind.name.endswith("List") or "items" not in data:
        yield place, kind
        return
    items = data["items"]
    if not isinstance(items, list | None):
        raise place.at("items").error(f"expected a list of objects, got {describe_value(items)}")
    member = _Kind(kind.group, kind.name.removesuffix("List"))
    for index in range(len(items or ())):
        yield from _objects(place.at("items", index), member)


def _kind(data: Mapping[str, object], place: Field, listed: _Kind) -> _Kind:
    if data.get("kind") is None and listed.name:
        return listed
    kind = _text(data, "kind", place, 'give it, as in "kind: Pod"')
    version = _text(data, "apiVersion", place, 'give it, as in "apiVersion: v1"')
    return _Kind(version.rpartition("/")[0], kind)


def _text(data: Mapping[str, object], key: str, place: Field, remedy: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise place.at(key).error(f"expected text, got {describe_value(value)}", remedy)
    return value


def _name_for_note(data: object) -> str:
    metadata = data.get("metadata") if isinstance(data, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else "without a name"
