"""Whom to evict so that a job can start: the smallest set, then the cheapest, or nobody.

Victims come in units: a task that its gang can spare, or a gang as a whole. First a ladder for
each node says how many victims each further task of the preemptor would cost there; the cheapest
steps over all nodes are taken. Then the job is placed in the room that makes, and every victim
that isn't needed after all is spared, the most valuable first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rota.engine.evicting.victims import Unit, Victims
from rota.engine.placing.board import Board
from rota.engine.placing.place import place, rules_of
from rota.engine.placing.signature import Signature
from rota.engine.placing.work import Seat, Work
from rota.model.job import TopologyMode
from rota.snapshot import rows
from rota.snapshot.demand import Demand

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]

_FEW = 16
_TRIALS = 256
"""How many victims are tried for sparing one by one where each try means placing the job anew."""


@dataclass(frozen=True, eq=False)
class Preempted:
    seats: list[Seat]
    victims: list[Unit]


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
            for order in _orders(work, victims)
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


def preempt_on_one_node(work: Work, board: Board, victims: Victims, eligible: Bools) -> Preempted | None:
    """For a single task: all who go for it are on the node that it goes to."""
    if _is_local(work):
        return preempt(work, board, victims, eligible)
    eligible = eligible & victims.alive
    nodes = np.unique(victims.running.node[eligible & work.signatures[0].static_mask[victims.running.node]])
    checkpoint = board.checkpoint()
    best: tuple[tuple[int, int, int], int] | None = None
    for node in nodes.tolist()[:_NODES_TRIED]:
        done = _with_one_node(work, board, victims, eligible, node)
        board.rollback(checkpoint)
        if done is not None and (best is None or (_loss(done.victims), node) < best):
            best = _loss(done.victims), node
    return None if best is None else _with_one_node(work, board, victims, eligible, best[1])


_NODES_TRIED = 256


def _with_one_node(
    work: Work, board: Board, victims: Victims, eligible: Bools, node: int
) -> Preempted | None:
    may_go = eligible & (victims.running.node == node)
    units = victims.units(victims.candidates(may_go)[0].tolist(), may_go)
    within = np.zeros(len(board.nodes), dtype=np.bool_)
    within[node] = True
    return spare_by_trial(units, victims, board, partial(place, work, board, within)) if units else None


_REGIONS = 64
"""How many domains are tried for a job that must lie in one."""


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
    chosen = _cheapest_steps(work, board, victims, eligible, order, within)
    if chosen is None:
        return None
    victims.lift(_tasks(chosen))
    seats = place(work, board, within)
    if seats is not None and _is_local(work):
        evicted = _spare_in_place(chosen, victims)
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
    victims.lift(_tasks(everyone))
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


Stay = Callable[[list[Unit]], bool]
"""Puts units back on the board if the job can do without their eviction, and says whether."""
Leave = Callable[[list[Unit]], None]
"""Takes units off the board."""


def _spare_in_place(chosen: list[Unit], victims: Victims) -> list[Unit]:
    """Puts back whoever still fits beside the placed job, and gives the others."""

    def leave(units: list[Unit]) -> None:
        victims.lift(_tasks(units))

    def stay(units: list[Unit]) -> bool:
        for at, unit in enumerate(units):
            if not victims.fits_back(unit):
                leave(units[:at])
                return False
            victims.put_back(unit)
        return True

    return _spare(chosen, victims, stay, leave)


def spare_by_trial(
    chosen: list[Unit],
    victims: Victims,
    board: Board,
    placed: Callable[[], list[Seat] | None],
    credit: Callable[[list[int], int], None] = lambda tasks, sign: None,
) -> Preempted | None:
    """Evicts those of the units that have to go for the job and places it, trying anew each time
    whether it can be `placed`. Whoever goes or stays meanwhile is given to `credit`, with -1 or 1."""
    start = board.checkpoint()
    trials = _TRIALS

    def leave(units: list[Unit]) -> None:
        victims.lift(_tasks(units))
        credit(_tasks(units), -1)

    def stay(units: list[Unit]) -> bool:
        nonlocal trials
        if not trials or len(units) == len(chosen):
            return False
        trials -= 1
        for unit in units:
            victims.put_back(unit)
        credit(_tasks(units), 1)
        if fits():
            return True
        leave(units)
        return False

    def fits() -> bool:
        checkpoint = board.checkpoint()
        seats = placed()
        board.rollback(checkpoint)
        return seats is not None

    leave(chosen)
    needed = _spare(chosen, victims, stay, leave) if fits() else chosen
    seats = placed()
    credit(_tasks(needed), 1)
    if seats is None:
        board.rollback(start)
        return None
    return Preempted(seats, needed)


def _spare(chosen: list[Unit], victims: Victims, stay: Stay, leave: Leave) -> list[Unit]:
    """Lets stay whom the job can do without, the most valuable first, and gives the others. Many are
    asked about at once, and by halves where not all of them can stay."""
    gone: list[Unit] = []
    doubtful = [_parties(chosen)]
    while doubtful:
        parties = doubtful.pop()
        if stay([unit for party in parties for unit in party]):
            continue
        if len(parties) > 1:
            half = len(parties) // 2
            doubtful += [parties[half:], parties[:half]]
        else:
            gone += _without_enough(parties[0], victims, stay, leave)
    return gone


def _parties(units: list[Unit]) -> list[list[Unit]]:
    """Units that can stay whoever else goes; a gang that would have to go as a whole is one party."""
    whole = {unit.job for unit in units if unit.is_core}
    parties: dict[Unit | int, list[Unit]] = {}
    for unit in sorted(units, key=Unit.value):
        parties.setdefault(unit.job if unit.job in whole else unit, []).append(unit)
    return list(parties.values())


def _without_enough(party: list[Unit], victims: Victims, stay: Stay, leave: Leave) -> list[Unit]:
    """Who goes of a party that can't stay as a whole: a gang goes on if enough of its tasks stay."""
    if len(party) == 1:
        return party
    singles = victims.singles(party)
    staying = [single for single in singles if stay([single])]
    if len(staying) >= victims.running.min_running[party[0].job]:
        return [single for single in singles if single not in staying]
    leave(staying)
    return party


def _tasks(units: list[Unit]) -> list[int]:
    return [task for unit in units for task in unit.tasks]


def _cheapest_steps(
    work: Work, board: Board, victims: Victims, eligible: Bools, order: VictimOrder, within: Bools | None
) -> list[Unit] | None:
    """The units to evict for the largest group, by amounts alone; None: there aren't enough.

    For every node its candidates are put in order, and the room after each is summed up. A step is
    what it takes to gain room for one more task.
    """
    group = _largest_group(work)
    signature = work.signatures[group]
    candidates, together = victims.candidates(eligible)
    usable = signature.static_mask if within is None else signature.static_mask & within
    there = usable[victims.running.node[candidates]]
    candidates, together = candidates[there], together[there]
    if not len(candidates):
        return None
    free_room = int(signature.capacity(np.flatnonzero(signature.feasible_scores(within) >= 0)).sum())
    wanted, least = work.total - free_room, work.needed - free_room
    if len(work.counts) > 1:
        wanted, least = work.counts[group] - free_room, 1
    ranked = _ranked(candidates, together, victims, board, signature.demand, order)
    candidates, together = candidates[ranked], together[ranked]
    steps = _Steps(board, victims, signature, candidates, together)
    picked: list[int] = []
    gained = 0
    while gained < wanted and (step := steps.cheapest()) is not None:
        first, last, gain = step
        picked += range(first, last)
        gained += gain
    if gained < least or not picked:
        return None
    return victims.units(candidates[picked].tolist(), eligible)


class _Steps:
    """Steps of all nodes; within a node they come in order, between nodes the cheapest first."""

    def __init__(
        self, board: Board, victims: Victims, signature: Signature, candidates: Int64s, together: Int64s
    ) -> None:
        node = victims.running.node[candidates].astype(np.int64)
        starts = np.flatnonzero(np.diff(node, prepend=-1))
        owner = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(node)]))
        room = _room_after(board, signature.demand, victims, candidates, node, starts, owner)
        before = np.r_[0, room[:-1]]
        before[starts] = signature.capacity(node[starts])
        ends = np.flatnonzero(room > before)
        begins = np.r_[0, ends[:-1] + 1] if len(ends) else ends
        begins = np.maximum(begins, starts[owner[ends]])
        cost = np.r_[0, np.cumsum(_tasks_lost(victims, candidates, together, node))]
        self._ends = (ends + 1).tolist()
        self._begins = begins.tolist()
        self._gains = (room - before)[ends].tolist()
        self._costs = (cost[ends + 1] - cost[begins]).tolist()
        self._owner = owner[ends].tolist()
        self._scores = (-signature.score_ladder(node[starts], 0, 1)[:, 0]).tolist()
        bounds = np.c_[begins, ends + 1].ravel()
        priority = np.r_[victims.priorities[candidates], 0]
        started = np.r_[victims.running.started_ms[candidates], 0]
        self._highest = np.maximum.reduceat(priority, bounds)[::2].tolist() if len(ends) else []
        self._oldest = np.minimum.reduceat(started, bounds)[::2].tolist() if len(ends) else []
        rank = np.r_[victims.running.rank[candidates], 0]
        self._last_rank = np.maximum.reduceat(rank, bounds)[::2].tolist() if len(ends) else []
        first_of_node = np.flatnonzero(np.diff(owner[ends], prepend=-1)).tolist()
        self._heap = [self._entry(step) for step in first_of_node]
        heapq.heapify(self._heap)

    def _entry(self, step: int) -> tuple[float, int, int, int, int, int]:
        """Fewest victims a task gained, then the lowest class, the least work lost, the last rank."""
        return (
            self._costs[step] / self._gains[step],
            self._highest[step],
            -self._oldest[step],
            -self._last_rank[step],
            self._scores[self._owner[step]],
            step,
        )

    def cheapest(self) -> tuple[int, int, int] | None:
        """(first candidate, one past the last, tasks gained) of the next step; None: no more."""
        if not self._heap:
            return None
        step = self._heap[0][-1]
        following = step + 1
        if following < len(self._ends) and self._owner[following] == self._owner[step]:
            heapq.heapreplace(self._heap, self._entry(following))
        else:
            heapq.heappop(self._heap)
        return self._begins[step], self._ends[step], self._gains[step]


class VictimOrder(Enum):
    """Who goes first on a node, after those who take the fewest others along."""

    LARGEST = "largest"
    CHEAPEST = "cheapest"


def _orders(work: Work, victims: Victims) -> tuple[VictimOrder, ...]:
    """Both, unless all running tasks are of one size and the orders come to the same."""
    asked = work.signatures[_largest_group(work)].demand.take > 0
    sizes = {other.take[asked].tobytes() for other in victims.demands}
    return (VictimOrder.CHEAPEST,) if len(sizes) == 1 else (VictimOrder.LARGEST, VictimOrder.CHEAPEST)


def _largest_group(work: Work) -> int:
    groups = [group for group, count in enumerate(work.counts) if count]
    return max(groups, key=lambda group: (work.signatures[group].largest_share(), -group))


def _useful(candidates: Int64s, victims: Victims, board: Board, demand: Demand) -> Int64s:
    """How much of what its node lacks for the task a candidate would free: first by the resource it
    helps least with, then over all. More than is lacking counts as enough."""
    kind, node = victims.running.spec[candidates], victims.running.node[candidates]
    least = np.full(len(candidates), 1000, dtype=np.int64)
    total = np.zeros(len(candidates), dtype=np.int64)
    for row in np.flatnonzero(demand.take > 0).tolist():
        lacking = np.maximum(demand.take[row] - board.free[row].take(node), 0)
        freed = np.array([other.take[row] for other in victims.demands], dtype=np.int64)[kind]
        part = np.where(lacking > 0, np.minimum(freed * 1000 // np.maximum(lacking, 1), 1000), 1000)
        np.minimum(least, part, out=least)
        total += part
    return least * 1_000_000 + total


def _ranked(
    candidates: Int64s,
    together: Int64s,
    victims: Victims,
    board: Board,
    demand: Demand,
    order: VictimOrder,
) -> Int64s:
    """By node, and on each node in the order in which they go."""
    running = victims.running
    priority, started = victims.priorities[candidates], -running.started_ms[candidates]
    useful = -_useful(candidates, victims, board, demand)
    asked = demand.take > 0
    sizes = [int((other.take[asked] * 1000 // demand.take[asked]).sum()) for other in victims.demands]
    size = np.array(sizes, dtype=np.int64)[running.spec[candidates]]
    if order is VictimOrder.LARGEST:
        keys = [-running.rank[candidates], started, size, priority, useful]
    else:
        keys = [-running.rank[candidates], useful, size, started, priority]
    keys += [together, running.node[candidates].astype(np.int64)]
    # Sorting is stable and candidates are in the order of job and rank: that breaks the last ties.
    return np.lexsort([key for key in keys if (key != key[0]).any()] or keys[-1:])


def _tasks_lost(victims: Victims, candidates: Int64s, together: Int64s, node: Int64s) -> Int64s:
    """How many tasks go with each candidate that didn't go with an earlier one of the same node."""
    if not (together > 1).any():
        return together
    job = victims.running.job[candidates].astype(np.int64)
    gang = np.where(together > 1, job, -1 - candidates)
    _, first = np.unique(np.stack([node, gang]), axis=1, return_index=True)
    lost = np.zeros_like(together)
    lost[first] = together[first]
    return lost


def _room_after(
    board: Board,
    demand: Demand,
    victims: Victims,
    candidates: Int64s,
    node: Int64s,
    starts: Int64s,
    owner: Int64s,
) -> Int64s:
    """How many tasks fit on the node once this candidate and those before it are gone."""
    room = np.full(len(node), rows.NODE_SHARES, dtype=np.int64)
    kind = victims.running.spec[candidates]
    for row in np.flatnonzero(demand.take > 0).tolist():
        by_kind = np.array([other.take[row] for other in victims.demands], dtype=np.int64)
        freed = np.cumsum(by_kind[kind])
        earlier = np.r_[0, freed][starts][owner]
        free = board.free[row].take(node) + freed - earlier
        np.minimum(room, free // demand.take[row], out=room)
    return np.maximum(room, 0)
