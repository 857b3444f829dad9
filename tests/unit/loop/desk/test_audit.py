"""Records that belong to no change wait for the store, and never without bound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from rota.api.audit import Verdict
from rota.control.draft import Draft
from rota.control.errors import Unavailable
from rota.loop.desk import audit
from rota.loop.desk.audit import MOST_AT_ONCE, MOST_WAITING, AuditTrail
from rota.store.audit_record import AuditDetails, AuditRecord
from rota.store.writing.batch import Batch


def a_record(number: int = 0) -> AuditRecord:
    return AuditRecord(number, Verdict.REFUSED, "", "", "10.0.0.1", "", None)


class Kept:
    """What a controller would have kept, or that it can't."""

    def __init__(self) -> None:
        self.batches: list[list[AuditRecord]] = []
        self.is_gone = False

    async def do(self, command: Callable[[Any], None]) -> None:
        if self.is_gone:
            raise Unavailable("the store is gone")
        draft: Any = Draft.__new__(Draft)
        draft.batch, draft.now_ms = Batch(), 7
        command(draft)
        self.batches.append(draft.batch.audit)


def keep(trail: AuditTrail, kept: Kept) -> None:
    asyncio.run(trail.keep(kept))  # type: ignore[arg-type]


def test_many_are_kept_in_few_transactions() -> None:
    trail, kept = AuditTrail(), Kept()
    for number in range(MOST_AT_ONCE + 5):
        trail.add(a_record(number))
    keep(trail, kept)
    assert [len(batch) for batch in kept.batches] == [MOST_AT_ONCE, 5]
    keep(trail, kept)
    assert len(kept.batches) == 2


def test_while_the_store_is_gone_they_wait_and_the_surplus_is_counted() -> None:
    trail, kept = AuditTrail(), Kept()
    kept.is_gone = True
    for number in range(MOST_WAITING + 30):
        trail.add(a_record(number))
    keep(trail, kept)
    assert not kept.batches
    kept.is_gone = False
    keep(trail, kept)
    records = [one for batch in kept.batches for one in batch]
    [lost] = [one for one in records if one.subject == "audit"]
    assert (lost.verdict, lost.details.times) == (Verdict.FAILED, 30)
    assert [one.at_ms for one in records if one is not lost] == list(range(MOST_WAITING))


def test_sources_are_asked_before_each_keeping() -> None:
    trail, kept = AuditTrail(), Kept()
    due = [AuditRecord(1, Verdict.REFUSED, "", "", "", "", None, AuditDetails(times=187))]
    trail.before_keeping(lambda: [due.pop()] if due else [])
    keep(trail, kept)
    keep(trail, kept)
    assert [[one.details.times for one in batch] for batch in kept.batches] == [[187]]
    assert audit.GATHERED_S < 1
