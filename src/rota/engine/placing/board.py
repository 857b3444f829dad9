"""The nodes' free resources while a plan is made: take, give back, and undo to any earlier point."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rota.engine.placing.topology import Footprint
from rota.snapshot import rows
from rota.snapshot.arrays import Int32s, Int64s
from rota.snapshot.demand import Demand
from rota.snapshot.gpu import assign_devices, refresh_all_gpu_rows, refresh_gpu_rows
from rota.snapshot.nodes import NodeColumns
from rota.snapshot.state import Snapshot

Devices = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Room:
    """Amounts of every node."""

    free: Int64s
    """[row, node]"""
    gpu_free: Int32s
    """[node, device]"""


class PositionLog:
    """Positions in the order in which something happened to them; readers remember how far they read."""

    def __init__(self) -> None:
        self._entries = np.empty(1024, dtype=np.int64)
        self.length = 0

    def add(self, position: int) -> None:
        if self.length == len(self._entries):
            self._grow(self.length + 1)
        self._entries[self.length] = position
        self.length += 1

    def add_many(self, positions: Int64s) -> None:
        end = self.length + len(positions)
        if end > len(self._entries):
            self._grow(end)
        self._entries[self.length : end] = positions
        self.length = end

    def since(self, length: int) -> Int64s:
        return self._entries[length : self.length]

    def _grow(self, least: int) -> None:
        grown = np.empty(max(least, 2 * len(self._entries)), dtype=np.int64)
        grown[: self.length] = self._entries[: self.length]
        self._entries = grown


class ShareColumn:
    """A weighted sum of every node's free shares, kept up to date placement by placement.

    This is what makes scores cheap: the part of a score that changes is the same for all kinds of
    tasks that weigh the same resources, and a placement changes it for one node only.
    """

    def __init__(self, weights: tuple[int, ...], opened_bonus: int, values: Int64s) -> None:
        self.weights = weights
        self.opened_bonus = opened_bonus
        self.values = values


class Move(NamedTuple):
    """Tasks of one kind put on nodes (`sign` 1) or taken from them (-1): what undoing needs."""

    positions: int | Int64s
    demand: Demand
    footprint: Footprint
    devices: tuple[Devices, ...]
    sign: int
    cursor_before: int


class Board:
    """Free resources as columns.

    `shares` are the free resources in millionths of the node, as whole numbers from which every
    task takes a whole number: so scores are sums of integers, exactly linear in the tasks placed,
    and equal on every machine.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.nodes: NodeColumns = snapshot.nodes
        self.free = snapshot.free.copy()
        self.gpu_free = snapshot.gpu_free.copy()
        self.shares = np.stack(
            [(self.free[row] * self.nodes.ppm[row]).astype(np.int64) for row in rows.SHARED]
        )
        self.opened = self.nodes.exists.copy()
        """Nodes that exist, and offered ones that this plan starts."""
        self.has_offers = not bool(self.nodes.exists.all())
        self.changed = PositionLog()
        """Every node of every move and of every undone move."""
        self.freed = PositionLog()
        """Nodes that have more room than they had before."""
        self.cursor = _last_started(snapshot)
        """The node that got the last task: where a round robin goes on."""
        self.scratch = np.empty(len(self.nodes), dtype=np.int64)
        """Where signatures add up their scores: one for all, since it stays in the cache."""
        self._ppm = self.nodes.ppm[list(rows.SHARED)]
        self._tasks_on_offers = np.zeros(len(self.nodes), dtype=np.int64)
        self._columns: dict[tuple[tuple[int, ...], int], ShareColumn] = {}
        self._column_list: list[ShareColumn] = []
        self._moves: list[Move] = []

    def column(self, weights: tuple[int, ...], opened_bonus: int) -> ShareColumn:
        """The weighted sum of shares with these weights, made when first asked for."""
        column = self._columns.get((weights, opened_bonus))
        if column is None:
            values = np.tensordot(np.array(weights, dtype=np.int64), self.shares, axes=1)
            values = values + np.where(self.opened, opened_bonus, 0)
            column = self._columns[weights, opened_bonus] = ShareColumn(weights, opened_bonus, values)
            self._column_list.append(column)
        return column

    def task_shares(self, demand: Demand, positions: Int64s | None = None) -> Int64s:
        """[shared row, node] what one such task takes of each node, in millionths."""
        ppm = self._ppm if positions is None else self._ppm.take(positions, axis=1)
        taken = np.zeros(ppm.shape, dtype=np.int64)
        for at, amount in demand.shared:
            taken[at] = (amount * ppm[at]).astype(np.int64)
        return taken

    def fits(self, position: int, demand: Demand) -> bool:
        item = self.free.item
        for row, need in demand.asked:  # noqa: SIM110 - the hottest loop: a generator costs twice this
            if item(row, position) < need:
                return False
        return True

    def read_only(self) -> tuple[Int64s, Int32s]:
        """Views of what is free that nobody can write to, for plugins from outside."""
        free, gpu_free = self.free.view(), self.gpu_free.view()
        free.flags.writeable = gpu_free.flags.writeable = False
        return free, gpu_free

    # -- moves

    def put(
        self, position: int, demand: Demand, footprint: Footprint, chosen: Devices | None = None
    ) -> Devices:
        """Places one task, and says which devices it got: those chosen, if somebody did."""
        devices: Devices = ()
        if demand.uses_gpu:
            devices = chosen or assign_devices(self.gpu_free[position], demand.gpu)
        self._move_one(position, demand, footprint, devices, 1)
        self._moves.append(Move(position, demand, footprint, (devices,), 1, self.cursor))
        self.cursor = position
        return devices

    def put_many(self, positions: Int64s, demand: Demand, footprint: Footprint) -> None:
        """Places equal tasks, one for each position given; a position may come up repeatedly."""
        if not len(positions):
            return
        if demand.uses_gpu:
            for position in positions.tolist():
                self.put(position, demand, footprint)
            return
        self._move_many(positions, demand, footprint, 1)
        devices = ((),) * len(positions)
        self._moves.append(Move(positions, demand, footprint, devices, 1, self.cursor))
        self.cursor = int(positions[-1])

    def lift(self, position: int, demand: Demand, footprint: Footprint, devices: Devices) -> None:
        """Takes a running task away."""
        self._move_one(position, demand, footprint, devices, -1)
        self._moves.append(Move(position, demand, footprint, (devices,), -1, self.cursor))

    def put_running(self, position: int, demand: Demand, footprint: Footprint, devices: Devices) -> None:
        """Puts a task back that was taken away, on the devices it had."""
        self._move_one(position, demand, footprint, devices, 1)
        self._moves.append(Move(position, demand, footprint, (devices,), 1, self.cursor))

    def _move_one(
        self, position: int, demand: Demand, footprint: Footprint, devices: Devices, sign: int
    ) -> None:
        if sign > 0:
            self.free[:, position] -= demand.take
        else:
            self.free[:, position] += demand.take
            self.freed.add(position)
        share_of, shares, columns = self._ppm.item, self.shares, self._column_list
        for at, amount in demand.shared:
            moved = sign * int(amount * share_of(at, position))
            shares[at, position] -= moved
            for column in columns:
                if weight := column.weights[at]:
                    column.values[position] -= weight * moved
        if devices:
            for device in devices:
                self.gpu_free[position, device] -= sign * demand.gpu.share_milli
            refresh_gpu_rows(self.free, self.gpu_free, position)
        if footprint.counters:
            footprint.add(position, sign)
        self.changed.add(position)
        if self.has_offers:
            self._count_offers(np.array((position,)), sign)

    def _move_many(self, positions: Int64s, demand: Demand, footprint: Footprint, sign: int) -> None:
        """Like `_move_one` for tasks without devices, all at once."""
        at, counts = np.unique(positions, return_counts=True)
        self.free[:, at] -= sign * demand.take[:, None] * counts
        moved = sign * self.task_shares(demand, at) * counts
        self.shares[:, at] -= moved
        for column in self._column_list:
            column.values[at] -= np.tensordot(np.array(column.weights, dtype=np.int64), moved, axes=1)
        if footprint.counters:
            footprint.add_many(positions, sign)
        self.changed.add_many(at)
        if sign < 0:
            self.freed.add_many(at)
        if self.has_offers:
            self._count_offers(positions, sign)

    def _count_offers(self, positions: Int64s, sign: int) -> None:
        """Opens nodes that got their first task, and closes those that lost their last."""
        np.add.at(self._tasks_on_offers, positions, sign)
        at = np.unique(positions)
        before = self.opened[at]
        after = self.nodes.exists[at] | (self._tasks_on_offers[at] > 0)
        self.opened[at] = after
        change = after.astype(np.int64) - before.astype(np.int64)
        for column in self._column_list:
            column.values[at] += change * column.opened_bonus

    # -- as if there were less, or more

    @contextmanager
    def without(self, kept: Room | None) -> Iterator[None]:
        """Hides amounts from whoever is placed meanwhile; negative ones show more than there is."""
        if kept is None:
            yield
            return
        self._hide(kept, 1)
        try:
            yield
        finally:
            self._hide(kept, -1)

    def _hide(self, kept: Room, sign: int) -> None:
        self.free -= sign * kept.free
        # Nodes with more than there is now are rated by that; those with less are as good as they are.
        shown = np.minimum(kept.free[list(rows.SHARED)], 0)
        if shown.any():
            moved = sign * (shown * self._ppm).astype(np.int64)
            self.shares -= moved
            for column in self._column_list:
                column.values -= np.tensordot(np.array(column.weights, dtype=np.int64), moved, axes=1)
        if self.gpu_free.size:
            self.gpu_free -= sign * kept.gpu_free
            refresh_all_gpu_rows(self.free, self.gpu_free)
        positions = np.flatnonzero(kept.free.any(axis=0) | kept.gpu_free.any(axis=1))
        self.changed.add_many(positions)
        self.freed.add_many(positions)

    # -- trials

    def checkpoint(self) -> int:
        return len(self._moves)

    def rollback(self, checkpoint: int) -> None:
        while len(self._moves) > checkpoint:
            move = self._moves.pop()
            if isinstance(move.positions, int):
                self._move_one(move.positions, move.demand, move.footprint, move.devices[0], -move.sign)
            else:
                self._move_many(move.positions, move.demand, move.footprint, -move.sign)
            self.cursor = move.cursor_before

    def devices_since(self, checkpoint: int) -> list[Devices]:
        """The devices of each task put on the board since then, in order."""
        return [devices for move in self._moves[checkpoint:] for devices in move.devices]


def _last_started(snapshot: Snapshot) -> int:
    running = snapshot.running
    return int(running.node[int(np.argmax(running.started_ms))]) if len(running) else -1
