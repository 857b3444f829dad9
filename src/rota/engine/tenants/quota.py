"""Quotas: what a tenant may hold, what it lends while idle, and what it takes back.

The tenants of one level that have a quota for a resource form a pool. A tenant may always use its
own nominal amount; beyond that it borrows what others of the pool leave idle and are willing to
lend. When the pool is exhausted by borrowers, an owner that is within its own amount has the right
to take back: who borrows then is evicted (see `preempt.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rota.engine.tenants.caps import Caps
from rota.model.job import JobTemplate
from rota.model.policy import FairShare
from rota.model.reasons import BeyondQuota, QuotaReached, TenantReason
from rota.snapshot.arrays import Int64s
from rota.snapshot.state import Snapshot

Path = tuple[str, ...]


@dataclass(eq=False)
class _Account:
    nominal: int
    borrowable: int | None
    lendable: int
    used: int = 0

    @property
    def lends(self) -> int:
        """What others may have of it now."""
        return min(max(0, self.nominal - self.used), self.lendable)

    @property
    def borrowed(self) -> int:
        return max(0, self.used - self.nominal)


class _Pool:
    """Accounts that lend to each other, and what they lend and owe in all: kept, since it is asked for with
    every job."""

    def __init__(self) -> None:
        self._accounts: dict[Path, _Account] = {}
        self.lends = 0
        self.borrowed = 0
        self.lendable = 0

    def get(self, path: Path) -> _Account | None:
        return self._accounts.get(path)

    def open(self, path: Path, account: _Account) -> None:
        assert not account.used
        if (before := self._accounts.get(path)) is not None:
            self._add(before, -1)
        self._accounts[path] = account
        self._add(account, 1)

    def charge(self, account: _Account, amount: int) -> None:
        self._add(account, -1)
        account.used += amount
        self._add(account, 1)

    def _add(self, account: _Account, sign: int) -> None:
        self.lends += sign * account.lends
        self.borrowed += sign * account.borrowed
        self.lendable += sign * account.lendable


@dataclass(frozen=True)
class QuotaAnswer:
    """How many tasks of a kind may start: at once, and if what was lent is taken back."""

    at_once: int
    with_reclaim: int
    reason: TenantReason | None
    """What limits it; None: nothing."""


class Quotas:
    def __init__(self, snapshot: Snapshot, policy: FairShare, caps: Caps) -> None:
        self._caps = caps
        self._row = snapshot.nodes.index.row
        self._pools: dict[tuple[Path, str], _Pool] = {}
        """(parent, resource) → accounts of the tenants below that parent"""
        for tenant in policy.tenants:
            if tenant.quota is None:
                continue
            path = tuple(tenant.path.split("/"))
            borrowable, lendable = tenant.quota.borrowable, tenant.quota.lendable
            for resource, nominal in tenant.quota.nominal:
                account = _Account(
                    nominal,
                    None if borrowable is None else dict(borrowable).get(resource, 0),
                    nominal if lendable is None else min(nominal, dict(lendable).get(resource, 0)),
                )
                self._pools.setdefault((path[:-1], resource), _Pool()).open(path, account)
        # In a fixed order, so that of two quotas that stand in the way the same one is named.
        self._pools = dict(sorted(self._pools.items()))
        self._below: dict[Path, list[tuple[str, _Pool]]] = {}
        """By parent, what is limited for those below it."""
        for (parent, resource), pool in self._pools.items():
            self._below.setdefault(parent, []).append((resource, pool))
        self._divided = set(self._below)
        """Tenants below which there are quotas, too."""
        if self._pools:
            self._count_running(snapshot)

    @property
    def any(self) -> bool:
        return bool(self._pools) or self._caps.of_amounts

    @property
    def lend(self) -> bool:
        """Whether there are quotas, and not just limits."""
        return bool(self._pools)

    @property
    def rows(self) -> list[int]:
        """Rows of the resources that are limited, of those that there are."""
        pools = dict.fromkeys(self._row[resource] for _, resource in self._pools if resource in self._row)
        return [*pools, *(row for row in self._caps.rows if row not in pools)]

    def charge(self, template: JobTemplate, amounts: Int64s, count: int = 1) -> None:
        for pool, account, asked in self._accounts(template, amounts):
            pool.charge(account, asked * count)
        self._caps.charge(template, amounts, count)

    def ask(self, template: JobTemplate, amounts: Int64s, count: int) -> QuotaAnswer:
        """Of `count` tasks that ask for `amounts` each, how many the quotas allow."""
        at_once = with_reclaim = count
        reason: TenantReason | None = None
        for path, resource, pool in self._pools_of(template):
            asked = self._asked(amounts, resource)
            account = pool.get(path)
            if account is None or not asked:
                continue
            lendable = pool.lends - account.lends
            debt = pool.borrowed - account.borrowed
            own = account.nominal - account.used
            in_pool = max(own, 0) + lendable - debt - account.borrowed
            # What it won't lend was never in the pool.
            in_pool = max(in_pool, own - account.lendable)
            limit = own + (lendable if account.borrowable is None else account.borrowable)
            now = max(0, min(limit, in_pool)) // asked
            reclaimable = max(now, max(0, own) // asked)
            if now < at_once:
                at_once = now
                lent = pool.lendable - account.lendable
                borrowable = lent if account.borrowable is None else min(lent, account.borrowable)
                most = account.nominal + borrowable
                if asked > most:
                    reason = BeyondQuota(path, resource, asked, most)
                else:
                    reason = QuotaReached(path, resource, asked, max(0, min(limit, in_pool)))
            with_reclaim = min(with_reclaim, reclaimable)
        capped, limit_reason = self._caps.ask(template, amounts, count)
        if capped < at_once:
            at_once, reason = capped, limit_reason
        with_reclaim = min(with_reclaim, capped)
        return QuotaAnswer(at_once, with_reclaim, reason)

    def are_one(self, one: JobTemplate, other: JobTemplate) -> bool:
        """Whether both hold from the same account in every pool that both are in."""
        divides_users = (one.project,) in self._divided or self._caps.by_user
        return one.project == other.project and (one.user == other.user or not divides_users)

    def borrows(self, template: JobTemplate, amounts: Int64s) -> bool:
        """Whether its tenant holds more than its own of anything that the task holds."""
        return any(account.borrowed and asked for _, account, asked in self._accounts(template, amounts))

    def _asked(self, amounts: Int64s, resource: str) -> int:
        row = self._row.get(resource)
        return 0 if row is None else int(amounts[row])

    def _accounts(self, template: JobTemplate, amounts: Int64s) -> list[tuple[_Pool, _Account, int]]:
        found = []
        for path, resource, pool in self._pools_of(template):
            account = pool.get(path)
            if account is not None:
                found.append((pool, account, self._asked(amounts, resource)))
        return found

    def _pools_of(self, template: JobTemplate) -> Iterator[tuple[Path, str, _Pool]]:
        """Those that the job's tenants may have accounts in, and under which name."""
        for parent, path in (
            ((), (template.project,)),
            ((template.project,), (template.project, template.user)),
        ):
            for resource, pool in self._below.get(parent, ()):
                yield path, resource, pool

    def _count_running(self, snapshot: Snapshot) -> None:
        running = snapshot.running
        counts = np.bincount(running.spec, minlength=len(running.kinds))
        for (template, group), count in zip(running.kinds, counts.tolist(), strict=True):
            for pool, account, asked in self._accounts(
                template, snapshot.demand(template.groups[group].spec).take
            ):
                pool.charge(account, asked * count)
