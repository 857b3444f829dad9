"""Gives jobs that can't start now a place in the calendar, and keeps those that were promised before."""

from __future__ import annotations

from collections import Counter
from functools import partial

from rota.engine.order import QueueLanes, Stretch
from rota.engine.placing.place import would_place
from rota.engine.placing.starting import bind, not_yet
from rota.engine.placing.work import Work
from rota.engine.refusals import verdict_by
from rota.engine.scope import Turn
from rota.engine.workbench import Workbench
from rota.model.ids import JobId
from rota.model.job import Job, JobRecord, JobTemplate
from rota.model.reasons import (
    ArrayLimitReached,
    BehindInStrictQueue,
    LimitReached,
    PromisedLater,
    QueueClosed,
    QueuePaused,
    QuotaReached,
    WasPreempted,
)
from rota.model.verdict import Kind, Reason, Verdict


def plan_ahead(bench: Workbench, turn: Turn, stretch: Stretch) -> bool:
    """Gives a job that was refused a place in the calendar, if its queue has such."""
    lane, job, queue = stretch.cursor.lane, stretch.head, turn.queue
    verdict = bench.refusals[lane].verdict
    if verdict.kind is Kind.NEVER or not bench.ahead.may_plan(turn):
        return False
    not_before_ms = _earliest_ms(bench, turn, job, verdict)
    if not_before_ms is None:
        return False
    work = bench.compiler.work(turn, lane, job)
    if queue.interactive and not _may_hold(bench, job.template, work):
        return False
    if not bench.ahead.plan(turn, job, lane.key, work, not_before_ms):
        return False
    for signature, count in zip(work.signatures, work.counts, strict=True):
        # So that the calendar is shared out as fairly as the nodes are.
        bench.books.shares.charge(job.template, signature.demand.take, count)
    if queue.interactive:
        _hold_for(bench, job.template, work)
    return True


def _earliest_ms(bench: Workbench, turn: Turn, job: Job, verdict: Verdict) -> int | None:
    """From when on to look for a place; None: that can't be told."""
    reason, starts = verdict.refusals[0].reason if verdict.refusals else None, bench.ahead.starts
    match reason:
        case QueuePaused() | QueueClosed() | WasPreempted():
            return None
        case QuotaReached() | LimitReached() | ArrayLimitReached():
            return None
        case BehindInStrictQueue():
            earliest_ms = starts.last_ms
        case _:
            earliest_ms = bench.now_ms
    partner = JobId(job.template.connect_to)
    if partner and not bench.whereabouts.is_placed(partner):
        # Who can still be moved is nobody to make a promise by.
        is_safe = starts.is_promised(partner) or not turn.queue.interactive
        partner_ms = starts.start_of(partner) if is_safe else None
        if partner_ms is None:
            return None
        earliest_ms = max(earliest_ms, partner_ms)
    return max(earliest_ms, job.start_after_ms)


def _may_hold(bench: Workbench, template: JobTemplate, work: Work) -> bool:
    caps = bench.books.caps
    return not caps.any or (
        caps.ask_jobs(template)[1] is None and bench.books.allowed(template, work) is not None
    )


def _hold_for(bench: Workbench, template: JobTemplate, work: Work) -> None:
    """What is promised counts for the limits as if it were held: a promise is kept whatever they say."""
    caps = bench.books.caps
    if caps.any:
        caps.started(template)
        for signature, count in zip(work.signatures, work.counts, strict=True):
            caps.charge(template, signature.demand.take, count)


def in_the_way(bench: Workbench, turn: Turn, job: Job, work: Work) -> Reason | None:
    """What of the calendar keeps the job from starting, if nothing else does."""
    allowed = bench.books.allowed(job.template, work)
    seats = None if allowed is None else would_place(allowed, bench.board)
    return None if seats is None else bench.ahead.in_the_way(job.template, seats, turn.queue)


def keep_promises(bench: Workbench, queues: list[QueueLanes]) -> None:
    """Jobs that were promised a start come first: they start now if it is time, or if what they were
    promised is free already; else it is left alone. A promise whose nodes are gone is given anew."""
    promised = [
        (record, lane, queue.turn)
        for queue in queues
        for lane in queue.lanes
        if lane.key.job
        and lane.key.job not in bench.evictor.lost
        and (record := bench.snapshot.jobs[lane.key.job]).promise
    ]
    promised.sort(key=lambda one: _promised_order(one[0]))
    held = [
        (record, lane, turn)
        for record, lane, turn in promised
        if bench.ahead.promise(record, bench.compiler.work(turn, lane, record.job))
    ]
    kept = {lane.number for _, lane, _ in held}
    for queue in queues:
        queue.lanes = [lane for lane in queue.lanes if lane.number not in kept]
    for record, lane, turn in held:
        work, cursor = bench.compiler.work(turn, lane, record.job), bench.cursor(lane, turn)
        seats = bench.ahead.due(record, work, partial(_may_start_early, bench, record, work))
        if seats is not None:
            bind(bench, Stretch(cursor, 1), work, seats)
        else:
            start_ms, _ = _promised_order(record)
            _hold_for(bench, record.job.template, work)
            bench.refuse(turn, cursor, verdict_by(PromisedLater(start_ms)))


def _may_start_early(bench: Workbench, record: JobRecord, work: Work) -> bool:
    """Whether the job may start before it was promised to, if there is room: nothing but that was to be
    waited for. A promise is kept whatever queues and limits say; who comes before it has to heed them."""
    assert record.promise is not None
    if not_yet(bench, record.job) is not None:
        return False
    bench.outside.current = record.job.id
    allowed = bench.books.allowed(record.job.template, work)
    seats = Counter(work.kind_of_group[record.job.group_of(one.rank)] for one in record.promise.placements)
    return allowed is not None and all(seats[kind] <= count for kind, count in enumerate(allowed.counts))


def _promised_order(record: JobRecord) -> tuple[int, JobId]:
    assert record.promise is not None
    return record.promise.start_ms, record.job.id
