"""Starts a job in the room of others, who are evicted for it."""

from __future__ import annotations

from rota.engine.calendar.fitting import may_fit
from rota.engine.calendar.lines import held_by
from rota.engine.evicting.evict import Claim
from rota.engine.evicting.sparing import Preempted
from rota.engine.evicting.without import still_refused
from rota.engine.explaining.verdicts import NodeRefusal
from rota.engine.order import Stretch
from rota.engine.placing.place import would_place
from rota.engine.placing.starting import bind
from rota.engine.placing.work import Seat, Work
from rota.engine.scope import Turn
from rota.engine.workbench import Workbench
from rota.model.verdict import Refusal, Verdict


def start_by_evicting(bench: Workbench, turn: Turn, stretch: Stretch, work: Work) -> bool:
    """Evicts what it takes and starts the first job of the stretch; or changes nothing."""
    job, board, evictor = stretch.head, bench.board, bench.evictor
    claim = Claim(job, stretch.priority, turn.scheduler.preemption)
    if job.template.reservation or not evictor.may_make_room(claim):
        return False
    verdict = _why_it_must(bench, turn, stretch, work)
    checkpoint = board.checkpoint()
    with board.without(bench.ahead.kept_from_evictors(job.template)):
        fits = bench.ahead.is_open and fits_but_for_plans(bench, bench.books.allowed(job.template, work))
        preempted = None if fits else evictor.make_room(claim, work)
    if preempted is None:
        return False
    if would_delay(bench, turn, claim, work, preempted):
        board.rollback(checkpoint)
        return False
    causes = [evictor.cause_of(claim, unit) for unit in preempted.victims]
    for unit, cause in zip(preempted.victims, causes, strict=True):
        evictor.record(unit.tasks, cause, job.id)
    bench.ahead.evicted()
    if verdict is not None:
        bench.displacing[job.id] = verdict
    if bench.watch is not None and job.id == bench.watch.job:
        _show_room_made(bench, work, preempted.seats)
    bind(bench, stretch, work, preempted.seats)
    return True


def _why_it_must(bench: Workbench, turn: Turn, stretch: Stretch, work: Work) -> Verdict | None:
    """What the nodes say before anybody goes; only where the rules ask for it."""
    if not bench.plugins.asked_without_victims:
        return None
    return bench.judge.why_not(turn, stretch.cursor.lane, stretch.head, work, bench.progress)[0]


def still_in_the_way(
    bench: Workbench, turn: Turn, stretch: Stretch, work: Work, nodes: list[NodeRefusal]
) -> tuple[Refusal, ...]:
    """What would refuse a single task without those who may have to go for it; only where the rules ask."""
    if not bench.plugins.asked_without_victims or work.total != 1:
        return ()
    claim, evictor = Claim(stretch.head, stretch.priority, turn.scheduler.preemption), bench.evictor
    if claim.may_preempt and evictor.may_make_room(claim):
        victims, eligible = evictor.victims, evictor.eligible(claim)
        return still_refused(work, bench.board, victims, eligible, nodes, bench.plugins)
    return still_refused(work, bench.board, None, None, nodes, bench.plugins)


def fits_but_for_plans(bench: Workbench, work: Work | None) -> bool:
    """Whether nobody has to go for it: it waits because somebody before it will need the room."""
    if work is None or not may_fit(work, bench.board.free):
        return False
    return would_place(work, bench.board) is not None


def would_delay(bench: Workbench, turn: Turn, claim: Claim, work: Work, preempted: Preempted) -> bool:
    """Whether somebody before it waits for the end of those that would go for it now."""
    running = bench.snapshot.running.tasks
    tasks = [running[task] for unit in preempted.victims for task in unit.tasks]
    gone = {(task.job.id, task.placement.rank) for task in tasks}
    return bench.ahead.would_delay(claim.template, held_by(work, preempted.seats), gone, turn.queue)


def _show_room_made(bench: Workbench, work: Work, seats: list[Seat]) -> None:
    """Lets the watch see the board with the victims gone and the job not yet there."""
    checkpoint = bench.board.checkpoint()
    for seat in seats:
        signature = work.signatures[seat.group]
        bench.board.lift(seat.position, signature.demand, signature.footprint, seat.devices)
    if bench.watch is not None:
        bench.watch.room_made(work, bench.board)
    bench.board.rollback(checkpoint)
