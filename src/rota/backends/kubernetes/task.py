"""What is wanted of one task, and what is known of its pod."""

from __future__ import annotations

import asyncio

from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStart, TaskStarted
from rota.backends.kubernetes.names import LABELS
from rota.backends.kubernetes.objects import JobPod
from rota.backends.kubernetes.record import RETURNED, TaskRecord
from rota.backends.kubernetes.status import Over, stage_of
from rota.model.ids import NodeName

ROOM_OF = f"{LABELS}room-of"


class PodTask:
    def __init__(self, ref: TaskRef, node: NodeName, start: TaskStart | None = None) -> None:
        self.ref = ref
        self.node = node
        self.start = start
        """None: of a time before this server."""
        self.record: TaskRecord | None = None
        self.pod: JobPod | None = None
        self.pod_name = ""
        """Once it was chosen: another would be a second pod of the same start."""
        self.was_seen = False
        """Its pod: when there is none any more, it is gone."""
        self.is_to_stop = False
        self.new_limit_ms: int | None = None
        self.has_its_limit = asyncio.Event()
        """The shim knows the latest limit, or nobody needs to any more."""
        self.lane = start.lane if start is not None else ""
        self.is_standby = start.standby if start is not None else False
        """It waits for a room."""
        self.room_from = ""
        """The pod of the task that left it one; it may start."""
        self.has_left_room = False
        """It has ended, and its room was given to another of its lane."""
        self.started: TaskStarted | None = None
        self.over: TaskEnded | TaskReturned | None = None
        self.lost_because = ""
        """Its node is silent, or its pod is gone: nothing more is heard of it."""
        self.news = asyncio.Event()
        self.driving: asyncio.Task[None] | None = None

    @property
    def count(self) -> int:
        """Of the tasks of its job."""
        if self.record is not None:
            return self.record.tasks
        return len(self.start.hosts) if self.start is not None else 1

    def wake(self) -> None:
        self.news.set()

    @property
    def is_wanted(self) -> bool:
        return self.over is None

    def shows(self, pod: JobPod | None, record: TaskRecord | None = None) -> None:
        """As it is in the cluster now."""
        self.pod = pod
        if pod is not None:
            self.was_seen = True
            self.pod_name = pod.metadata.name or ""
            self.is_standby = bool(pod.spec.scheduling_gates) and not self.room_from
        if record is not None:
            self.record, self.lane = record, record.lane
        self.wake()

    @property
    def returned_ms(self) -> int | None:
        """When an earlier server gave it back."""
        value = self._annotation(RETURNED)
        return int(value) if value.isdecimal() else None

    @property
    def room_of(self) -> str:
        """The pod whose room it got."""
        return self._annotation(ROOM_OF)

    def _annotation(self, key: str) -> str:
        annotations = (self.pod.metadata.annotations if self.pod is not None else None) or {}
        return str(annotations.get(key, ""))

    def takes(self, report: TaskReport) -> bool:
        """Whether it is new."""
        if self.over is not None or (isinstance(report, TaskStarted) and self.started is not None):
            return False
        if isinstance(report, TaskStarted):
            self.started = report
        else:
            self.over = report
            self.has_its_limit.set()
        return True


def is_over(pod: JobPod) -> bool:
    """Its task has ended, or was given back."""
    annotations = pod.metadata.annotations or {}
    return RETURNED in annotations or isinstance(stage_of(pod), Over)
