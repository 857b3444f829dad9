"""What tenants hold while a plan is made: shares for the order, quotas for the limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress

import numpy as np

from rota.engine.placing.work import Work
from rota.engine.tenants.caps import Caps
from rota.engine.tenants.fairshare import Shares
from rota.engine.tenants.quota import QuotaAnswer, Quotas
from rota.model.job import JobTemplate
from rota.model.limits import LimitsPolicy
from rota.model.policy import FairShare, TenantLabel
from rota.model.reasons import BeyondLimit, BeyondQuota, TenantReason, for_now
from rota.snapshot.arrays import Int64s
from rota.snapshot.state import Snapshot

NO_LIMITS = LimitsPolicy()


class Books:
    def __init__(
        self,
        snapshot: Snapshot,
        policy: FairShare,
        now_ms: int,
        limits: LimitsPolicy = NO_LIMITS,
        labels: tuple[TenantLabel, ...] = (),
    ) -> None:
        self.shares = Shares(snapshot, policy, now_ms, labels)
        self.caps = Caps(snapshot, limits)
        self.quotas = Quotas(snapshot, policy, self.caps)

    def charge(self, template: JobTemplate, amounts: Int64s, count: int) -> None:
        """`count` tasks of the job get `amounts` each; negative: they give it back."""
        self.shares.charge(template, amounts, count)
        if self.quotas.any:
            self.quotas.charge(template, amounts, count)

    def allowed(self, template: JobTemplate, work: Work) -> Work | None:
        """The work, cut down to what the quotas allow; None: they don't allow what is needed."""
        if not self.quotas.any:
            return work
        counts = self._counts(template, work, lambda answer: answer.at_once)
        if counts == work.counts:
            return work
        if sum(counts) < work.needed:
            return None
        return Work(work.signatures, counts, work.needed, work.topology, work.placed_at)

    def may_reclaim(self, template: JobTemplate, work: Work) -> bool:
        """Whether what is needed lies within the tenant's own quota."""
        return sum(self._counts(template, work, lambda answer: answer.with_reclaim)) >= work.needed

    def refusal(self, template: JobTemplate, work: Work) -> TenantReason | None:
        """The quota that stands in the way of what is needed; None: no quota does."""
        if not self.quotas.any:
            return None
        now = _placeable(work) if len(work.counts) > 1 else work
        if self.allowed(template, now) is not None:
            return None
        reason = self.quotas.ask(template, _least_needed(now), 1).reason
        if isinstance(reason, BeyondQuota | BeyondLimit) and now is not work:
            # Groups that only wait for room may yet start in the place of these.
            whole = self.quotas.ask(template, _least_needed(work), 1).reason
            if not isinstance(whole, BeyondQuota | BeyondLimit):
                return for_now(reason)
        return reason

    def singles(self, template: JobTemplate, amounts: Int64s, count: int) -> int:
        """Of so many equal jobs of one task each, how many the limits allow."""
        if not self.caps.any:
            return count
        return min(self.caps.ask(template, amounts, count)[0], self.caps.ask_jobs(template, count)[0])

    def _counts(self, template: JobTemplate, work: Work, of: Callable[[QuotaAnswer], int]) -> tuple[int, ...]:
        """Of each group, how many tasks may start, so that as many do as can: groups that find room
        on nodes come first, and of these the small ones, by whichever limited resource lets most in."""
        if len(work.counts) == 1:
            return self._allotted(template, work, (0,), of)
        hopeful = _hopeful(work)

        def order(row: int) -> list[int]:
            asked = [int(signature.demand.take[row]) for signature in work.signatures]
            return sorted(range(len(asked)), key=lambda group: (not hopeful[group], asked[group]))

        def let_in(counts: tuple[int, ...]) -> tuple[int, int]:
            return sum(compress(counts, hopeful)), sum(counts)

        ways = (self._allotted(template, work, order(row), of) for row in self.quotas.rows)
        return max(ways, key=let_in, default=work.counts)

    def _allotted(
        self, template: JobTemplate, work: Work, order: Sequence[int], of: Callable[[QuotaAnswer], int]
    ) -> tuple[int, ...]:
        """How many tasks of each group may start, if the groups are served in this order."""
        counts = [0] * len(work.counts)
        for group in order:
            take = work.signatures[group].demand.take
            counts[group] = min(work.counts[group], of(self.quotas.ask(template, take, work.counts[group])))
            self.quotas.charge(template, take, counts[group])
        for signature, count in zip(work.signatures, counts, strict=True):
            self.quotas.charge(template, signature.demand.take, -count)
        return tuple(counts)


def _hopeful(work: Work) -> list[bool]:
    """Of each group, whether any node takes a task of it now."""
    return [bool((signature.feasible_scores() >= 0).any()) for signature in work.signatures]


def _placeable(work: Work) -> Work:
    """The work without the groups that no node takes now, if the others are enough."""
    counts = tuple(count * hope for count, hope in zip(work.counts, _hopeful(work), strict=True))
    enough = sum(counts) >= work.needed
    return Work(work.signatures, counts, work.needed, work.topology, work.placed_at) if enough else work


def _least_needed(work: Work) -> Int64s:
    """Of each resource, what the tasks that ask least of it need, if as many as must start do."""
    takes = np.stack([signature.demand.take for signature in work.signatures])
    order = np.argsort(takes, axis=0, kind="stable")
    counts = np.array(work.counts, dtype=np.int64)[order]
    before = np.cumsum(counts, axis=0) - counts
    used = np.clip(work.needed - before, 0, counts)
    total: Int64s = (np.take_along_axis(takes, order, axis=0) * used).sum(axis=0)
    return total
