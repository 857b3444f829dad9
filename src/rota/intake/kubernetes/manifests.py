"""Which objects documents hold: single ones, `v1 List` and lists of one kind, as kubectl prints them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from rota.intake._fields import Field
from rota.intake._wording import describe_value, quoted
from rota.intake.convert import convert
from rota.intake.document import Document
from rota.intake.kubernetes.faults import Faults
from rota.intake.kubernetes.notes import Notes
from rota.kube_objects.errors import FieldError
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.metadata import KubeObject, Metadata, Namespace
from rota.kube_objects.objects.nodes import Node
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.kube_objects.objects.workloads import Job, PriorityClass

T = TypeVar("T")


class Found(NamedTuple, Generic[T]):
    object: T
    place: Field


class _Kind(NamedTuple):
    group: str
    name: str


_TYPES: Mapping[_Kind, type[KubeObject]] = {
    _Kind("", "Node"): Node,
    _Kind("", "Pod"): Pod,
    _Kind("", "Namespace"): Namespace,
    _Kind("", "PersistentVolume"): PersistentVolume,
    _Kind("", "PersistentVolumeClaim"): PersistentVolumeClaim,
    _Kind("batch", "Job"): Job,
    _Kind("scheduling.k8s.io", "PriorityClass"): PriorityClass,
}
_IN_NAMESPACES = frozenset({"Pod", "PersistentVolumeClaim", "Job"})
_NAME = re.compile(r"[A-Za-z0-9](?:[-._A-Za-z0-9]{0,251}[A-Za-z0-9])?", re.ASCII)


def is_manifest(document: Document) -> bool:
    """Whether this is Kubernetes' and not Rota's own: each object states its API and its kind."""
    data = document.data
    return isinstance(data, dict) and "apiVersion" in data and "kind" in data


class Manifests:
    """The objects of the kinds that scheduling looks at, in the order of the documents."""

    def __init__(self, documents: Iterable[Document], faults: Faults, notes: Notes) -> None:
        self._found: dict[type, list[Found[Any]]] = {wanted: [] for wanted in _TYPES.values()}
        self._places: dict[tuple[str, str], Field] = {}
        for document in documents:
            with faults.of(Field(document)):
                for place, kind in _objects(Field(document), _Kind("", "")):
                    with faults.of(place):
                        self._add(place, kind, notes)

    def of(self, wanted: type[T]) -> list[Found[T]]:
        return self._found[wanted]

    def _add(self, place: Field, kind: _Kind, notes: Notes) -> None:
        wanted = _TYPES.get(kind)
        if wanted is None:
            notes.add(place, f"{kind.name} is not read", _name_for_note(place.data))
            return
        found = convert(place.document, wanted, at=place.path)
        self._claim_name(kind.name, found.metadata, place)
        self._found[wanted].append(Found(found, place))

    def _claim_name(self, kind: str, metadata: Metadata, place: Field) -> None:
        if metadata.name is None:
            raise FieldError(("metadata", "name"), "is missing", "add this field")
        _check_name(metadata.name, "name")
        name = metadata.name
        if kind in _IN_NAMESPACES:
            namespace = namespace_of(metadata)
            _check_name(namespace, "namespace")
            name = f"{namespace}/{name}"
        other = self._places.setdefault((kind, name), place)
        if other is not place:
            raise FieldError(
                ("metadata", "name"),
                f"{kind} {name} is in {other.document.path}, line {other.line}, already",
                "remove one of them",
            )


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
