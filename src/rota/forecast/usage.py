"""What tenants have used, as fair share counts it: amounts × seconds that fade with the half-life.

Running tasks count by themselves, as what their tenant holds; what they used enters here when they stop.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log

from rota.engine.tenants.fairshare import fade, label_usage
from rota.model.cluster import TenantUsage
from rota.model.job import JobTemplate
from rota.model.policy import FairShare, Policy, QueueStrategy, TenantLabel
from rota.model.task import TaskSpec
from rota.snapshot.demand import named_amounts

_SHORT = 64
"""A short time is less than the half-life over this: then either way is right to five digits."""


def counts_usage(policy: Policy) -> bool:
    """Whether any queue goes by what tenants have used."""
    return any(
        queue.strategy is QueueStrategy.FAIR for scheduler in policy.schedulers for queue in scheduler.queues
    )


class Ledger:
    def __init__(
        self, policy: FairShare, before: Iterable[TenantUsage], labels: tuple[TenantLabel, ...] = ()
    ) -> None:
        """`labels`: by which tenants are told apart, besides by project and user."""
        self._labels = labels
        self._half_life_ms = policy.half_life_ms
        self._mean_life_s = policy.half_life_ms / 1000 / log(2)
        self._by_tenant: dict[str, TenantUsage] = {}
        self._amounts: dict[TaskSpec, dict[str, int]] = {}
        for usage in before:
            self._add(usage.path, usage.as_of_ms, dict(usage.amounts))

    def stopped(self, template: JobTemplate, spec: TaskSpec, held_ms: int, now_ms: int) -> list[str]:
        """A task that held what the spec asks for until now. Its first seconds have faded already.

        Answers the paths of those who are charged for it.
        """
        weight_s = self._faded_s(held_ms)
        used = {name: round(amount * weight_s) for name, amount in self._amounts_of(spec).items()}
        paths = [f"{template.project}/{template.user}"]
        paths += [label_usage(label, template) for label in self._labels]
        for path in paths:
            self._add(path, now_ms, dict(used))
        return paths

    def _faded_s(self, held_ms: int) -> float:
        """Seconds that have faded by the end of them: of a short time all as its middle has, since
        the difference of two numbers close to 1 says little."""
        if held_ms * _SHORT < self._half_life_ms:
            return held_ms / 1000 * fade(held_ms // 2, self._half_life_ms)
        return self._mean_life_s * (1 - fade(held_ms, self._half_life_ms))

    def usage(self) -> tuple[TenantUsage, ...]:
        return tuple(self._by_tenant.values())

    def _add(self, path: str, now_ms: int, used: dict[str, int]) -> None:
        before = self._by_tenant.get(path)
        if before is not None:
            if before.as_of_ms > now_ms:
                weight = fade(before.as_of_ms - now_ms, self._half_life_ms)
                used = {name: round(amount * weight) for name, amount in used.items()}
                now_ms = before.as_of_ms
            kept = fade(now_ms - before.as_of_ms, self._half_life_ms)
            for name, amount in before.amounts:
                used[name] = used.get(name, 0) + round(amount * kept)
        self._by_tenant[path] = TenantUsage(path, now_ms, tuple(sorted(used.items())))

    def _amounts_of(self, spec: TaskSpec) -> dict[str, int]:
        amounts = self._amounts.get(spec)
        if amounts is None:
            amounts = named_amounts(spec.requests.plus(spec.overhead))
            if spec.gpu.count:
                amounts["gpu"] = spec.gpu.total_milli
            self._amounts[spec] = amounts
        return amounts
