"""Whom to evict so that a job can start: the smallest set, then the cheapest, or nobody.

Victims come in units: a task that its gang can spare, or a gang as a whole. First a ladder for
each node says how many victims each further task of the preemptor would cost there; the cheapest
steps over all nodes are taken. Then the job is placed in the room that makes, and every victim
that isn't needed after all is spared, the most valuable first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rota.engine.evicting.sparing import Preempted, spare_by_trial, spare_in_place, tasks_of
from rota.engine.evicting.steps import VictimOrder, cheapest_steps, victim_orders
from rota.engine.evicting.victims import Unit, Victims
from rota.engine.placing.board import Board
from rota.engine.placing.place import place, rules_of
from rota.engine.placing.work import Work
from rota.model.job import TopologyMode
from rota.snapshot.arrays import Bools

_FEW = 16
"""So many victims at most are tried for sparing once more, by placing the job anew."""
_REGIONS = 64
"""How many domains are tried for a job that must lie in one."""


def preempt(work: Work, board: Board, victims: Victims, eligible: Bools) -> Preempted | None:
    """Makes room and places the job, both on the board; or changes nothing and gives None.

    Several ways to choose victims are tried where they differ, and the one that costs least is
    taken: the largest on a node first, which needs the fewest, or the cheapest first; and for a job
    that must lie in one domain, each of the domains.
    """
    eligible = eligible & victims.alive
    if not eligible.any():
        return None
    checkpoint = board.checkpoint()
    kept = victims.counted_in(rule.counter for s in work.signatures for rule in s.domain_rules.near)
    # Those it must be near to are the last to be evicted for it.
    for may_go in [eligible & ~kept, eligible] if (eligible & kept).any() else [eligible]:
        attempts = [
            partial(_with_steps, work, board, victims, may_go, order, within)
            for within in _regions(work, board)
            for order in victim_orders(work, victims)
        ]
        best: tuple[tuple[int, int, int], int] | None = None
        for number, attempt in enumerate(attempts):
            done = attempt()
            if done is not None and len(attempts) == 1:
                return done
            board.rollback(checkpoint)
            if done is not None and (best is None or _loss(done.victims) < best[0]):
                best = _loss(done.victims), number
        done = attempts[best[1]]() if best is not None else _with_everyone(work, board, victims, may_go)
        if done is not None:
            return done
    return None


def _regions(work: Work, board: Board) -> Iterator[Bools | None]:
    rule = next((rule for rule in rules_of(work) if rule.mode is TopologyMode.SAME), None)
    if rule is None or work.placed_at:
        yield None
        return
    column = board.nodes.topology(rule.key)
    for domain in range(min(len(column.values), _REGIONS)):
        yield column.codes == domain


def _loss(units: list[Unit]) -> tuple[int, int, int]:
    """What the eviction of these costs: how many go, how high their class is, how long they ran."""
    tasks = sum(len(unit.tasks) for unit in units)
    highest = max((unit.priority for unit in units), default=-(1 << 62))
    return tasks, highest, -min((unit.started_ms for unit in units), default=0)


def _with_steps(
    work: Work, board: Board, victims: Victims, eligible: Bools, order: VictimOrder, within: Bools | None
) -> Preempted | None:
    checkpoint = board.checkpoint()
    chosen = cheapest_steps(work, board, victims, eligible, order, within)
    if chosen is None:
        return None
    victims.lift(tasks_of(chosen))
    seats = place(work, board, within)
    if seats is not None and _is_local(work):
        evicted = spare_in_place(chosen, victims)
        if not 1 < len(evicted) <= _FEW:
            return Preempted(seats, evicted)
        # The job might do with less in other places: worth a try while there are few to try.
        chosen = evicted
    board.rollback(checkpoint)
    if seats is None:
        return None
    return spare_by_trial(chosen, victims, board, partial(place, work, board, within))


def _with_everyone(work: Work, board: Board, victims: Victims, eligible: Bools) -> Preempted | None:
    """Rules over domains, or devices, can ask for more than amounts tell: try it with all gone."""
    checkpoint = board.checkpoint()
    everyone = victims.units(victims.candidates(eligible)[0].tolist(), eligible)
    victims.lift(tasks_of(everyone))
    seats = place(work, board)
    board.rollback(checkpoint)
    if seats is None:
        return None
    used = {seat.position for seat in seats}
    jobs = {
        unit.job for unit in everyone if any(int(victims.running.node[task]) in used for task in unit.tasks)
    }
    there = [unit for unit in everyone if unit.job in jobs]
    placed = partial(place, work, board)
    return spare_by_trial(there, victims, board, placed) or spare_by_trial(everyone, victims, board, placed)


def _is_local(work: Work) -> bool:
    """Whether sparing a victim can only matter on the victim's own node."""
    return not work.topology and not any(
        signature.needs_turns or signature.footprint.counters for signature in work.signatures
    )
