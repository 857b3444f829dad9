"""Strict queues: nobody overtakes the first that can't start."""

from __future__ import annotations

from rota.engine.calendar.planning import plan_ahead
from rota.engine.order import Order
from rota.engine.refusals import verdict_by
from rota.engine.scope import Turn
from rota.engine.workbench import Workbench
from rota.model.job import Job
from rota.model.reasons import ArrayLimitReached, BehindInStrictQueue, LimitReached
from rota.model.verdict import Kind, Verdict
from rota.snapshot.waiting import Lane


def hold_behind(bench: Workbench, turn: Turn, first: Job, lane: Lane, order: Order) -> None:
    """Everyone behind the first that can't start, which is of this lane, waits."""
    if _holds_up_nobody(bench.refusals[lane].verdict):
        return
    verdict = verdict_by(BehindInStrictQueue(first.id))
    is_known = bench.ahead.starts.start_of(first.id) is not None
    while (stretch := order.next()) is not None:
        if not bench.is_refused(stretch):
            bench.refuse(turn, stretch.cursor, verdict)
        # Nor is anybody told a start behind one of which nobody knows when it will.
        is_known = is_known and plan_ahead(bench, turn, stretch)
        if is_known:
            order.served(stretch, 1)
        else:
            order.drop(stretch)


def _holds_up_nobody(verdict: Verdict) -> bool:
    """Nobody waits behind who will never start, or a queue would be stuck for ever; nor behind who is
    over a limit of their own."""
    own_limit = any(
        isinstance(refusal.reason, LimitReached | ArrayLimitReached) for refusal in verdict.refusals
    )
    return verdict.kind is Kind.NEVER or own_limit
