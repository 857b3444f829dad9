"""The limits of a user as a document: each with its origin and its current use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rota.api.people import LimitEntry, LimitsDocument
from rota.control.allowing import Allowing, counted
from rota.control.memory import Memory
from rota.control.transactor import Transactor
from rota.engine.tenants.caps import Caps
from rota.limits.applying import (
    ASKED_FIELDS,
    COUNTED_FIELDS,
    Account,
    Origin,
    Owner,
    Scope,
    accounts,
    amount_accounts,
    asked_limits,
)
from rota.loop.live.loop import LiveLoop
from rota.model.limits import LimitsPolicy
from rota.snapshot.state import Snapshot
from rota.views.limits import limit_name, limit_text

NO_QUEUE = ""


class LimitsDesk:
    def __init__(self, transactor: Transactor, live: LiveLoop, allowing: Allowing) -> None:
        self._transactor = transactor
        self._live = live
        self._allowing = allowing

    async def limits(self, user: str, project: str, is_exempt: bool) -> LimitsDocument:
        """`is_exempt`: from what the policy says of nobody in particular."""
        return limits_document(
            self._live.policy.limits,
            self._transactor.memory,
            self._allowing,
            self._live.snapshot(),
            self._transactor.now_ms(),
            user=user,
            project=project,
            is_exempt=is_exempt,
        )


def limits_document(
    policy: LimitsPolicy,
    memory: Memory,
    allowing: Allowing,
    snapshot: Snapshot,
    now_ms: int,
    *,
    user: str,
    project: str,
    is_exempt: bool,
) -> LimitsDocument:
    """Of a user in one project, and of every queue that has some."""
    owner = Owner(user, project, NO_QUEUE)
    caps = Caps(snapshot, policy)
    used: dict[str, Callable[[Account], int | None]] = {
        "waiting_jobs": lambda account: counted(memory.waiting, account.origin),
        "running_jobs": lambda account: caps.jobs_of(account.origin),
        "submissions_per_minute": lambda account: account.limit - allowing.submissions_left(account, now_ms),
        "upload_bytes": lambda account: None,
    }

    def entries(owner: Owner, is_exempt: bool) -> Iterator[LimitEntry]:
        for field in ASKED_FIELDS:
            limit = asked_limits(policy, owner, is_exempt).get(field)
            if limit is not None:
                yield _entry(field, limit.value, "job", limit.origins[0])
        for field in COUNTED_FIELDS:
            for account in accounts(policy, owner, field, is_exempt):
                count = used[field](account)
                yield _entry(field, account.limit, account.origin.notation, account.set_by, count)
        for account in amount_accounts(policy, owner):
            for resource, most in account.limit.items():
                held = caps.held_by(account.origin, resource)
                yield _entry(resource, most, account.origin.notation, account.set_by, held)

    of_queues = [
        entry
        for name, _ in policy.queues
        # These name no user, so they are the queue's own.
        for entry in entries(Owner("", "", name), True)
        if entry.set_by == Origin(Scope.QUEUE, name).notation
    ]
    return LimitsDocument(
        user=user, project=project, exempt=is_exempt, limits=[*entries(owner, is_exempt), *of_queues]
    )


def _entry(field: str, value: Any, of: str, set_by: Origin, used: int | None = None) -> LimitEntry:
    return LimitEntry(
        limit=limit_name(field),
        value=limit_text(field, value),
        used=None if used is None else limit_text(field, used),
        of=of,
        set_by=set_by.notation,
    )
