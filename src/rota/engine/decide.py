"""One pure function decides: `decide(snapshot, policy, now) -> Plan`.

    order ──► place ──► (evict) ──► (plan ahead) ──► bind, evict, or wait with a verdict
    who is    where:     whom to     when and where         and a place in the calendar
    next      filter,    evict       it will start
              score,
              gang

No clock, no randomness, no I/O: the same arguments give the same plan in every process. What is known and
decided so far lies on a workbench; the stages are functions over it.
"""

from __future__ import annotations

from collections.abc import Iterable

from rota.engine.calendar.fitting import may_fit
from rota.engine.calendar.planning import in_the_way, keep_promises, plan_ahead
from rota.engine.evicting.at_once import evict_by_maintenance, evict_by_taints
from rota.engine.evicting.making_room import start_by_evicting, still_in_the_way
from rota.engine.order import QueueLanes, Stretch, order_of, queues_in_turn
from rota.engine.placing.starting import not_yet, start_now
from rota.engine.plugin import Plugins
from rota.engine.refusals import verdict_by
from rota.engine.scope import NOBODYS_TURN, Turn
from rota.engine.strict import hold_behind
from rota.engine.unblocking import unblocked
from rota.engine.workbench import Workbench
from rota.model.plan import Plan, Waiting
from rota.model.policy import Policy
from rota.model.reasons import (
    NoScheduler,
)
from rota.snapshot.state import Snapshot
from rota.snapshot.waiting import Lane

_ROUNDS = 64
"""How often a cycle looks for jobs that others have unblocked since they were asked."""
_ASKED_AGAIN = 256
"""How many lanes it then asks again in all, besides four times as many as there are. Whoever is left is asked
in the next cycle."""


def decide(snapshot: Snapshot, policy: Policy, now_ms: int, plugins: Plugins) -> Plan:
    bench = Workbench(snapshot, policy, now_ms, plugins)
    run_cycle(bench)
    return outcome(bench)


def run_cycle(bench: Workbench) -> None:
    """Everything that waits is asked, in its order; and again, if something happened that it waited for."""
    evict_by_taints(bench.evictor, bench.snapshot, bench.now_ms)
    evict_by_maintenance(bench.evictor, bench.snapshot, bench.now_ms)
    if bench.evictor.evictions:
        bench.ahead.evicted()
    queues = _queues(bench)
    keep_promises(bench, queues)
    for queue in queues:
        _serve(bench, queue.turn, queue.lanes)
    _ask_again(bench, queues)


def _queues(bench: Workbench) -> list[QueueLanes]:
    queues, orphans = queues_in_turn(bench.snapshot.waiting.lanes(), bench.policy.schedulers)
    for lane in orphans:
        template = lane.key.template
        reason = NoScheduler(template.scheduler, template.namespace)
        bench.refuse(NOBODYS_TURN, bench.cursor(lane, NOBODYS_TURN), verdict_by(reason))
    return queues


def _serve(bench: Workbench, turn: Turn, lanes: Iterable[Lane]) -> None:
    order = order_of([bench.cursor(lane, turn) for lane in lanes], turn.queue, bench.books.shares)
    while (stretch := order.next()) is not None:
        started = 0 if bench.is_refused(stretch) else _start(bench, turn, stretch)
        if started:
            order.served(stretch, started)
            continue
        first = stretch.head
        if plan_ahead(bench, turn, stretch):
            order.served(stretch, 1)
        else:
            order.drop(stretch)
        if turn.queue.strict:
            hold_behind(bench, turn, first, stretch.cursor.lane, order)


def _start(bench: Workbench, turn: Turn, stretch: Stretch) -> int:
    """Starts jobs of the stretch, and says how many. None started: the refusal is on record."""
    job, cursor = stretch.head, stretch.cursor
    bench.outside.current = job.id
    reason = not_yet(bench, job)
    if reason is not None:
        bench.refuse(turn, cursor, verdict_by(reason))
        return 0
    work = bench.compiler.work(turn, cursor.lane, job)
    fits = bench.ahead.is_open and may_fit(work, bench.board.free)
    started = start_now(bench, turn, stretch, work, fits=fits)
    if started or start_by_evicting(bench, turn, stretch, work):
        return max(started, 1)
    if fits and (reason := in_the_way(bench, turn, job, work)):
        bench.refuse(turn, cursor, verdict_by(reason), work=work)
    else:
        verdict, nodes = bench.judge.why_not(turn, cursor.lane, job, work, bench.progress)
        still = still_in_the_way(bench, turn, stretch, work, nodes)
        bench.refuse(turn, cursor, verdict, nodes, work, still)
    return 0


def _ask_again(bench: Workbench, queues: list[QueueLanes]) -> None:
    # Each job may wait for the one behind it: to ask until nothing changes would take the square of them.
    left = _ASKED_AGAIN + 4 * sum(len(queue.lanes) for queue in queues)
    for _ in range(_ROUNDS):
        asked_again = False
        for queue in queues:
            if again := unblocked(bench, queue):
                asked_again = True
                left -= len(again)
                _serve(bench, queue.turn, again)
        if not asked_again or left <= 0:
            break


def outcome(bench: Workbench) -> Plan:
    lost = bench.evictor.lost
    waiting = [Waiting((job,), verdict) for job, verdict in (bench.in_part | lost).items()]
    for refusal in bench.refusals:
        jobs = tuple([job.id for job in refusal.jobs])
        if lost:
            jobs = tuple(job for job in jobs if job not in lost)
        waiting.append(Waiting(jobs, refusal.verdict, refusal.still))
    waiting = sorted((entry for entry in waiting if entry.jobs), key=lambda entry: entry.jobs[0])
    return Plan(
        tuple(bench.whereabouts.bindings),
        tuple(bench.evictor.evictions),
        tuple(waiting),
        tuple(bench.outside.faults),
        bench.ahead.starts.without(lost),
        tuple(Waiting((job,), verdict) for job, verdict in bench.displacing.items()),
        tuple(bench.scored),
    )
