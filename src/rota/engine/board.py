"""The nodes' free resources while a plan is made: take, give back, and undo to any earlier point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rota.engine.topology import Footprint
from rota.snapshot.demand import Demand
from rota.snapshot.gpu import assign_devices, refresh_gpu_rows
from rota.snapshot.nodes import NodeColumns
from rota.snapshot.state import Snapshot

Int64s = NDArray[np.int64]
Devices = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Move:
    """Tasks of one kind put on nodes (`sign` 1) or taken from them (-1): what undoing needs."""

    positions: Int64s
    demand: Demand
    footprint: Footprint
    devices: tuple[Devices, ...]
    sign: int
    cursor_before: int


class Board:
    """Free resources as columns, with a log of the nodes that changed.

    The log is what keeps cached scores cheap: who has seen it up to some length has only to look
    again at the nodes named after that. Undoing a move is a change too, so caches stay right.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.nodes: NodeColumns = snapshot.nodes
        self.free = snapshot.free.copy()
        self.gpu_free = snapshot.gpu_free.copy()
        self.opened = self.nodes.exists.copy()
        """Nodes that exist, and offered ones that this plan starts."""
        self._tasks_on_offers = np.zeros(len(self.nodes), dtype=np.int64)
        self._has_offers = not bool(self.nodes.exists.all())
        self._log = np.empty(1024, dtype=np.int64)
        self._log_length = 0
        self._moves: list[Move] = []
        self.cursor = _last_started(snapshot)
        """The node that got the last task: where a round robin goes on."""

    # -- the log

    @property
    def log_length(self) -> int:
        return self._log_length

    def changed_since(self, length: int) -> Int64s:
        return self._log[length : self._log_length]

    def _note(self, positions: Int64s) -> None:
        end = self._log_length + len(positions)
        if end > len(self._log):
            grown = np.empty(max(end, 2 * len(self._log)), dtype=np.int64)
            grown[: self._log_length] = self._log[: self._log_length]
            self._log = grown
        self._log[self._log_length : end] = positions
        self._log_length = end

    # -- moves

    def put(self, position: int, demand: Demand, footprint: Footprint) -> Devices:
        """Places one task, and says which devices it got."""
        self.free[:, position] -= demand.take
        devices: Devices = ()
        if demand.uses_gpu:
            devices = assign_devices(self.gpu_free[position], demand.gpu)
            self._use_devices(position, demand, devices, 1)
        if footprint.counters:
            footprint.add(position, 1)
        positions = np.array((position,), dtype=np.int64)
        self._finish(Move(positions, demand, footprint, (devices,), 1, self.cursor))
        self.cursor = position
        return devices

    def put_many(self, positions: Int64s, demand: Demand, footprint: Footprint) -> list[Devices]:
        """Places equal tasks, one for each position given; a position may come up repeatedly."""
        devices: list[Devices] = []
        if demand.uses_gpu:
            for position in positions.tolist():
                self.free[:, position] -= demand.take
                devices.append(assign_devices(self.gpu_free[position], demand.gpu))
                self._use_devices(position, demand, devices[-1], 1)
        else:
            self._shift(positions, demand, -1)
            devices = [()] * len(positions)
        if footprint.counters:
            footprint.add_many(positions, 1)
        self._finish(Move(positions, demand, footprint, tuple(devices), 1, self.cursor))
        if len(positions):
            self.cursor = int(positions[-1])
        return devices

    def lift(self, position: int, demand: Demand, footprint: Footprint, devices: Devices) -> None:
        """Takes a running task away."""
        self.free[:, position] += demand.take
        if demand.uses_gpu:
            self._use_devices(position, demand, devices, -1)
        if footprint.counters:
            footprint.add(position, -1)
        positions = np.array((position,), dtype=np.int64)
        self._finish(Move(positions, demand, footprint, (devices,), -1, self.cursor))

    def put_running(self, position: int, demand: Demand, footprint: Footprint, devices: Devices) -> None:
        """Puts a task back that was taken away, on the devices it had."""
        self.free[:, position] -= demand.take
        if demand.uses_gpu:
            self._use_devices(position, demand, devices, 1)
        if footprint.counters:
            footprint.add(position, 1)
        positions = np.array((position,), dtype=np.int64)
        self._finish(Move(positions, demand, footprint, (devices,), 1, self.cursor))

    def _finish(self, move: Move) -> None:
        self._moves.append(move)
        self._note(move.positions)
        if self._has_offers:
            self._count_offers(move.positions, move.sign)

    def _shift(self, positions: Int64s, demand: Demand, sign: int) -> None:
        at, counts = np.unique(positions, return_counts=True)
        self.free[:, at] += sign * demand.take[:, None] * counts[None, :]

    def _use_devices(self, position: int, demand: Demand, devices: Devices, sign: int) -> None:
        for device in devices:
            self.gpu_free[position, device] -= sign * demand.gpu.share_milli
        refresh_gpu_rows(self.free, self.gpu_free, position)

    def _count_offers(self, positions: Int64s, sign: int) -> None:
        np.add.at(self._tasks_on_offers, positions, sign)
        self.opened[positions] = self.nodes.exists[positions] | (self._tasks_on_offers[positions] > 0)

    # -- trials

    def checkpoint(self) -> int:
        return len(self._moves)

    def rollback(self, checkpoint: int) -> None:
        while len(self._moves) > checkpoint:
            move = self._moves.pop()
            if move.demand.uses_gpu:
                for position, devices in zip(move.positions.tolist(), move.devices, strict=True):
                    self.free[:, position] += move.sign * move.demand.take
                    self._use_devices(position, move.demand, devices, -move.sign)
            else:
                self._shift(move.positions, move.demand, move.sign)
            if move.footprint.counters:
                move.footprint.add_many(move.positions, -move.sign)
            self._note(move.positions)
            self.cursor = move.cursor_before
            if self._has_offers:
                self._count_offers(move.positions, -move.sign)

    def devices_since(self, checkpoint: int) -> list[Devices]:
        """The devices of each task put on the board since then, in order."""
        return [devices for move in self._moves[checkpoint:] for devices in move.devices]

    def overcommitted(self) -> bool:
        """Whether any node holds more than it has, in any row; for tests and assertions."""
        return bool((self.free < 0).any() or (self.gpu_free < 0).any())


def _last_started(snapshot: Snapshot) -> int:
    running = snapshot.running
    return int(running.node[int(np.argmax(running.started_ms))]) if len(running) else -1
