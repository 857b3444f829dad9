"""The most that a user, a project or a queue may hold at once, by the limits of the policy; and how many jobs
of an array may run at once, by what its owner said.

Unlike quotas these lend and borrow nothing: what is over a limit waits, however idle the cluster is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from rota.limits.applying import Account, Origin, accounts, amount_accounts
from rota.limits.checking import owner_of
from rota.model.job import ArrayLimit, JobTemplate
from rota.model.limits import Limits, LimitsPolicy
from rota.model.reasons import ArrayLimitReached, BeyondLimit, LimitReached
from rota.snapshot.arrays import Int64s
from rota.snapshot.state import Snapshot

Answer: TypeAlias = tuple[int, BeyondLimit | LimitReached | None]
"""How many may start, and what limits it."""
JobsAnswer: TypeAlias = tuple[int, BeyondLimit | LimitReached | ArrayLimitReached | None]
"""The same, where jobs are counted."""


class Caps:
    def __init__(self, snapshot: Snapshot, limits: LimitsPolicy) -> None:
        self._limits = limits
        self._row: Mapping[str, int] = snapshot.nodes.index.row
        entries = [limits.default, *(one for _, one in (*limits.users, *limits.projects, *limits.queues))]
        self.of_amounts = any(entry.at_once for entry in entries)
        self._of_owners = any(entry.running_jobs is not None for entry in entries)
        limited = any(lane.key.template.array_limit is not None for lane in snapshot.waiting.lanes())
        self.of_jobs = self._of_owners or limited
        self.by_user = any(map(_holds, [limits.default, *(one for _, one in limits.users)]))
        self._resources = {resource for entry in entries for resource, _ in entry.at_once}
        self._held: Counter[tuple[Origin, str]] = Counter()
        self._jobs: Counter[Origin] = Counter()
        self._of_arrays: Counter[ArrayLimit] = Counter()
        self._count_running(snapshot)

    @property
    def any(self) -> bool:
        return self.of_amounts or self.of_jobs

    @property
    def rows(self) -> list[int]:
        """Rows of the resources that are limited, of those that there are."""
        return [self._row[resource] for resource in sorted(self._resources) if resource in self._row]

    def held_by(self, origin: Origin, resource: str) -> int:
        return self._held[origin, resource]

    def jobs_of(self, origin: Origin) -> int:
        return self._jobs[origin]

    # -- amounts

    def charge(self, template: JobTemplate, amounts: Int64s, count: int = 1) -> None:
        """`count` tasks get `amounts` each; negative: they give it back."""
        for account in self._amount_accounts(template):
            for resource in account.limit:
                self._held[account.origin, resource] += count * self._asked(amounts, resource)

    def ask(self, template: JobTemplate, amounts: Int64s, count: int) -> Answer:
        """Of `count` tasks that ask for `amounts` each, how many may start, and what limits it."""
        allowed, reason = count, None
        for account in self._amount_accounts(template):
            for resource, most in account.limit.items():
                asked = self._asked(amounts, resource)
                if not asked:
                    continue
                fitting = max(0, most - self._held[account.origin, resource]) // asked
                if fitting < allowed:
                    allowed = fitting
                    kind = BeyondLimit if asked > most else LimitReached
                    scope, name = account.origin
                    reason = kind(scope.value, name, resource, asked, most)
        return allowed, reason

    def _amount_accounts(self, template: JobTemplate) -> tuple[Account, ...]:
        return amount_accounts(self._limits, owner_of(template)) if self.of_amounts else ()

    def _asked(self, amounts: Int64s, resource: str) -> int:
        row = self._row.get(resource)
        return 0 if row is None else int(amounts[row])

    # -- jobs

    def started(self, template: JobTemplate, count: int = 1) -> None:
        """So many jobs, of which none had a task before."""
        for account in self._job_accounts(template):
            self._jobs[account.origin] += count
        if template.array_limit is not None:
            self._of_arrays[template.array_limit] += count

    def ask_jobs(self, template: JobTemplate, count: int = 1) -> JobsAnswer:
        """Of `count` jobs that have no task yet, how many may start, and what limits it."""
        allowed, reason = self._ask_array(template, count)
        for account in self._job_accounts(template):
            left = max(0, account.limit - self._jobs[account.origin])
            if left < allowed:
                allowed = left
                kind = LimitReached if account.limit else BeyondLimit
                scope, name = account.origin
                reason = kind(scope.value, name, "", 1, account.limit)
        return allowed, reason

    def _ask_array(self, template: JobTemplate, count: int) -> JobsAnswer:
        limit = template.array_limit
        if limit is None:
            return count, None
        left = max(0, limit.at_once - self._of_arrays[limit])
        return (count, None) if left >= count else (left, ArrayLimitReached(limit.array, limit.at_once))

    def _job_accounts(self, template: JobTemplate) -> tuple[Account, ...]:
        return accounts(self._limits, owner_of(template), "running_jobs") if self._of_owners else ()

    def _count_running(self, snapshot: Snapshot) -> None:
        running = snapshot.running
        if self.of_jobs:
            owners = Counter(job.template for job in running.jobs)
            for template, count in owners.items():
                self.started(template, count)
        if self.of_amounts:
            counts = np.bincount(running.spec, minlength=len(running.kinds))
            for (template, group), count in zip(running.kinds, counts.tolist(), strict=True):
                self.charge(template, snapshot.demand(template.groups[group].spec).take, count)


def _holds(entry: Limits) -> bool:
    return bool(entry.at_once) or entry.running_jobs is not None
