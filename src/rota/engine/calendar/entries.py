"""What is fixed in the calendar: maintenance, reservations, promised starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rota.engine.calendar.durations import limit_ms
from rota.engine.calendar.timeline import Holding, Timeline
from rota.model.calendar import Reservation
from rota.model.ids import NodeName
from rota.model.job import JobRecord
from rota.model.reasons import MaintenanceAhead, RoomReserved
from rota.model.resources import WHOLE_GPU_MILLI
from rota.snapshot import rows
from rota.snapshot.arrays import Int32s, Int64s
from rota.snapshot.demand import named_amounts
from rota.snapshot.nodes import NodeColumns
from rota.snapshot.rows import is_amount
from rota.snapshot.state import Snapshot

EVERYBODY = ""
"""The account of jobs that run in no reservation; a reservation's account has its name."""
GROUND = "\0ground"
"""The account of all of them together: what is there, whoever may have it."""


@dataclass(frozen=True, eq=False)
class Entry:
    """Amounts that are taken in a period from an account, and by what."""

    reason: MaintenanceAhead | RoomReserved
    """What is told to a job that would run into it."""
    name: str
    start_ms: int
    end_ms: int
    positions: Int64s
    amounts: Int64s
    """[row, position]"""
    gpu: Int32s
    """[position, device]"""
    account: str | None = EVERYBODY
    """None: from all accounts."""

    def enter(self, line: Timeline) -> None:
        line.take_rows(self.positions, self.amounts, self.gpu, self.start_ms, self.end_ms)


def fixed_entries(snapshot: Snapshot) -> list[Entry]:
    entries = [*_maintenance(snapshot), *_reservations(snapshot)]
    entries.sort(key=lambda entry: (entry.start_ms, entry.name))
    return entries


def positions_of(nodes: NodeColumns, names: tuple[NodeName, ...]) -> Int64s:
    """Of those that exist; no names: of all."""
    if not names:
        return np.arange(len(nodes), dtype=np.int64)
    return np.array([nodes.position[name] for name in names if name in nodes.position], dtype=np.int64)


def _maintenance(snapshot: Snapshot) -> Iterator[Entry]:
    nodes = snapshot.nodes
    for window in snapshot.calendar.maintenance:
        at = positions_of(nodes, window.nodes)
        amounts = np.zeros((len(nodes.index), len(at)), dtype=np.int64)
        # Every task needs a share of its node.
        amounts[rows.SHARES] = rows.NODE_SHARES
        gpu = np.zeros((len(at), nodes.gpu_capacity.shape[1]), dtype=np.int32)
        reason = MaintenanceAhead(window.name, window.start_ms)
        yield Entry(reason, window.name, window.start_ms, window.end_ms, at, amounts, gpu, None)


def _reservations(snapshot: Snapshot) -> Iterator[Entry]:
    for one in snapshot.calendar.reservations:
        at, amounts, gpu = reserved(snapshot.nodes, one)
        reason = RoomReserved(one.name, one.start_ms)
        yield Entry(reason, one.name, one.start_ms, one.end_ms, at, amounts, gpu)


def reserved(nodes: NodeColumns, reservation: Reservation) -> tuple[Int64s, Int64s, Int32s]:
    """Positions, [row, position] amounts and [position, device] devices of a reservation."""
    at = positions_of(nodes, reservation.nodes) if reservation.nodes else np.empty(0, dtype=np.int64)
    capacity, devices = nodes.capacity[:, at], nodes.gpu_capacity[at].astype(np.int32)
    if reservation.share is None:
        return at, capacity.copy(), devices
    amounts = np.zeros_like(capacity)
    for name, amount in named_amounts(reservation.share).items():
        if name in nodes.index.row:
            amounts[nodes.index.row[name]] = amount
    for column, count in enumerate((devices > 0).sum(axis=1).tolist()):
        devices[column, : max(0, count - reservation.gpus)] = 0
    amounts[rows.GPU_MILLI] = devices.sum(axis=1)
    amounts[rows.GPU_IDLE] = (devices >= WHOLE_GPU_MILLI).sum(axis=1)
    amounts[rows.GPU_BEST] = devices.max(axis=1, initial=0)
    # Neither side may have the node to itself.
    amounts[rows.SHARES] = 1
    return at, amounts, devices


def account_room(nodes: NodeColumns, reservation: Reservation) -> tuple[Int64s, Int32s]:
    """[row, node] and [node, device] what jobs inside a reservation can have in all."""
    at, amounts, devices = reserved(nodes, reservation)
    free = np.zeros_like(nodes.capacity)
    gpu = np.zeros(nodes.gpu_capacity.shape, dtype=np.int32)
    free[:, at], gpu[at] = amounts, devices
    if reservation.share is not None:
        # Slots, ports and volumes aren't divided: they are had as long as the node has them.
        whole = [rows.SLOTS, *(row for row, name in enumerate(nodes.index.names) if not is_amount(name))]
        for row in whole:
            free[row, at] = nodes.capacity[row, at]
        free[rows.SHARES, at] = rows.NODE_SHARES - 1
    return free, gpu


def promised_seats(record: JobRecord, snapshot: Snapshot) -> list[Holding]:
    """What a promised start takes, on nodes that still exist."""
    assert record.promise is not None
    job, position = record.job, snapshot.nodes.position
    return [
        Holding(
            position[placement.node],
            snapshot.demand(job.template.groups[job.group_of(placement.rank)].spec),
            placement.gpu_devices,
        )
        for placement in record.promise.placements
        if placement.node in position
    ]


def promised_end_ms(record: JobRecord, now_ms: int) -> int:
    assert record.promise is not None
    return max(record.promise.start_ms, now_ms) + limit_ms(record.job.template)
