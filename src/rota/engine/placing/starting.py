"""Starts jobs that there is room for: binds them, and tells books, calendar and those who look on."""

from __future__ import annotations

from collections import Counter

from rota.engine.calendar.fitting import may_fit
from rota.engine.calendar.lines import held_by
from rota.engine.calendar.timeline import Holding
from rota.engine.order import Stretch
from rota.engine.placing.board import Room
from rota.engine.placing.place import place, place_equal, put_best
from rota.engine.placing.signature import Signature
from rota.engine.placing.work import Seat, Work
from rota.engine.scope import Turn
from rota.engine.workbench import Workbench
from rota.model.ids import JobId
from rota.model.job import Job, JobTemplate
from rota.model.plan import Binding
from rota.model.reasons import AwaitsPartner, WasPreempted
from rota.model.verdict import Reason


def not_yet(bench: Workbench, job: Job) -> Reason | None:
    """What keeps the job back whatever room there is."""
    if job.id in bench.evictor.lost:
        return WasPreempted()
    if closed := bench.gates.closed_to(job):
        return closed
    is_placed, caps = bench.whereabouts.is_placed, bench.books.caps
    if caps.of_jobs and not is_placed(job.id):
        _, limit = caps.ask_jobs(job.template)
        if limit is not None:
            return limit
    partner = job.template.connect_to
    return AwaitsPartner(JobId(partner)) if partner and not is_placed(JobId(partner)) else None


def start_now(bench: Workbench, turn: Turn, stretch: Stretch, work: Work, *, fits: bool) -> int:
    """Starts jobs of the stretch, beside what the calendar keeps for others, and says how many. `fits`:
    whether there is room by amounts, where the calendar is open."""
    if not bench.ahead.is_open:
        return _start_some(bench, stretch, work)
    if fits or _is_watched(bench, stretch):
        return _start_beside(bench.ahead.kept_back(stretch.head.template, turn.queue), bench, stretch, work)
    return 0


def _start_beside(kept: Room | None, bench: Workbench, stretch: Stretch, work: Work) -> int:
    """Starts jobs of the stretch in what is left beside something that must be left alone."""
    if kept is None:
        return _start_some(bench, stretch, work)
    if not may_fit(work, bench.board.free - kept.free) and not _is_watched(bench, stretch):
        return 0
    with bench.board.without(kept):
        return _start_some(bench, stretch, work)


def _start_some(bench: Workbench, stretch: Stretch, work: Work) -> int:
    # Shares of quotas that are lent change with each job; and who is watched is placed by itself.
    is_watched = bench.watch is not None and _is_watched(bench, stretch)
    if work.is_single and not bench.books.quotas.lend and not is_watched:
        signature = work.signatures[0]
        most = bench.books.singles(stretch.head.template, signature.demand.take, stretch.length)
        return _start_singles(bench, stretch, signature, most) if most else 0
    return int(_start_one(bench, stretch, work))


def _is_watched(bench: Workbench, stretch: Stretch) -> bool:
    watch = bench.watch
    return watch is not None and any(job.id == watch.job for job in stretch.jobs(stretch.length))


def _start_singles(bench: Workbench, stretch: Stretch, signature: Signature, most: int) -> int:
    """Jobs of one task each, as many of the stretch as there is room for, and at most so many."""
    names, board, placed = bench.snapshot.nodes.names, bench.board, bench.whereabouts
    if most == 1:
        at = put_best(signature, board)
        if at is None:
            return 0
        job = stretch.head
        placed.bindings.append(Binding(job.id, 0, names[at[0]], at[1]))
        placed.started.add(job.id)
        bench.score(job.id, signature, at[0])
        bench.ahead.started(job.template, [Holding(at[0], signature.demand, at[1])])
        _charge_singles(bench, job.template, signature, 1)
        return 1
    before = board.checkpoint()
    positions = place_equal(signature, board, most)
    devices = board.devices_since(before)
    jobs = stretch.jobs(len(positions))
    placed.bindings += [
        Binding(job.id, 0, names[at], got) for job, at, got in zip(jobs, positions, devices, strict=True)
    ]
    placed.started.update([job.id for job in jobs])
    for job, position in zip(jobs[: bench.plugins.jobs_scored], positions, strict=False):
        bench.score(job.id, signature, position)
    if jobs:
        template = stretch.head.template
        bench.ahead.started_many(template, signature.demand, positions, devices)
        _charge_singles(bench, template, signature, len(jobs))
    return len(jobs)


def _charge_singles(bench: Workbench, template: JobTemplate, signature: Signature, count: int) -> None:
    bench.books.charge(template, signature.demand.take, count)
    bench.books.caps.started(template, count)
    if template.connect_to:
        _spare_partner(bench, template)


def _start_one(bench: Workbench, stretch: Stretch, work: Work) -> bool:
    job, watch = stretch.head, bench.watch
    if watch is not None and job.id == watch.job:
        watch.placing(work, bench.board)
    allowed = bench.books.allowed(job.template, work)
    seats = None if allowed is None else place(allowed, bench.board)
    if seats is None:
        return False
    bind(bench, stretch, work, seats)
    return True


def bind(bench: Workbench, stretch: Stretch, work: Work, seats: list[Seat]) -> None:
    """The first job of the stretch starts in these seats. The board has been told."""
    job, key = stretch.head, stretch.cursor.lane.key
    names, ranks = bench.snapshot.nodes.names, work.ranks_by_kind(key)
    bench.whereabouts.bindings += [
        Binding(job.id, next(ranks[seat.group]), names[seat.position], seat.devices) for seat in seats
    ]
    placed = Counter(seat.group for seat in seats)
    for group, signature in enumerate(work.signatures):
        bench.books.charge(job.template, signature.demand.take, placed[group])
    if bench.books.caps.of_jobs and not bench.whereabouts.is_placed(job.id):
        bench.books.caps.started(job.template)
    bench.whereabouts.started.add(job.id)
    bench.score(job.id, work.signatures[seats[0].group], seats[0].position)
    bench.ahead.started(job.template, held_by(work, seats))
    if key.placed:
        bench.evictor.untouchable.add(job.id)
    if job.template.connect_to:
        _spare_partner(bench, job.template)
    if len(seats) < work.total:
        bench.in_part[job.id] = bench.judge.why_no_more(job, work, seats)


def _spare_partner(bench: Workbench, template: JobTemplate) -> None:
    """Nobody evicts a job in the same cycle in which its partner starts."""
    bench.evictor.untouchable.add(JobId(template.connect_to))
