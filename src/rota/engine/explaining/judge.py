"""Verdicts on work that can't start, for one cycle: found out once for all that ask for the same."""

from __future__ import annotations

from collections import Counter

from rota.engine.explaining.idle import IdleCluster
from rota.engine.explaining.verdicts import Judged, RoomWhenIdle, verdict_of
from rota.engine.placing.board import Board
from rota.engine.placing.signature import Signature
from rota.engine.placing.work import Seat, Work
from rota.engine.plugin import Plugins
from rota.engine.refusals import Progress, verdict_by
from rota.engine.scope import Turn
from rota.engine.tenants.books import Books
from rota.model.job import Job
from rota.model.policy import Policy
from rota.model.verdict import Kind, Verdict
from rota.snapshot.state import Snapshot
from rota.snapshot.waiting import Lane


class Judge:
    def __init__(
        self,
        snapshot: Snapshot,
        board: Board,
        books: Books,
        policy: Policy,
        now_ms: int,
        plugins: Plugins,
    ) -> None:
        self._snapshot = snapshot
        self._board = board
        self._books = books
        self._policy = policy
        self._now_ms = now_ms
        self._plugins = plugins
        self._idle: IdleCluster | None = None
        self._verdicts: dict[tuple[Signature, int, int, tuple[int, int]], Judged] = {}
        """By what was asked for, and how much was bound and evicted by then."""

    def why_not(self, turn: Turn, lane: Lane, job: Job, work: Work, so_far: Progress) -> Judged:
        """Why a job finds no room: a quota, or what the nodes say."""
        quota = self._books.refusal(job.template, work)
        judged = self._judged(turn, lane, job, work, (so_far.bound, so_far.evicted))
        if quota is not None and (quota.kind is Kind.NEVER or judged[0].kind is not Kind.NEVER):
            return verdict_by(quota), []
        return judged

    def why_no_more(self, job: Job, work: Work, seats: list[Seat]) -> Verdict:
        """Why the rest of a job waits of which enough has started."""
        placed = Counter(seat.group for seat in seats)
        left = tuple(count - placed[group] for group, count in enumerate(work.counts))
        rest = Work(work.signatures, left, 1, work.topology, tuple(seat.position for seat in seats))
        quota = self._books.refusal(job.template, rest)
        return self._verdict(rest, lambda: work.total)[0] if quota is None else verdict_by(quota)

    def _judged(self, turn: Turn, lane: Lane, job: Job, work: Work, so_far: tuple[int, int]) -> Judged:
        """What the nodes say; kept for others that ask for the same until anything is bound or evicted."""

        def room_when_idle() -> int:
            return self._room_when_idle(turn, lane, job)

        if len(work.signatures) > 1 or work.topology or work.signatures[0].needs_turns:
            return self._verdict(work, room_when_idle)
        key = work.signatures[0], work.counts[0], work.needed, so_far
        known = self._verdicts.get(key)
        if known is None:
            known = self._verdicts[key] = self._verdict(work, room_when_idle)
        return known

    def _verdict(self, work: Work, room_when_idle: RoomWhenIdle) -> Judged:
        plugins = self._plugins
        return verdict_of(work, self._board, plugins.filters, room_when_idle, plugins.refusal_order)

    def _room_when_idle(self, turn: Turn, lane: Lane, job: Job) -> int:
        """Kept from cycle to cycle, like all that follows from the nodes alone: a job that waits is asked
        about in each."""
        nodes = self._snapshot.nodes
        key = "idle", lane.key.template, lane.key.retries, turn.scheduler.name, turn.queue
        kept: tuple[Policy, Plugins, int] | None = nodes.derived.get(key)
        if kept is not None and kept[0] is self._policy and kept[1].filters == self._plugins.filters:
            return kept[2]
        if self._idle is None:
            self._idle = IdleCluster(self._snapshot, self._policy, self._now_ms, self._plugins)
        room = self._idle.room_for(turn, lane.key, job)
        if not nodes.has_passing_time:
            nodes.keep(key, (self._policy, self._plugins, room))
        return room
