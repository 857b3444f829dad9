"""What users, projects and queues may hold."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from rota.model.verdict import POLICY, Rule, TypedReason, Unblock, never, not_now

_HELD = (Unblock.TASK_ENDED, *POLICY)


class QuotaReached(TypedReason, frozen=True, tag="quota"):
    rule: ClassVar[Rule] = not_now("quota", *_HELD)
    tenant: tuple[str, ...]
    """A project, or a project and one of its users."""
    resource: str
    asked: int
    left: int = 0


class BeyondQuota(TypedReason, frozen=True, tag="quota beyond"):
    """More than the tenant may ever hold."""

    rule: ClassVar[Rule] = never("quota", *POLICY)
    tenant: tuple[str, ...]
    resource: str
    asked: int
    most: int = 0


class LimitReached(TypedReason, frozen=True, tag="limit"):
    rule: ClassVar[Rule] = not_now("limit", *_HELD)
    scope: str
    """Whose limit it is: of a `user`, a `project` or a `queue`."""
    name: str
    resource: str
    """Empty: running jobs are counted."""
    asked: int
    most: int

    @property
    def is_of_jobs(self) -> bool:
        return not self.resource


class BeyondLimit(TypedReason, frozen=True, tag="limit beyond"):
    """More than may ever be held at once."""

    rule: ClassVar[Rule] = never("limit", *POLICY)
    scope: str
    name: str
    resource: str
    asked: int
    most: int

    @property
    def is_of_jobs(self) -> bool:
        return not self.resource


class ArrayLimitReached(TypedReason, frozen=True, tag="array limit"):
    """As many jobs of its array run as are to run at once."""

    rule: ClassVar[Rule] = not_now("array limit", Unblock.TASK_ENDED)
    array: str
    most: int


TenantReason: TypeAlias = QuotaReached | BeyondQuota | LimitReached | BeyondLimit


def for_now(reason: BeyondQuota | BeyondLimit) -> QuotaReached | LimitReached:
    """The same, where less than all of it may do."""
    match reason:
        case BeyondQuota(tenant, resource, asked, most):
            return QuotaReached(tenant, resource, asked, most)
        case BeyondLimit(scope, name, resource, asked, most):
            return LimitReached(scope, name, resource, asked, most)
