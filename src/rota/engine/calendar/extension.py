"""May a running job run longer than its time limit? Yes, if nobody was promised what it would keep.

Its tasks are held on their nodes for good; whatever then begins there and finds too little is in the
way. All else is information: what it costs, and by deciding twice, whose planned starts would move.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rota.engine.calendar.agenda import Agenda
from rota.engine.calendar.durations import limit_ms as limit_of
from rota.engine.calendar.entries import EVERYBODY, fixed_entries
from rota.engine.calendar.running import running_without
from rota.engine.calendar.timeline import Holding
from rota.engine.decide import decide
from rota.engine.placing.board import Board
from rota.engine.placing.score import task_price_micro
from rota.engine.placing.topology import NO_FOOTPRINT
from rota.engine.plugin import Plugins
from rota.model.extension import Answer, Extension, InTheWay, MovedStart, Obstacle
from rota.model.ids import JobId
from rota.model.job import JobRecord, Promise
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.model.reasons import MaintenanceAhead
from rota.snapshot.records import with_records
from rota.snapshot.running import build_running
from rota.snapshot.state import Snapshot
from rota.snapshot.waiting import WaitingJobs

_HOUR_MS = 3_600_000


def extend(
    snapshot: Snapshot, policy: Policy, now_ms: int, plugins: Plugins, job_id: JobId, limit_ms: int
) -> Extension:
    """Whether the job may have this time limit, counted from its start. Nothing is changed by asking."""
    record = snapshot.jobs.get(job_id)
    had_ms = None if record is None else record.job.template.time_limit_ms
    refusal = _refusal(record, now_ms, limit_ms)
    if record is None or had_ms is None or refusal is not None:
        return Extension(job_id, refusal or Answer.NO_LIMIT, limit_ms, had_ms)
    before = decide(snapshot, policy, now_ms, plugins)
    if any(eviction.job == job_id for eviction in before.evictions):
        return Extension(job_id, Answer.EVICTED, limit_ms, had_ms, faults=before.faults)
    obstructions = list(_Obstructions(snapshot, record, before, now_ms).found())
    hourly_micro = _price_micro_per_hour(snapshot, record)
    budget_ms = _longest_within_budget_ms(record, hourly_micro)
    blocking = [one for one in obstructions if one.longest_ms < limit_ms]
    extension = Extension(
        job_id,
        Answer.GRANTED,
        limit_ms,
        had_ms,
        end_ms=max(one.started_ms for one in record.placements) + limit_ms,
        longest_ms=_longest_ms(had_ms, [one.longest_ms for one in obstructions], budget_ms),
        cost_micro=-(-hourly_micro * (limit_ms - had_ms) // _HOUR_MS),
        in_the_way=tuple(one.entry for one in blocking),
        faults=before.faults,
    )
    if blocking:
        return replace(extension, answer=Answer.IN_THE_WAY)
    if budget_ms is not None and limit_ms > budget_ms:
        return replace(extension, answer=Answer.OVER_BUDGET)
    after = decide(_with_limit(snapshot, record, limit_ms), policy, now_ms, plugins)
    return replace(extension, moved=tuple(_moved(before, after, now_ms)))


def _refusal(record: JobRecord | None, now_ms: int, limit_ms: int) -> Answer | None:
    """What needs no look at the calendar."""
    if record is None:
        return Answer.UNKNOWN_JOB
    if not record.placements:
        return Answer.NOT_RUNNING
    had_ms = record.job.template.time_limit_ms
    if had_ms is None:
        return Answer.NO_LIMIT
    ran_ms = now_ms - min(placement.started_ms for placement in record.placements)
    if ran_ms >= had_ms:
        return Answer.LIMIT_PASSED
    if ran_ms >= limit_ms:
        return Answer.ALREADY_RAN
    return Answer.NOT_LONGER if limit_ms <= had_ms else None


def _longest_ms(had_ms: int, obstructed_ms: list[int], budget_ms: int | None) -> int | None:
    found = [*obstructed_ms, *([] if budget_ms is None else [budget_ms])]
    return max(had_ms, min(found)) if found else None


# -- what is in the way


@dataclass(frozen=True, eq=False)
class _Obstruction:
    entry: InTheWay
    longest_ms: int
    """The limit with which the job would be gone by then."""


@dataclass(frozen=True, eq=False)
class _Post:
    """What the job holds of one node, and since when."""

    started_ms: int
    rows: NDArray[np.int64]
    devices: tuple[int, ...]


class _Obstructions:
    """Entries of the calendar that would find too little on the job's nodes if it never ended."""

    def __init__(self, snapshot: Snapshot, record: JobRecord, plan: Plan, now_ms: int) -> None:
        self._snapshot = snapshot
        self._account = record.job.template.reservation
        self._had_ms = limit_of(record.job.template)
        self._plan = plan
        self._posts = _posts(snapshot, record)
        endless = _with_limit(snapshot, record, None)
        self._agenda = Agenda(endless, Board(endless), now_ms)
        evicted = {(one.job, one.rank) for one in plan.evictions}
        # Nobody asks who minds it.
        self._agenda.lines.set_running(running_without(evicted, endless, lambda _: NO_FOOTPRINT))
        for planned in plan.starts:
            if planned.promised:
                promise = Promise(planned.start_ms, planned.placements)
                self._agenda.lines.add_promise(replace(snapshot.jobs[planned.job], promise=promise))

    def found(self) -> list[_Obstruction]:
        found = [*self._announced(), *self._promised(), *self._own_reservation()]
        return sorted(found, key=lambda one: (one.entry.start_ms, one.entry.name))

    def _announced(self) -> Iterator[_Obstruction]:
        for entry in fixed_entries(self._snapshot):
            if entry.account in (None, self._account):
                at = set(entry.positions.tolist())
                is_maintenance = isinstance(entry.reason, MaintenanceAhead)
                obstacle = Obstacle.MAINTENANCE if is_maintenance else Obstacle.RESERVATION
                yield from self._obstructed(obstacle, entry.name, at, entry.start_ms, entry.end_ms)

    def _promised(self) -> Iterator[_Obstruction]:
        position = self._snapshot.nodes.position
        for planned in self._plan.starts:
            if planned.promised:
                at = {position[one.node] for one in planned.placements if one.node in position}
                end_ms = planned.start_ms + limit_of(self._snapshot.jobs[planned.job].job.template)
                yield from self._obstructed(Obstacle.PROMISE, planned.job, at, planned.start_ms, end_ms)

    def _own_reservation(self) -> Iterator[_Obstruction]:
        for one in self._snapshot.calendar.reservations:
            if self._account != EVERYBODY and one.name == self._account:
                limits = {at: one.end_ms - post.started_ms for at, post in self._posts.items()}
                yield self._obstruction(Obstacle.RESERVATION_ENDS, one.name, one.end_ms, limits)

    def _obstructed(
        self, obstacle: Obstacle, name: str, positions: set[int], start_ms: int, end_ms: int
    ) -> Iterator[_Obstruction]:
        limits = {}
        for at in sorted(positions & self._posts.keys()):
            post = self._posts[at]
            # Until its limit it may be there; what begins before has been promised beside it.
            moment_ms = max(start_ms, post.started_ms + self._had_ms)
            if moment_ms < end_ms and self._is_too_much(at, moment_ms):
                limits[at] = moment_ms - post.started_ms
        if limits:
            yield self._obstruction(obstacle, name, start_ms, limits)

    def _is_too_much(self, at: int, moment_ms: int) -> bool:
        room = self._agenda.room_beside_fixed(self._account, moment_ms, moment_ms + 1)
        post = self._posts[at]
        devices = room.gpu_free[at, list(post.devices)]
        return bool((room.free[post.rows, at] < 0).any() or (devices < 0).any())

    def _obstruction(
        self, obstacle: Obstacle, name: str, start_ms: int, limits: dict[int, int]
    ) -> _Obstruction:
        names = self._snapshot.nodes.names
        entry = InTheWay(obstacle, name, start_ms, tuple(names[at] for at in sorted(limits)))
        return _Obstruction(entry, min(limits.values()))


def _posts(snapshot: Snapshot, record: JobRecord) -> dict[int, _Post]:
    posts: dict[int, _Post] = {}
    for position, held, started_ms in _held(snapshot, record):
        known = posts.get(position)
        rows = np.flatnonzero(held.demand.take)
        if known is not None:
            rows = np.union1d(rows, known.rows)
            started_ms = min(started_ms, known.started_ms)
        devices = held.devices if known is None else known.devices + held.devices
        posts[position] = _Post(started_ms, rows, devices)
    return posts


def _held(snapshot: Snapshot, record: JobRecord) -> Iterator[tuple[int, Holding, int]]:
    """Of each of its tasks on nodes that exist."""
    job, nodes = record.job, snapshot.nodes
    for placement in record.placements:
        if placement.node in nodes.position:
            position = nodes.position[placement.node]
            demand = snapshot.demand(job.template.groups[job.group_of(placement.rank)].spec)
            yield position, Holding(position, demand, placement.gpu_devices), placement.started_ms


# -- what it costs


def _price_micro_per_hour(snapshot: Snapshot, record: JobRecord) -> int:
    return sum(
        int(task_price_micro(held.demand, snapshot.nodes)[position])
        for position, held, _ in _held(snapshot, record)
    )


def _longest_within_budget_ms(record: JobRecord, hourly_micro: int) -> int | None:
    budget_micro = record.job.template.max_cost_micro
    if budget_micro is None or not hourly_micro:
        return None
    return budget_micro * _HOUR_MS // hourly_micro


# -- whose starts would move


def _with_limit(snapshot: Snapshot, record: JobRecord, limit_ms: int | None) -> Snapshot:
    """The same, but for the time limit of one job."""
    job = replace(record.job, template=replace(record.job.template, time_limit_ms=limit_ms))
    jobs = with_records(snapshot.jobs, [replace(record, job=job)])
    tasks = [
        dataclasses.replace(task, job=job) if task.job.id == job.id else task
        for task in snapshot.running.tasks
    ]
    waiting = snapshot.waiting
    if next(record.waiting_ranks(), None) is not None:
        anew = WaitingJobs()
        for one in jobs.values():
            anew.add(one)
        waiting = anew.frozen()
    running = build_running(tasks, snapshot.nodes.position)
    return dataclasses.replace(snapshot, running=running, waiting=waiting, jobs=jobs)


def _moved(before: Plan, after: Plan, now_ms: int) -> Iterator[MovedStart]:
    """What is promised stays: only planned starts are compared."""
    starts_after = _starts(after, now_ms)
    for job_id, from_ms in sorted(_starts(before, now_ms).items(), key=lambda one: (one[1], one[0])):
        to_ms = starts_after.get(job_id)
        if to_ms != from_ms:
            yield MovedStart(job_id, from_ms, to_ms)


def _starts(plan: Plan, now_ms: int) -> dict[JobId, int]:
    planned = {one.job: one.start_ms for one in plan.starts if not one.promised}
    return planned | {binding.job: now_ms for binding in plan.bindings}
