"""Whose a pod is, where it waits, whether it wants a node for itself: as its labels or annotations say."""

from collections.abc import Mapping

from msgspec import Struct

from rota.kube_objects.errors import FieldError
from rota.kube_objects.objects.metadata import Metadata

_PREFIX = "batch.scheduling.k8s.io/"
PROJECT = f"{_PREFIX}project"
USER = f"{_PREFIX}user"
QUEUE = f"{_PREFIX}queue"
EXCLUSIVE = f"{_PREFIX}exclusive"
_LONGEST = 253
_DAEMONS = frozenset({"DaemonSet", "Node"})


class Belonging(Struct, frozen=True):
    """Empty: it says nothing."""

    project: str = ""
    user: str = ""
    queue: str = ""
    exclusive: bool = False


NOTHING_SAID = Belonging()


def belonging_of(metadata: Metadata) -> Belonging:
    """Of a label and an annotation of the same key the label counts. FieldError: it can't be used."""
    labels, annotations = metadata.labels, metadata.annotations
    if not labels and not annotations:
        return NOTHING_SAID
    said = {key: _said(key, labels or {}, annotations or {}) for key in (PROJECT, USER, QUEUE, EXCLUSIVE)}
    if not any(said.values()):
        return NOTHING_SAID
    return Belonging(
        project=_step(PROJECT, said[PROJECT]),
        user=_step(USER, said[USER]),
        queue=_name(QUEUE, said[QUEUE]),
        exclusive=_truth(EXCLUSIVE, said[EXCLUSIVE]),
    )


def is_of_its_node(metadata: Metadata) -> bool:
    """Made for the node itself, by a DaemonSet or by its kubelet."""
    return any(owner.kind in _DAEMONS for owner in metadata.owner_references or ())


_Said = tuple[str, object] | None
"""The field, and what stands there."""


def _said(key: str, labels: Mapping[str, str], annotations: Mapping[str, object]) -> _Said:
    if key in labels:
        return "labels", labels[key]
    return ("annotations", annotations[key]) if key in annotations else None


def _name(key: str, said: _Said) -> str:
    if said is None:
        return ""
    field, value = said
    if (
        not isinstance(value, str)
        or not value
        or len(value) > _LONGEST
        or not value.isprintable()
        or " " in value
    ):
        problem = f"{value!r} is not a name" if value != "" else "the name is empty"
        raise FieldError(
            ("metadata", field, key), problem, f"give at most {_LONGEST} characters without spaces"
        )
    return value


def _step(key: str, said: _Said) -> str:
    name = _name(key, said)
    if "/" in name:
        raise FieldError(
            ("metadata", said[0] if said else "", key),
            f"'{name}' contains a slash",
            "choose a name without one",
        )
    return name


def _truth(key: str, said: _Said) -> bool:
    if said is None:
        return False
    field, value = said
    if value in ("true", "false"):
        return value == "true"
    raise FieldError(
        ("metadata", field, key), f"{value!r} is neither true nor false", 'write "true" or remove it'
    )
