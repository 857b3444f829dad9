"""Actions, and who submitted them: what there is to know of each beside the job that it is to the engine."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from rota.backends.backend import TaskRef
from rota.lifecycle.instructions import StartTask
from rota.model.ids import JobId, NodeName
from rota.model.run import JobSpec
from rota.stateless_scheduler.outbox import Outbox
from rota.wire import controllers_pb2 as wire

_JOB_IDS = 10**18


class Place(Struct, frozen=True):
    """Where a controller knows its action to be."""

    node: NodeName
    fence: int
    gpu_devices: tuple[int, ...] = ()


def job_id_of(controller: str, action: str) -> JobId:
    """The same at every start of every scheduler: agents know their tasks by it."""
    digest = sha256(f"{controller}\0{action}".encode()).digest()
    return JobId(str(int.from_bytes(digest[:16], "big") % _JOB_IDS))


class Action:
    def __init__(self, controller: str, id: str, spec: JobSpec) -> None:
        self.controller = controller
        self.id = id
        self.job = job_id_of(controller, id)
        self.spec = spec
        self.number = 0
        """Of the job that it is now: what becomes of one that it was before is nothing to its controller."""
        self.start: StartTask | None = None
        """A placement that its controller was told of and hasn't recorded: nothing has been started."""
        self.running_fence = 0
        """Which of its starts its controller knows to run."""
        self.end: wire.Ended | None = None
        """It is over, and its controller hasn't said that it has kept that."""
        self.end_told_by: Outbox | None = None
        """The connection by which its controller was last told of that."""
        self.is_coming = False
        """It is about to be taken up where its controller knows it to be."""
        self.unsettled: tuple[TaskRef, NodeName] | None = None
        """What its agent may forget then."""
        self.reason = ""
        """Why it waits, as its controller was told."""
        self.outbox: Outbox | None = None
        """Of the connection by which its controller named it last; None: it has left."""
        self._output = (0, 0)

    def output_bytes(self, fence: int) -> int:
        """So much of what that start wrote is with its controller, or on its way there."""
        return self._output[1] if self._output[0] == fence else 0

    def set_output_bytes(self, fence: int, output_bytes: int) -> None:
        self._output = fence, output_bytes


class Seat:
    """One controller, there or not."""

    def __init__(self, name: str, left_ms: int) -> None:
        self.name = name
        self.actions: dict[str, Action] = {}
        self.outbox: Outbox | None = None
        self.is_complete = False
        """It is there, and has named all that it has."""
        self.left_ms = left_ms
        """When it went; until it first comes, when the scheduler started."""
        self.unrecorded: dict[str, int] = {}
        """Actions whose placements it hasn't recorded, and since when: the oldest first."""

    def tell(self, news: wire.SchedulerNews) -> None:
        """One who isn't there is told all when they are back."""
        if self.outbox is not None:
            self.outbox.tell(news)


class Book:
    """All actions of all controllers."""

    def __init__(self, controllers: Iterable[str], now_ms: int, abandoned_after_ms: int) -> None:
        self.seats = {name: Seat(name, now_ms) for name in controllers}
        self.jobs: dict[JobId, Action] = {}
        self._abandoned_after_ms = abandoned_after_ms
        self._last_number = 0

    def add(self, action: Action) -> None:
        self.seats[action.controller].actions[action.id] = self.jobs[action.job] = action

    def remove(self, action: Action) -> None:
        seat = self.seats[action.controller]
        del seat.actions[action.id], self.jobs[action.job]
        seat.unrecorded.pop(action.id, None)

    def seat_of(self, action: Action) -> Seat:
        return self.seats[action.controller]

    def next_number(self) -> int:
        self._last_number += 1
        return self._last_number

    def is_abandoned(self, seat: Seat, now_ms: int) -> bool:
        return seat.outbox is None and now_ms - seat.left_ms >= self._abandoned_after_ms

    def may_be_claimed(self, ref: TaskRef, now_ms: int) -> bool:
        """What an agent has and nobody knows of: a controller that isn't back yet may, and one that has just
        named it is about to."""
        action = self.jobs.get(ref.job)
        if action is not None:
            return action.is_coming
        return any(
            not seat.is_complete and not self.is_abandoned(seat, now_ms) for seat in self.seats.values()
        )
