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
from rota.model.policy import FairShare, TenantLabel
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
    def __init__(
        self, snapshot: Snapshot, policy: FairShare, now_ms: int, labels: tuple[TenantLabel, ...] = ()
    ) -> None:
        """`labels`: by which tenants are told apart, besides by project and user."""
        self._labels = labels
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
            share = self._share[path] = largest / self._weight_of(path)
        return share

    def _weight_of(self, path: Path) -> int:
        """A tenant by a label has that of the entry with the label's value."""
        return self._weight.get(path[2:] if len(path) == _LABEL_STEPS else path, 1)

    def charge(self, template: JobTemplate, amounts: Int64s, count: int) -> None:
        """`count` tasks of `amounts` (over all rows) are given, or if negative taken away again.
        Only noted until somebody asks."""
        self._noted.append((template, amounts, count))
        if count < 0:
            self.epoch += 1

    def _settle(self) -> None:
        for template, amounts, count in self._noted:
            taken = amounts[self._rows] * count
            for path in _paths(template, self._labels):
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
            for prefix in _remembered(usage.path):
                past = self._past.get(prefix)
                self._past[prefix] = amounts if past is None else past + amounts

    def _count_running(self, snapshot: Snapshot) -> None:
        self._uncounted, running = None, snapshot.running
        counts = np.bincount(running.spec, minlength=len(running.kinds))
        for (template, group), count in zip(running.kinds, counts.tolist(), strict=True):
            self.charge(template, snapshot.demand(template.groups[group].spec).take, count)


def _paths(template: JobTemplate, labels: tuple[TenantLabel, ...]) -> set[Path]:
    own = {(template.project,), user_path(template.user), (template.project, template.user)}
    return own.union(label_path(label, template) for label in labels) if labels else own


def _remembered(text: str) -> set[Path]:
    """The paths that usage counts for."""
    if (label := split_label(text)) is not None:
        return {("", *label)}
    path = tuple(text.split("/"))
    return {path, path[:1], user_path(path[-1])} if len(path) > 1 else {path}


def user_path(user: str) -> Path:
    """A user whatever the project: apart from any project that happens to have the same name."""
    return ("", user)


_LABEL_STEPS = 3
_BETWEEN = " "
"""No project, user or label has a space in its name."""


def label_path(label: TenantLabel, template: JobTemplate) -> Path:
    return ("", label.key, label.value_of(template))


def label_usage(label: TenantLabel, template: JobTemplate) -> str:
    """The path of its usage, apart from that of any project."""
    return f"{label.key}{_BETWEEN}{label.value_of(template)}"


def split_label(path: str) -> tuple[str, str] | None:
    """Key and value, if the path is that of a tenant by a label."""
    key, space, value = path.partition(_BETWEEN)
    return (key, value) if space else None
