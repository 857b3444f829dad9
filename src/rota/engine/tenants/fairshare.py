"""How much of the cluster each tenant has had lately, against what it is due.

A tenant's share is that of its dominant resource (Ghodsi et al., NSDI 2011): of every resource the
fraction held, and of those the largest, divided by its weight. Held is what runs now plus what was
used before, as an average that fades with a half-life. Projects are compared with projects, users
with the other users of their project.
"""

from __future__ import annotations

from math import ldexp, log, sqrt

import numpy as np

from rota.model.job import JobTemplate
from rota.model.policy import FairShare
from rota.snapshot import rows
from rota.snapshot.arrays import Floats, Int64s
from rota.snapshot.rows import is_amount
from rota.snapshot.state import Snapshot

Path = tuple[str, ...]

_NOT_SHARED = (rows.SLOTS, rows.SHARES, rows.GPU_IDLE, rows.GPU_BEST)
_HALVING_BITS = 24


def fade(elapsed_ms: int, half_life_ms: int) -> float:
    """2 ** -(elapsed / half-life), from operations that are correctly rounded everywhere, so that
    every machine gets the same double (a library's `pow` may differ in the last bit)."""
    if elapsed_ms <= 0:
        return 1.0
    halvings, rest = divmod(elapsed_ms, half_life_ms)
    factor, root = 1.0, 0.5
    for _ in range(_HALVING_BITS):
        root = sqrt(root)
        rest *= 2
        if rest >= half_life_ms:
            rest -= half_life_ms
            factor *= root
    return ldexp(factor, -min(halvings, 1000))


def shared_rows(snapshot: Snapshot) -> Int64s:
    """Rows that count as resources of the cluster: not slots, nor what is derived, nor ports."""
    names = snapshot.nodes.index.names
    return np.array([row for row, name in enumerate(names) if row not in _NOT_SHARED and is_amount(name)])


class Shares:
    def __init__(self, snapshot: Snapshot, policy: FairShare, now_ms: int) -> None:
        self._rows = shared_rows(snapshot)
        existing = snapshot.nodes.capacity[:, snapshot.nodes.exists]
        total = existing.sum(axis=1)[self._rows].astype(np.float64)
        self._fraction = np.zeros_like(total)
        np.divide(1.0, total, out=self._fraction, where=total > 0)
        self._weight = {tuple(tenant.path.split("/")): tenant.weight for tenant in policy.tenants}
        self._held: dict[Path, Int64s] = {}
        self._past: dict[Path, Floats] = {}
        self._share: dict[Path, float] = {}
        self._noted: list[tuple[JobTemplate, Int64s, int]] = []
        self.epoch = 0
        """Grows whenever a share has fallen, after which orders built on shares are stale."""
        self._remember(snapshot, policy, now_ms)
        self._uncounted: Snapshot | None = snapshot
        """What runs in it has yet to be counted: most queues never ask for shares."""

    def of(self, path: Path) -> float:
        if self._uncounted is not None:
            self._count_running(self._uncounted)
        if self._noted:
            self._settle()
        share = self._share.get(path)
        if share is None:
            held: Floats = np.zeros(len(self._rows))
            if path in self._held:
                held = held + self._held[path]
            if path in self._past:
                held = held + self._past[path]
            largest = float((held * self._fraction).max(initial=0.0))
            share = self._share[path] = largest / self._weight.get(path, 1)
        return share

    def charge(self, template: JobTemplate, amounts: Int64s, count: int) -> None:
        """`count` tasks of `amounts` (over all rows) are given, or if negative taken away again.
        Only noted until somebody asks."""
        self._noted.append((template, amounts, count))
        if count < 0:
            self.epoch += 1

    def _settle(self) -> None:
        for template, amounts, count in self._noted:
            taken = amounts[self._rows] * count
            for path in _paths(template):
                held = self._held.get(path)
                self._held[path] = taken if held is None else held + taken
                self._share.pop(path, None)
        self._noted.clear()

    def _remember(self, snapshot: Snapshot, policy: FairShare, now_ms: int) -> None:
        row = {name: at for at, name in enumerate(snapshot.nodes.index.names)}
        place = {int(number): at for at, number in enumerate(self._rows)}
        # Amount-seconds over the mean life of the memory give back an average amount.
        mean_life_s = policy.half_life_ms / 1000 / log(2)
        for usage in snapshot.usage:
            factor = fade(now_ms - usage.as_of_ms, policy.half_life_ms) / mean_life_s
            amounts: Floats = np.zeros(len(self._rows))
            for name, amount in usage.amounts:
                if name in row and row[name] in place:
                    amounts[place[row[name]]] = amount * factor
            path = tuple(usage.path.split("/"))
            for prefix in {path, path[:1], user_path(path[-1])} if len(path) > 1 else {path}:
                past = self._past.get(prefix)
                self._past[prefix] = amounts if past is None else past + amounts

    def _count_running(self, snapshot: Snapshot) -> None:
        self._uncounted, running = None, snapshot.running
        counts = np.bincount(running.spec, minlength=len(running.kinds))
        for (template, group), count in zip(running.kinds, counts.tolist(), strict=True):
            self.charge(template, snapshot.demand(template.groups[group].spec).take, count)


def _paths(template: JobTemplate) -> set[Path]:
    return {(template.project,), user_path(template.user), (template.project, template.user)}


def user_path(user: str) -> Path:
    """A user whatever the project: apart from any project that happens to have the same name."""
    return ("", user)
