"""Audit records that belong to no change: refusals, failures, reads. They are collected and committed in
batches.

Changes are recorded in their own transactions, by the transactor. What a crash can lose is what was
refused within the last moment.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

import structlog

from rota.api.audit import Verdict
from rota.control.draft import Draft
from rota.control.errors import ControlError
from rota.control.transactor import Transactor
from rota.store.audit_list import ALL_RECORDS, AuditFilter
from rota.store.audit_record import AuditCheck, AuditDetails, AuditRecord, StoredAudit
from rota.store.errors import StoreUnavailable
from rota.store.reading.reader import StoreReader

log = structlog.get_logger()

GATHERED_S = 0.5
"""So that many refusals are one transaction."""
LOOKED_S = 10.0
"""How often sources are asked, while nothing else comes."""
HEAD_S = 3600.0
"""How often the hash of the newest record is logged. A copy of the log elsewhere then shows whether records
were rewritten."""
MOST_WAITING = 10_000
"""Records that wait while the store can't be written: the latest beyond these are counted, and lost."""
MOST_AT_ONCE = 1_000

Source = Callable[[], Iterable[AuditRecord]]


class AuditTrail:
    def __init__(self) -> None:
        self._waiting: deque[AuditRecord] = deque()
        self._lost = 0
        self._sources: list[Source] = []
        self._wake = asyncio.Event()

    def add(self, record: AuditRecord) -> None:
        self._wake.set()
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(record)
        else:
            self._lost += 1

    def before_keeping(self, source: Source) -> None:
        """`source` is asked each time for what is due by then."""
        self._sources.append(source)

    async def run(self, transactor: Transactor) -> None:
        """Until it is cancelled."""
        clock = asyncio.get_running_loop().time
        head_s = clock()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOKED_S):
                    await self._wake.wait()
                await asyncio.sleep(GATHERED_S)
            self._wake.clear()
            await self.keep(transactor)
            if clock() - head_s >= HEAD_S:
                head_s = clock()
                await _tell_head(transactor)

    async def keep(self, transactor: Transactor) -> None:
        """All that waits, unless the store can't be written: then it waits on."""
        for source in self._sources:
            for record in source():
                self.add(record)
        while self._waiting:
            some = [self._waiting[at] for at in range(min(MOST_AT_ONCE, len(self._waiting)))]
            try:
                await transactor.do(_keeping(some, self._lost))
            except ControlError:
                return  # The transactor says why, and the records are still here.
            self._lost = 0
            for _ in some:
                self._waiting.popleft()


class AuditDesk:
    """Who did what, and who was refused what."""

    def __init__(self, store: StoreReader) -> None:
        self._store = store

    async def audit(
        self, audit_filter: AuditFilter, after: str | None, limit: int
    ) -> tuple[Sequence[StoredAudit], str | None]:
        """The newest first, and the cursor of the next page."""
        return await asyncio.to_thread(self._store.audit, audit_filter, after, limit)

    async def check_audit(self) -> AuditCheck:
        """Whether all records follow from each other."""
        return await asyncio.to_thread(self._store.check_audit)


async def _tell_head(transactor: Transactor) -> None:
    try:
        newest, _ = await asyncio.to_thread(transactor.store.audit, ALL_RECORDS, None, 1)
    except StoreUnavailable as error:
        log.warning("audit.unreadable", why=str(error))
        return
    for one in newest:
        log.info("audit.head", seq=one.seq, hash=one.hash.hex())


def _keeping(records: Sequence[AuditRecord], lost: int) -> Callable[[Draft], None]:
    def command(draft: Draft) -> None:
        draft.batch.audit.extend(records)
        if lost:
            log.warning("audit.records_lost", records=lost)
            details = AuditDetails(detail="too many records waited for the database", times=lost)
            draft.batch.audit.append(
                AuditRecord(draft.now_ms, Verdict.FAILED, "", "", "", "audit", None, details)
            )

    return command
