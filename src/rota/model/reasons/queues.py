"""What schedulers and queues keep back."""

from __future__ import annotations

from typing import ClassVar

from rota.model.ids import JobId
from rota.model.verdict import POLICY, ROOM, Rule, TypedReason, never, not_now


class NoScheduler(TypedReason, frozen=True, tag="no scheduler"):
    rule: ClassVar[Rule] = never("scheduler", *POLICY, is_about_the_job=False)
    scheduler: str = ""
    """The one that it names; empty: none."""
    namespace: str = ""


class BehindInStrictQueue(TypedReason, frozen=True, tag="strict queue"):
    """The queue keeps its order, and this job can't start."""

    rule: ClassVar[Rule] = not_now("queue", *ROOM, is_about_the_job=False)
    job: JobId


class QueuePaused(TypedReason, frozen=True, tag="queue paused"):
    rule: ClassVar[Rule] = not_now("queue", *POLICY, is_about_the_job=False)
    queue: str
    message: str = ""
    """Of whoever paused it."""


class QueueClosed(TypedReason, frozen=True, tag="queue closed"):
    rule: ClassVar[Rule] = not_now("queue", *POLICY, is_about_the_job=False)
    queue: str
    message: str = ""
