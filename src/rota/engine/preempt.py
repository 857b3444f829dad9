"""Whom to evict so that a job can start: the smallest set, then the cheapest, or nobody.

Victims come in units: a task that its gang can spare, or a gang as a whole. First a ladder for
each node says how many victims each further task of the preemptor would cost there; the cheapest
steps over all nodes are taken. Then the job is placed in the room that makes, and every victim
that isn't needed after all is spared, the most valuable first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rota.engine.board import Board
from rota.engine.place import Seat, Work, place
from rota.engine.topology import Footprint
from rota.snapshot import rows
from rota.snapshot.demand import Demand
from rota.snapshot.state import Snapshot

Bools = NDArray[np.bool_]
Int64s = NDArray[np.int64]

_TRIALS = 256
"""How many victims are tried for sparing one by one where each try means placing the job anew."""


@dataclass(frozen=True, eq=False)
class Unit:
    """Running tasks (positions in the running columns) that can only be evicted together."""

    tasks: tuple[int, ...]
    priority: int
    started_ms: int
    name: str
    """Job id and rank, to break ties by."""

    def value(self) -> tuple[int, int, int, str]:
        """Sorts from the most to the least worth sparing: high class, large, long running."""
        return -self.priority, -len(self.tasks), self.started_ms, self.name


class Victims:
    """Running tasks as preemption sees them in one cycle; evicted ones are no longer there."""

    def __init__(
        self,
        snapshot: Snapshot,
        board: Board,
        priorities: Int64s,
        footprint: Callable[[int], Footprint],
    ) -> None:
        self.running = snapshot.running
        self.priorities = priorities
        self.alive: Bools = np.ones(len(self.running), dtype=np.bool_)
        self._board = board
        self.demands: list[Demand] = [
            snapshot.demand(template.groups[group].spec) for template, group in self.running.kinds
        ]
        self._footprint = footprint
        self._tasks_of: dict[int, list[int]] | None = None

    def tasks_of(self, job: int) -> list[int]:
        """Alive tasks of a job, by its number."""
        if self._tasks_of is None:
            self._tasks_of = {}
            for task, number in enumerate(self.running.job.tolist()):
                self._tasks_of.setdefault(number, []).append(task)
        return [task for task in self._tasks_of.get(job, ()) if self.alive[task]]

    def units_of(self, tasks: Iterable[int], eligible: Bools) -> dict[int, Unit]:
        """For each of these tasks the unit that has to go with it; none where the rest of its
        gang isn't eligible."""
        units: dict[int, Unit] = {}
        for job in sorted({int(self.running.job[task]) for task in tasks}):
            members = self.tasks_of(job)
            spare = len(members) - self.running.jobs[job].template.min_count
            # The last ranks go first; what a gang can't spare goes as a whole.
            spared = members[len(members) - spare :] if spare > 0 else []
            for task in spared:
                if eligible[task]:
                    units[task] = self._unit((task,))
            core = members[: len(members) - len(spared)]
            if core and all(eligible[task] for task in members):
                unit = self._unit(tuple(members))
                units.update((task, unit) for task in core)
        return units

    def _unit(self, tasks: tuple[int, ...]) -> Unit:
        first = self.running.tasks[tasks[0]]
        return Unit(
            tasks,
            int(self.priorities[tasks[0]]),
            int(min(self.running.started_ms[task] for task in tasks)),
            f"{first.job.id}/{first.placement.rank}",
        )

    def lift(self, tasks: Iterable[int]) -> None:
        for task in tasks:
            kind = int(self.running.spec[task])
            self._board.lift(
                int(self.running.node[task]),
                self.demands[kind],
                self._footprint(kind),
                self.running.tasks[task].placement.gpu_devices,
            )

    def fits_back(self, unit: Unit) -> bool:
        """Whether the unit's tasks fit beside what is on the board now."""
        taken: dict[int, Int64s] = {}
        devices: dict[tuple[int, int], int] = {}
        for task in unit.tasks:
            at = int(self.running.node[task])
            demand = self.demands[int(self.running.spec[task])]
            before = taken.get(at)
            taken[at] = demand.take.copy() if before is None else before + demand.take
            for device in self.running.tasks[task].placement.gpu_devices:
                devices[at, device] = devices.get((at, device), 0) + demand.gpu.share_milli
        return all(
            bool((self._board.free[:, at] >= take)[take > 0].all()) for at, take in taken.items()
        ) and all(self._board.gpu_free[at, device] >= milli for (at, device), milli in devices.items())

    def put_back(self, unit: Unit) -> None:
        for task in unit.tasks:
            kind = int(self.running.spec[task])
            self._board.put_running(
                int(self.running.node[task]),
                self.demands[kind],
                self._footprint(kind),
                self.running.tasks[task].placement.gpu_devices,
            )


@dataclass(frozen=True, eq=False)
class Preempted:
    seats: list[Seat]
    victims: list[Unit]


def preempt(work: Work, board: Board, victims: Victims, eligible: Bools) -> Preempted | None:
    """Makes room and places the job, both on the board; or changes nothing and gives None."""
    eligible = eligible & victims.alive
    if not eligible.any():
        return None
    checkpoint = board.checkpoint()
    chosen = _cheapest_steps(work, board, victims, eligible)
    if chosen is not None:
        victims.lift(task for unit in chosen for task in unit.tasks)
        seats = place(work, board)
        if seats is not None:
            if _is_local(work):
                return Preempted(seats, _spare(chosen, victims))
            board.rollback(checkpoint)
            return _spare_by_trial(work, board, victims, chosen)
        board.rollback(checkpoint)
    # Rules over domains, or devices, can ask for more than amounts tell: try it with all gone.
    everyone = _distinct(victims.units_of(np.flatnonzero(eligible).tolist(), eligible).values())
    victims.lift(task for unit in everyone for task in unit.tasks)
    seats = place(work, board)
    board.rollback(checkpoint)
    if seats is None:
        return None
    used = {seat.position for seat in seats}
    there = [unit for unit in everyone if any(int(victims.running.node[task]) in used for task in unit.tasks)]
    return _spare_by_trial(work, board, victims, there) or _spare_by_trial(work, board, victims, everyone)


def _is_local(work: Work) -> bool:
    """Whether sparing a victim can only matter on the victim's own node."""
    return not work.topology and not any(
        signature.needs_turns or signature.footprint.counters for signature in work.signatures
    )


def _distinct(units: Iterable[Unit]) -> list[Unit]:
    by_id = {id(unit): unit for unit in units}
    return list(by_id.values())


def _spare(chosen: list[Unit], victims: Victims) -> list[Unit]:
    """Puts back whoever still fits beside the placed job."""
    evicted = []
    for unit in sorted(chosen, key=Unit.value):
        if victims.fits_back(unit):
            victims.put_back(unit)
        else:
            evicted.append(unit)
    return evicted


def _spare_by_trial(work: Work, board: Board, victims: Victims, chosen: list[Unit]) -> Preempted | None:
    """Leaves out one unit after another, keeping each omission with which the job still fits."""
    checkpoint = board.checkpoint()

    def attempt(units: list[Unit]) -> list[Seat] | None:
        board.rollback(checkpoint)
        victims.lift(task for unit in units for task in unit.tasks)
        return place(work, board)

    if attempt(chosen) is None:
        board.rollback(checkpoint)
        return None
    needed = sorted(chosen, key=Unit.value)
    for unit in list(needed)[:_TRIALS]:
        without = [other for other in needed if other is not unit]
        if without and attempt(without) is not None:
            needed = without
    seats = attempt(needed)
    assert seats is not None
    return Preempted(seats, needed)


def _cheapest_steps(work: Work, board: Board, victims: Victims, eligible: Bools) -> list[Unit] | None:
    """The units to evict for the largest group, by amounts alone; None: there aren't enough.

    For every node its eligible tasks are put in order (few with them, large, low class, young), and
    the room after each is summed up. A step is what it takes to gain room for one more task.
    """
    group = max(range(len(work.counts)), key=lambda g: (work.signatures[g].largest_share(), -g))
    signature = work.signatures[group]
    demand = signature.demand
    running = victims.running
    candidates = np.flatnonzero(eligible & signature.static_mask[running.node])
    units = victims.units_of(candidates.tolist(), eligible)
    candidates = np.array([task for task in candidates.tolist() if task in units], dtype=np.int64)
    if not len(candidates):
        return None
    node = running.node[candidates].astype(np.int64)
    order = _victim_order(candidates, node, victims, units, demand)
    candidates, node = candidates[order], node[order]
    starts = np.flatnonzero(np.r_[True, node[1:] != node[:-1]])
    lengths = np.diff(np.r_[starts, len(node)])
    room = _room_after(board, demand, victims, candidates, node, starts, lengths)
    before = signature.capacity(node[starts])
    # Room that is there without any victim counts as a step of its own that costs nothing.
    free_room = int(signature.capacity(np.flatnonzero(signature.feasible_scores() >= 0)).sum())
    wanted = work.total - free_room
    least = work.needed - free_room
    if len(work.counts) > 1:
        wanted, least = work.counts[group] - free_room, 1
    steps = _steps(room, before, starts, lengths)
    scores = signature.score_ladder(node[starts], 0, 1)[:, 0]
    chosen: dict[int, Unit] = {}
    weight = np.fromiter((len(units[task].tasks) for task in candidates.tolist()), np.int64, len(node))
    cost = np.r_[0, np.cumsum(weight)]
    heap = [_entry(steps, at, 0, cost, scores) for at in range(len(starts)) if steps[at]]
    heapq.heapify(heap)
    gained = 0
    while heap and gained < wanted:
        *_, at, step = heap[0]
        first, last, gain = steps[at][step]
        for task in candidates[first:last].tolist():
            chosen.setdefault(id(units[task]), units[task])
        gained += gain
        if step + 1 < len(steps[at]):
            heapq.heapreplace(heap, _entry(steps, at, step + 1, cost, scores))
        else:
            heapq.heappop(heap)
    if gained < least or not chosen:
        return None
    return list(chosen.values())


def _entry(
    steps: list[list[tuple[int, int, int]]], at: int, step: int, cost: Int64s, scores: Int64s
) -> tuple[float, int, int, int]:
    first, last, gain = steps[at][step]
    return float(cost[last] - cost[first]) / gain, -int(scores[at]), at, step


def _victim_order(
    candidates: Int64s, node: Int64s, victims: Victims, units: dict[int, Unit], demand: Demand
) -> Int64s:
    running = victims.running
    asked = np.flatnonzero(demand.take[: rows.GPU_ROWS] > 0)
    useful = np.stack(
        [np.minimum(other.take[asked] * 1000 // demand.take[asked], 1000) for other in victims.demands]
    ).sum(axis=1)
    kind = running.spec[candidates]
    together = np.fromiter(
        (len(units[task].tasks) for task in candidates.tolist()), np.int64, len(candidates)
    )
    return np.lexsort(
        (
            candidates,
            -running.started_ms[candidates],
            victims.priorities[candidates],
            -useful[kind],
            together,
            node,
        )
    )


def _room_after(
    board: Board,
    demand: Demand,
    victims: Victims,
    candidates: Int64s,
    node: Int64s,
    starts: Int64s,
    lengths: Int64s,
) -> Int64s:
    """How many tasks fit on the node once this candidate and those before it are gone."""
    room = np.full(len(node), rows.NODE_SHARES, dtype=np.int64)
    kind = victims.running.spec[candidates]
    for row in np.flatnonzero(demand.take > 0).tolist():
        by_kind = np.fromiter((other.take[row] for other in victims.demands), np.int64)
        freed = np.cumsum(by_kind[kind])
        earlier = np.repeat(np.r_[0, freed][starts], lengths)
        free = board.free[row].take(node) + freed - earlier
        np.minimum(room, free // demand.take[row], out=room)
    return np.maximum(room, 0)


def _steps(room: Int64s, before: Int64s, starts: Int64s, lengths: Int64s) -> list[list[tuple[int, int, int]]]:
    """For each node: (first candidate, one past the last, tasks gained) of each step."""
    result = []
    rooms = room.tolist()
    for start, length, have in zip(starts.tolist(), lengths.tolist(), before.tolist(), strict=True):
        steps = []
        first = start
        for at in range(start, start + length):
            if rooms[at] > have:
                steps.append((first, at + 1, rooms[at] - have))
                have = rooms[at]
                first = at + 1
        result.append(steps)
    return result
