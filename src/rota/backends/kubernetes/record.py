"""What a pod's annotations tell of its task, for whoever finds the pod after a restart."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import DecodeError, Struct, json

from rota.backends.backend import TaskRef
from rota.backends.kubernetes.names import LABELS
from rota.model.ids import NodeName

RECORD = f"{LABELS}task"
RETURNED = f"{LABELS}returned"
"""When a task on standby was given back, in ms."""
STANDBY = f"{LABELS}standby"
"""The name of a scheduling gate, and the annotation of whose room it got."""


class TaskRecord(Struct, frozen=True, omit_defaults=True):
    ref: TaskRef
    node: NodeName
    image: str
    log_bytes: int | None = None
    outputs: tuple[str, ...] = ()
    grace_ms: int = 0
    lane: str = ""
    standby: bool = False
    tasks: int = 1
    directory: str = ""
    has_secrets: bool = False
    """Values that must not be seen in its output."""


def written(record: TaskRecord) -> str:
    return json.encode(record).decode()


def read(annotations: Mapping[str, object] | None) -> TaskRecord | None:
    """None: it is no pod of a task, or somebody has changed it."""
    text = (annotations or {}).get(RECORD)
    if not isinstance(text, str):
        return None
    try:
        return json.decode(text.encode(), type=TaskRecord)
    except DecodeError:
        return None
