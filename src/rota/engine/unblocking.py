"""Which lanes to ask again: something happened since they were refused that could let them start."""

from __future__ import annotations

from rota.engine.order import QueueLanes
from rota.engine.refusals import LaneRefusal
from rota.engine.workbench import Workbench
from rota.model.ids import JobId
from rota.model.job import JobTemplate
from rota.model.verdict import Unblock
from rota.snapshot.waiting import Lane


def unblocked(bench: Workbench, queue: QueueLanes) -> list[Lane]:
    """Lanes of the queue that are to be asked again. Their refusals and their places in the calendar are
    taken back."""
    refusals = bench.refusals
    found = [lane for lane in queue.lanes if lane in refusals and _is_unblocked(bench, refusals[lane])]
    if found and queue.turn.queue.strict:
        # Nobody overtakes here either: all are asked again, in their order.
        found = [lane for lane in queue.lanes if lane in refusals]
    for lane in found:
        refusal = refusals.take_back(lane)
        bench.ahead.withdraw(refusal.jobs)
        refusal.cursor.at = refusal.first
    return found


def _is_unblocked(bench: Workbench, refusal: LaneRefusal) -> bool:
    if not refusal.jobs:
        return False
    now, before, starts = bench.progress, refusal.before, bench.ahead.starts
    is_placed, is_freed = now.bound > before.bound, now.evicted > before.evicted
    template = refusal.cursor.lane.key.template
    partner = JobId(template.connect_to)
    if not (is_placed or is_freed or partner):
        return False
    events = refusal.verdict.unblocked_by
    if is_freed and Unblock.TASK_ENDED in events:
        return True
    if is_placed and (Unblock.TASK_PLACED in events or _minds_others(template)):
        # Who minds others may lack their company behind a first reason that says something else.
        lacks_partner = partner and not bench.whereabouts.is_placed(partner)
        if not lacks_partner and refusal.may_have_company:
            return True
    return (
        now.planned > before.planned
        and starts.start_of(partner) is not None
        and starts.start_of(refusal.jobs[0].id) is None
    )


def _minds_others(template: JobTemplate) -> bool:
    return any(group.spec.minds_others for group in template.groups)
