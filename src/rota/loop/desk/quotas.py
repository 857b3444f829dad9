"""Quotas and shares of tenants as documents: what is theirs, and what they hold and have had."""

from __future__ import annotations

from collections import Counter

import numpy as np

from rota.api.people import QuotaEntry, TenantDocument
from rota.control.access import Who
from rota.control.transactor import Transactor
from rota.engine.tenants.fairshare import Shares, split_label
from rota.loop.live.loop import LiveLoop
from rota.model.policy import FairShare, Quota, TenantPolicy
from rota.snapshot.state import Snapshot
from rota.views.amounts import amount_text


class QuotasDesk:
    def __init__(self, transactor: Transactor, live: LiveLoop) -> None:
        self._transactor = transactor
        self._live = live

    async def quotas(self, who: Who) -> list[TenantDocument]:
        """Of the projects that they see."""
        self._transactor.memory.settle_usage()
        tenants = tenant_documents(
            self._live.policy.fair_share, self._live.snapshot(), self._transactor.now_ms()
        )
        return [one for one in tenants if who.sees(one.tenant.partition("/")[0])]


def tenant_documents(policy: FairShare, snapshot: Snapshot, now_ms: int) -> list[TenantDocument]:
    """Those that the policy names, and those that hold or have used anything."""
    stated = {tenant.path: tenant for tenant in policy.tenants}
    held = held_by_tenants(snapshot)
    used = {
        prefix for one in snapshot.usage if split_label(one.path) is None for prefix in _prefixes(one.path)
    }
    paths = sorted({*stated, *used, *(path for path, _ in held)})
    shares = Shares(snapshot, policy, now_ms)
    siblings: Counter[str] = Counter()
    for path in paths:
        siblings[_parent(path)] += _weight(stated.get(path))
    documents = []
    for path in paths:
        tenant = stated.get(path)
        weight = _weight(tenant)
        documents.append(
            TenantDocument(
                tenant=path,
                weight=weight,
                due=round(weight / siblings[_parent(path)], 4) if siblings[_parent(path)] else 0.0,
                # What it has had, whatever its weight: `Shares` divides by that.
                share=round(shares.of(tuple(path.split("/"))) * weight, 4),
                quotas=[] if tenant is None or tenant.quota is None else _entries(path, tenant.quota, held),
            )
        )
    return documents


def held_by_tenants(snapshot: Snapshot) -> Counter[tuple[str, str]]:
    """By tenant and resource."""
    held: Counter[tuple[str, str]] = Counter()
    running = snapshot.running
    counts = np.bincount(running.spec, minlength=len(running.kinds))
    for (template, group), count in zip(running.kinds, counts.tolist(), strict=True):
        take = snapshot.demand(template.groups[group].spec).take
        for row, name in enumerate(snapshot.nodes.index.names):
            if amount := int(take[row]) * count:
                for path in _prefixes(f"{template.project}/{template.user}"):
                    held[path, name] += amount
    return held


def _entries(path: str, quota: Quota, held: Counter[tuple[str, str]]) -> list[QuotaEntry]:
    borrowable = None if quota.borrowable is None else dict(quota.borrowable)
    lendable = None if quota.lendable is None else dict(quota.lendable)
    return [
        QuotaEntry(
            resource=resource,
            quota=amount_text(resource, nominal),
            held=amount_text(resource, held[path, resource]),
            borrowable=None if borrowable is None else amount_text(resource, borrowable.get(resource, 0)),
            lendable=amount_text(
                resource, nominal if lendable is None else min(nominal, lendable.get(resource, 0))
            ),
        )
        for resource, nominal in quota.nominal
    ]


def _prefixes(path: str) -> tuple[str, ...]:
    project, slash, _ = path.partition("/")
    return (project, path) if slash else (project,)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _weight(tenant: TenantPolicy | None) -> int:
    return 1 if tenant is None else tenant.weight
