"""What tenants are charged for tasks that have ended, until it is committed."""

from __future__ import annotations

from collections.abc import Iterable

from rota.forecast.usage import Ledger
from rota.lifecycle.charging import charge_for
from rota.model.cluster import TenantUsage
from rota.model.job import JobTemplate
from rota.model.policy import FairShare
from rota.store.writing.batch import Attempt


class Charges:
    def __init__(self, fair_share: FairShare, before: Iterable[TenantUsage] = ()) -> None:
        self.has_changed = False
        """Since the engine was last shown what was charged."""
        self._ledger = Ledger(fair_share, before)
        self._unsaved: set[str] = set()

    def set_fair_share(self, fair_share: FairShare) -> None:
        """What was charged before fades as it says from now on."""
        self._ledger = Ledger(fair_share, self._ledger.usage())

    def usage(self) -> tuple[TenantUsage, ...]:
        return self._ledger.usage()

    def unsaved(self) -> list[TenantUsage]:
        """What was charged since usage was last committed; the next transaction is to hold it."""
        if not self._unsaved:
            return []
        return [usage for usage in self._ledger.usage() if usage.path in self._unsaved]

    def saved(self, usage: Iterable[TenantUsage]) -> None:
        self._unsaved.difference_update(one.path for one in usage)

    def add(self, template: JobTemplate, attempt: Attempt) -> None:
        """Of a job's task that has ended."""
        charge = charge_for(template, attempt.rank, attempt.started_ms, attempt.ended_ms)
        if charge is None:
            return
        self._ledger.stopped(template, charge.task, charge.held_ms, charge.end_ms)
        self._unsaved.add(f"{charge.project}/{charge.user}")
        self.has_changed = True
