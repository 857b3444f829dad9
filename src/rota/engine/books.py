"""What tenants hold while a plan is made: shares for the order, quotas for the limits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rota.engine.fairshare import Shares
from rota.engine.place import Work
from rota.engine.quota import QuotaAnswer, Quotas
from rota.model.job import JobTemplate
from rota.model.policy import FairShare
from rota.model.verdict import Reason
from rota.snapshot.state import Snapshot

Int64s = NDArray[np.int64]


class Books:
    def __init__(self, snapshot: Snapshot, policy: FairShare, now_ms: int) -> None:
        self.shares = Shares(snapshot, policy, now_ms)
        self.quotas = Quotas(snapshot, policy)

    def charge(self, template: JobTemplate, amounts: Int64s, count: int) -> None:
        """`count` tasks of the job get `amounts` each; negative: they give it back."""
        self.shares.charge(template, amounts, count)
        if self.quotas.any:
            self.quotas.charge(template, amounts, count)

    def allowed(self, template: JobTemplate, work: Work) -> Work | None:
        """The work, cut down to what the quotas allow; None: they don't allow what is needed."""
        if not self.quotas.any:
            return work
        answer = self._ask(template, work)
        if len(work.counts) > 1:
            return work if answer.at_once else None
        if answer.at_once >= work.total:
            return work
        if answer.at_once < work.needed:
            return None
        return Work(work.signatures, (answer.at_once,), work.needed, work.topology, work.placed_at)

    def may_reclaim(self, template: JobTemplate, work: Work) -> bool:
        """Whether what is needed lies within the tenant's own quota."""
        answer = self._ask(template, work)
        return answer.with_reclaim >= (1 if len(work.counts) > 1 else work.needed)

    def refusal(self, template: JobTemplate, work: Work) -> Reason | None:
        """The quota that stands in the way of what is needed."""
        if not self.quotas.any or self.allowed(template, work) is not None:
            return None
        single = len(work.counts) == 1
        amounts = work.signatures[0].demand.take * work.needed if single else _total(work)
        return self.quotas.ask(template, amounts, 1).reason

    def _ask(self, template: JobTemplate, work: Work) -> QuotaAnswer:
        """About tasks one by one, or where they differ about the job as a whole."""
        if len(work.counts) > 1:
            return self.quotas.ask(template, _total(work), 1)
        return self.quotas.ask(template, work.signatures[0].demand.take, work.total)


def _total(work: Work) -> Int64s:
    parts = [
        signature.demand.take * count for signature, count in zip(work.signatures, work.counts, strict=True)
    ]
    total: Int64s = np.sum(parts, axis=0)
    return total
