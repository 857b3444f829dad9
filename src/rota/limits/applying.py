"""Which limits count for whose jobs.

What one job may ask for: the user's entry goes before the project's, field by field. The queue's entry
counts besides: the stricter of the two holds. What none of them mentions is taken from `default`, and what
that doesn't mention from what is built in. Operators and admins are held to no default.

What is counted over many jobs: user, project and queue each have a count of their own, and all of them hold.
`default` is for each user whose entry doesn't mention it.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import Struct

from rota.model.limits import ANYTHING, BUILT_IN, Limits, LimitsPolicy

ASKED_FIELDS = (
    "priority",
    "unpreemptible",
    "exclusive",
    "queues",
    "namespaces",
    "tolerations",
    "node_labels",
    "reservations",
    "time_limit_ms",
    "default_time_limit_ms",
    "log_bytes",
)
COUNTED_FIELDS = ("waiting_jobs", "running_jobs", "submissions_per_minute", "upload_bytes")
"""Besides the amounts of `at_once`."""
_REMEMBERED = 10_000


class Scope(Enum):
    USER = "user"
    PROJECT = "project"
    QUEUE = "queue"
    DEFAULT = "default"
    BUILT_IN = "built in"


class Origin(NamedTuple):
    """Where a limit stands; for a counted one, whose jobs are counted."""

    scope: Scope
    name: str = ""

    @property
    def notation(self) -> str:
        return f"{self.scope.value} {self.name}" if self.name else self.scope.value


class Owner(NamedTuple):
    """Whose job it is, and where it waits."""

    user: str
    project: str
    queue: str


class Set(NamedTuple):
    """A limit that counts: the stricter of several may be made of two."""

    value: Any
    origins: tuple[Origin, ...]


class Asked(Struct, frozen=True):
    """What a job of one owner may ask for, by field; what isn't there isn't limited."""

    fields: dict[str, Set]

    def get(self, field: str) -> Set | None:
        return self.fields.get(field)

    def value(self, field: str) -> Any:
        found = self.fields.get(field)
        return None if found is None else found.value


@lru_cache(_REMEMBERED)
def asked_limits(policy: LimitsPolicy, owner: Owner, is_exempt: bool = False) -> Asked:
    """`is_exempt`: of an operator, whom no default holds."""
    user, project = _entry(policy.users, owner.user), _entry(policy.projects, owner.project)
    queue = _entry(policy.queues, owner.queue)
    found = {}
    for field in ASKED_FIELDS:
        own = _first(
            field,
            (user, Origin(Scope.USER, owner.user)),
            (project, Origin(Scope.PROJECT, owner.project)),
        )
        limit = _stricter(field, own, _first(field, (queue, Origin(Scope.QUEUE, owner.queue))))
        if limit is None and not is_exempt:
            limit = _first(field, (policy.default, Origin(Scope.DEFAULT)), (BUILT_IN, Origin(Scope.BUILT_IN)))
        if limit is not None:
            found[field] = limit
    return Asked(found)


class Account(NamedTuple):
    """Jobs that are counted together, and the most of them."""

    origin: Origin
    """Whose they are."""
    set_by: Origin
    limit: Any


@lru_cache(_REMEMBERED)
def accounts(policy: LimitsPolicy, owner: Owner, field: str, is_exempt: bool = False) -> tuple[Account, ...]:
    """All in which a job of the owner is counted by this field of COUNTED_FIELDS."""
    user, project = Origin(Scope.USER, owner.user), Origin(Scope.PROJECT, owner.project)
    queue = Origin(Scope.QUEUE, owner.queue)
    defaults = (
        () if is_exempt else ((policy.default, Origin(Scope.DEFAULT)), (BUILT_IN, Origin(Scope.BUILT_IN)))
    )
    found = (
        (user, _first(field, (_entry(policy.users, owner.user), user), *defaults)),
        (project, _first(field, (_entry(policy.projects, owner.project), project))),
        (queue, _first(field, (_entry(policy.queues, owner.queue), queue))),
    )
    return tuple(Account(origin, limit.origins[0], limit.value) for origin, limit in found if limit)


@lru_cache(_REMEMBERED)
def amount_accounts(policy: LimitsPolicy, owner: Owner) -> tuple[Account, ...]:
    """The same for `at_once`; `limit` is amounts by resource. Whoever asks for it: a running task is counted
    by its user's name, which doesn't tell the role."""
    user, project = Origin(Scope.USER, owner.user), Origin(Scope.PROJECT, owner.project)
    queue = Origin(Scope.QUEUE, owner.queue)
    named = dict(_entry(policy.users, owner.user).at_once)
    default = {name: most for name, most in policy.default.at_once if name not in named}
    found = (
        (user, user, named),
        (user, Origin(Scope.DEFAULT), default),
        (project, project, dict(_entry(policy.projects, owner.project).at_once)),
        (queue, queue, dict(_entry(policy.queues, owner.queue).at_once)),
    )
    return tuple(Account(origin, set_by, limit) for origin, set_by, limit in found if limit)


def upload_bytes(policy: LimitsPolicy, user: str) -> int | None:
    """What a user's input files may take together; None: the policy says nothing about it."""
    own = _entry(policy.users, user).upload_bytes
    return policy.default.upload_bytes if own is None else own


_NO_LIMITS = Limits()


def _entry(entries: tuple[tuple[str, Limits], ...], name: str) -> Limits:
    return next((limits for known, limits in entries if known == name), _NO_LIMITS)


def _first(field: str, *entries: tuple[Limits, Origin]) -> Set | None:
    for limits, origin in entries:
        value = getattr(limits, field)
        if value is not None:
            return Set(value, (origin,))
    return None


def _stricter(field: str, one: Set | None, other: Set | None) -> Set | None:
    if one is None or other is None:
        return one or other
    if isinstance(one.value, tuple):
        if one.value == other.value or ANYTHING in other.value:
            return one
        if ANYTHING in one.value:
            return other
        return Set(tuple(sorted({*one.value} & {*other.value})), (*one.origins, *other.origins))
    # Of yes and no, no is the stricter one, as of numbers the lower.
    return one if one.value <= other.value else other
