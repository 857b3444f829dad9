"""Which lanes wait and why, and what had happened when they were refused: that tells who is asked again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rota.engine.explaining.verdicts import NodeRefusal
from rota.engine.order import Cursor
from rota.engine.placing.topology import Counter
from rota.model.ids import JobId
from rota.model.job import Job
from rota.model.verdict import Reason, Refusal, Verdict
from rota.snapshot.waiting import Lane


class Progress(NamedTuple):
    """How far a cycle has come: what it has bound and evicted, and to how many it gave a later start."""

    bound: int
    evicted: int
    planned: int


@dataclass(eq=False)
class LaneRefusal:
    """A lane from `first` on, why it waits, and what had happened by then."""

    cursor: Cursor
    first: int
    verdict: Verdict
    nodes: list[NodeRefusal]
    before: Progress
    lacked: tuple[Counter, ...] | None
    """The company that it may lack; None: nobody knows what it might be."""
    still: tuple[Refusal, ...] = ()
    """What would be in the way without those who may have to go for it."""

    def __post_init__(self) -> None:
        self._changes = self._changes_now()

    def _changes_now(self) -> int:
        return sum(counter.changes for counter in self.lacked or ())

    @property
    def may_have_company(self) -> bool:
        """Whether anything was placed that it may have waited for."""
        return self.lacked is None or self._changes_now() > self._changes

    @property
    def jobs(self) -> list[Job]:
        return self.cursor.jobs[self.first :]


class Refusals:
    def __init__(self) -> None:
        self._by_lane: dict[int, LaneRefusal] = {}
        self._shut_out: list[LaneRefusal] = []
        """Of jobs that came after their queue was closed: those before them in the lane are refused, or not,
        for reasons of their own."""

    def __iter__(self) -> Iterator[LaneRefusal]:
        yield from self._by_lane.values()
        yield from self._shut_out

    def __contains__(self, lane: Lane) -> bool:
        return lane.number in self._by_lane

    def __getitem__(self, lane: Lane) -> LaneRefusal:
        return self._by_lane[lane.number]

    def get(self, lane: Lane) -> LaneRefusal | None:
        return self._by_lane.get(lane.number)

    def put(self, refusal: LaneRefusal) -> None:
        self._by_lane[refusal.cursor.lane.number] = refusal

    def shut_out(self, refusal: LaneRefusal) -> None:
        self._shut_out.append(refusal)

    def take_back(self, lane: Lane) -> LaneRefusal:
        """The lane is about to be asked again."""
        return self._by_lane.pop(lane.number)

    def of_job(self, job_id: JobId) -> LaneRefusal | None:
        """Why a job waits that wasn't evicted in this cycle."""
        return next((one for one in self if any(job.id == job_id for job in one.jobs)), None)


def verdict_by(reason: Reason) -> Verdict:
    """A verdict that isn't about nodes."""
    return Verdict(reason.kind, (Refusal(reason, 0),))
