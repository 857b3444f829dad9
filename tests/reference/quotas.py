"""Quotas, counted by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rota.model.job import JobTemplate
from rota.model.policy import Policy
from tests.reference.world import World, amounts

Usage = Mapping[tuple[str, str], int]
"""(tenant path, resource) → amount"""


@dataclass(frozen=True)
class Account:
    path: str
    resource: str
    nominal: int
    borrowable: int | None
    lendable: int

    def borrowed(self, used: Usage) -> int:
        return max(0, used.get((self.path, self.resource), 0) - self.nominal)

    def lent_at_most(self, used: Usage) -> int:
        idle = max(0, self.nominal - used.get((self.path, self.resource), 0))
        return min(idle, self.lendable)


def accounts(policy: Policy) -> dict[tuple[str, str], list[Account]]:
    """Accounts that lend to each other: the tenants below one parent, for one resource."""
    pools: dict[tuple[str, str], list[Account]] = {}
    for tenant in policy.fair_share.tenants:
        if tenant.quota is None:
            continue
        parent = tenant.path.rpartition("/")[0]
        for resource, nominal in tenant.quota.nominal:
            borrowable, lendable = tenant.quota.borrowable, tenant.quota.lendable
            account = Account(
                tenant.path,
                resource,
                nominal,
                None if borrowable is None else dict(borrowable).get(resource, 0),
                nominal if lendable is None else min(nominal, dict(lendable).get(resource, 0)),
            )
            pools.setdefault((parent, resource), []).append(account)
    return pools


def tenants(template: JobTemplate) -> tuple[str, str]:
    return template.project, f"{template.project}/{template.user}"


def usage(world: World) -> dict[tuple[str, str], int]:
    used: dict[tuple[str, str], int] = {}
    for task in world.tasks():
        for path in tenants(task.job.template):
            for resource, amount in amounts(task.spec).items():
                used[path, resource] = used.get((path, resource), 0) + amount
    return used


def excess(policy: Policy, used: Usage) -> dict[str, int]:
    """By how much which limits are exceeded."""
    found: dict[str, int] = {}
    for (parent, resource), pool in accounts(policy).items():
        for account in pool:
            if account.borrowable is not None:
                found[f"{account.path} borrows {resource}"] = account.borrowed(used) - account.borrowable
        borrowed = sum(one.borrowed(used) for one in pool)
        lent = sum(one.lent_at_most(used) for one in pool)
        found[f"tenants of '{parent}' borrow {resource}"] = borrowed - lent
    return {limit: amount for limit, amount in found.items() if amount > 0}


def broken(policy: Policy, before: Usage, after: Usage) -> list[str]:
    """Limits that are exceeded, and weren't as much before."""
    known = excess(policy, before)
    return [limit for limit, amount in excess(policy, after).items() if amount > known.get(limit, 0)]


def borrows(policy: Policy, used: Usage, template: JobTemplate) -> bool:
    """Whether a tenant that the job is of holds more than its own of anything."""
    mine = [account for pool in accounts(policy).values() for account in pool]
    return any(account.borrowed(used) for account in mine if account.path in tenants(template))
