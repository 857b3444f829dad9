"""All that one decision works with: the board, the books, the calendar, and what has been decided so far.

The stages of `decide.py` are functions over it. No part of it holds the whole: it is gone with the plan, and
with it copies of all columns, and not with some later collection of garbage.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from functools import partial
from typing import Protocol

from rota.engine.calendar.ahead import Ahead
from rota.engine.calendar.gates import Gates
from rota.engine.compile import Compiler, topology_of
from rota.engine.evicting.evict import Evictor
from rota.engine.explaining.judge import Judge
from rota.engine.explaining.verdicts import NodeRefusal
from rota.engine.order import Cursor, Stretch, cursor_of
from rota.engine.outside import OutsidePlugins
from rota.engine.placing.board import Board
from rota.engine.placing.score import FULL
from rota.engine.placing.signature import Signature
from rota.engine.placing.topology import Counter
from rota.engine.placing.work import Work
from rota.engine.plugin import Plugins
from rota.engine.refusals import LaneRefusal, Progress, Refusals, verdict_by
from rota.engine.scope import Turn, promotion_for
from rota.engine.tenants.books import Books
from rota.engine.whereabouts import Whereabouts
from rota.model.ids import JobId
from rota.model.plan import Scored
from rota.model.policy import Policy
from rota.model.verdict import Refusal, Verdict
from rota.snapshot.state import Snapshot
from rota.snapshot.waiting import Lane


class Watch(Protocol):
    """Told about one job: how explanations look over the shoulder."""

    job: JobId

    def placing(self, work: Work, board: Board) -> None:
        """It is about to be placed, if it can be."""
        ...

    def room_made(self, work: Work, board: Board) -> None:
        """It couldn't be, but others have been evicted for it, and now it is."""
        ...


class Workbench:
    def __init__(
        self,
        snapshot: Snapshot,
        policy: Policy,
        now_ms: int,
        plugins: Plugins,
        watch: Watch | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.policy = policy
        self.now_ms = now_ms
        self.plugins = plugins
        self.watch = watch
        self.outside = OutsidePlugins(plugins, snapshot)
        self.board = Board(snapshot)
        self.books = Books(snapshot, policy.fair_share, now_ms, policy.limits, policy.tenant_labels)
        topology = topology_of(snapshot)
        self.evictor = Evictor(
            snapshot,
            self.board,
            self.books,
            policy.fair_share.reclaim,
            now_ms,
            topology.footprint_of_running,
            partial(promotion_for, schedulers=policy.schedulers),
            plugins.evicts_elsewhere,
            plugins.disruptions,
        )
        evicted = self.evictor.evicted
        self.ahead = Ahead(snapshot, self.board, now_ms, topology.footprint_of_running, evicted)
        self.gates = Gates(snapshot.calendar, now_ms)
        self.whereabouts = Whereabouts(snapshot, evicted, self.ahead.starts.nodes_of)
        self.compiler = Compiler(
            snapshot,
            self.board,
            topology,
            policy,
            now_ms,
            plugins,
            self.outside,
            self.whereabouts.network_of,
        )
        self.judge = Judge(snapshot, self.board, self.books, policy, now_ms, plugins)
        self.refusals = Refusals()
        self.in_part: dict[JobId, Verdict] = {}
        """Jobs of which some tasks start and others wait, and why these do."""
        self.displacing: dict[JobId, Verdict] = {}
        """Jobs that others go for, and why they found no room before, under rules that ask for it."""
        self.scored: list[Scored] = []
        self._cursors: dict[int, Cursor] = {}

    @property
    def progress(self) -> Progress:
        return Progress(len(self.whereabouts.bindings), len(self.evictor.evictions), self.ahead.starts.given)

    def score(self, job_id: JobId, signature: Signature, position: int) -> None:
        """Notes how good the node is that the job has just got; of the first so many, if the rules ask."""
        if len(self.scored) < self.plugins.jobs_scored:
            found, weights = signature.criteria(position, is_there=True), signature.weights()
            percent = {name: 100 * found[name] // FULL for name, weight in weights.items() if weight}
            total = sum(weights[name] * value for name, value in percent.items())
            weight = sum(weights[name] for name in percent)
            self.scored.append(Scored(job_id, total // max(1, weight), tuple(percent.items())))

    def cursor(self, lane: Lane, turn: Turn) -> Cursor:
        """How far this cycle has come in a lane; kept, since a lane may be asked again."""
        cursor = self._cursors.get(lane.number)
        if cursor is None:
            cursor = self._cursors[lane.number] = cursor_of(lane, turn, self.snapshot, self.now_ms)
            self._shut_out(cursor, turn)
        return cursor

    def _shut_out(self, cursor: Cursor, turn: Turn) -> None:
        """Jobs that came after their queue was closed leave the lane, of which they are the last."""
        since_ms, lane = self.gates.closed_since_ms(cursor.lane.key.template.queue), cursor.lane
        if since_ms is None or lane.key.job:
            return
        first = bisect_left(cursor.jobs, since_ms, lo=cursor.at, key=lambda job: job.submitted_ms)
        reason = self.gates.closed_to(cursor.jobs[first]) if first < len(cursor.jobs) else None
        if reason is not None:
            late = dataclasses.replace(cursor, at=first)
            self.refusals.shut_out(self._refusal(turn, late, first, verdict_by(reason)))
            cursor.jobs = cursor.jobs[:first]

    def is_refused(self, stretch: Stretch) -> bool:
        """Whether one just like it was refused before, and nobody has made room since."""
        lane = stretch.cursor.lane
        if lane not in self.refusals:
            return False
        return self.refusals[lane].before.evicted == len(self.evictor.evictions)

    def refuse(
        self,
        turn: Turn,
        cursor: Cursor,
        verdict: Verdict,
        nodes: list[NodeRefusal] | None = None,
        work: Work | None = None,
        still: tuple[Refusal, ...] = (),
    ) -> None:
        """Puts on record why a lane waits, from where this cycle has come to in it, or came to before."""
        known = self.refusals.get(cursor.lane)
        first = cursor.at if known is None else known.first
        refusal = self._refusal(turn, cursor, first, verdict, nodes, work)
        refusal.still = still
        self.refusals.put(refusal)

    def _refusal(
        self,
        turn: Turn,
        cursor: Cursor,
        first: int,
        verdict: Verdict,
        nodes: list[NodeRefusal] | None = None,
        work: Work | None = None,
    ) -> LaneRefusal:
        lacked: tuple[Counter, ...] | None = None
        # What a plugin from outside waits for, nobody knows; and a partner is no matter of counters.
        is_counted = not cursor.lane.key.template.connect_to
        if work is not None and is_counted and not self.outside.of(turn.scheduler):
            lacked = tuple(one for kind in work.signatures for one in kind.domain_rules.opened_by())
        return LaneRefusal(cursor, first, verdict, nodes or [], self.progress, lacked)
