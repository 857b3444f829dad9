"""Pods that are yet to be made: what all controllers say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice

from msgspec import Struct
from msgspec.structs import replace

from rota.kube_objects.errors import FieldError, FieldPath
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.metadata import KubeObject, Metadata
from rota.kube_objects.objects.pods import Pod, PodTemplate
from rota.kube_objects.objects.volumes import PersistentVolumeClaim
from rota.model.node import Node

TEMPLATE: FieldPath = ("spec", "template")
MAX_PODS = 1_000_000
"""Yet to be made, of all objects together."""


class MadePod(Struct, frozen=True):
    """One of a set; `spec` is the template's unless the controller changes it."""

    name: str
    labels: Mapping[str, str] = {}
    """Its own, beside those that the whole set has."""


class PodSet(Struct, frozen=True):
    """Pods of one template."""

    template: PodTemplate
    at: FieldPath
    """Of the template, within the object."""
    pods: tuple[MadePod, ...]
    labels: Mapping[str, str] = {}
    """What the controller puts on all of them; the template's own count more."""


class PodsToCome(Struct, frozen=True):
    """What one controller makes at once."""

    name: str
    """Under which they are known together."""
    sets: tuple[PodSet, ...]
    together: int | None = None
    """So many start together, or none does; None: each by itself."""

    @property
    def count(self) -> int:
        return sum(len(one.pods) for one in self.sets)


class Surroundings(Struct, frozen=True):
    """What there is already, as controllers look at it."""

    nodes: Sequence[Node]
    pod_names: frozenset[tuple[str, str]]
    """Namespace and name."""
    claims: Mapping[tuple[str, str], PersistentVolumeClaim]
    active_of: Callable[[str, Metadata], int]
    """How many pods of this object, by its kind, run or wait already."""
    daemons_on: Callable[[Metadata], frozenset[str]]
    """Nodes that have a pod of this DaemonSet."""

    def is_there(self, metadata: Metadata, pod: str) -> bool:
        return (namespace_of(metadata), pod) in self.pod_names


def made_pod(found: KubeObject, pods: PodSet, one: MadePod) -> Pod:
    given = pods.template.metadata or Metadata()
    metadata = Metadata(
        name=one.name,
        namespace=namespace_of(found.metadata),
        labels={**pods.labels, **(given.labels or {}), **one.labels},
        annotations=given.annotations,
        creation_timestamp=found.metadata.creation_timestamp,
    )
    return Pod(metadata, replace(pods.template.spec, node_name=None))


def numbered(found: KubeObject, stem: str, number: int, around: Surroundings) -> tuple[MadePod, ...]:
    """So many pods whose names the cluster would choose: the first numbers that are free."""
    names = (f"{stem}-{index}" for index in count())
    free = (name for name in names if not around.is_there(found.metadata, name))
    return tuple(MadePod(name) for name in islice(free, max(0, number)))


def absent(found: KubeObject, named: Iterable[MadePod], around: Surroundings) -> Iterator[MadePod]:
    """Of pods whose names are given, those that aren't there."""
    return (one for one in named if not around.is_there(found.metadata, one.name))


def check_count(number: int, at: FieldPath) -> None:
    """Before they are made: a few digits can ask for more than fits anywhere."""
    if number > MAX_PODS:
        problem = f"with this more than {MAX_PODS:,} pods are yet to be created"
        raise FieldError(at, problem, "lower it, or split the file")


def one_or(number: int | None) -> int:
    return 1 if number is None else number


def name_of(found: KubeObject) -> str:
    return found.metadata.name or ""
