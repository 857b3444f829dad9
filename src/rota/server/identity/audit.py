"""Records the outcome of each call: changes, refusals, failures.

Committed changes have their records already, from the transactor. For the rest it is decided here, after the
answer, whether it gets a record and a line in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Literal

import structlog

from rota.api.audit import Verdict
from rota.control.origin import Origin, current
from rota.server.http.problems import NOT_YOURS, ProblemError, printable
from rota.server.http.repetitions import Repetitions
from rota.store.audit_record import AuditRecord

Reads = Literal["none", "others", "all"]
_NOT_ALLOWED = frozenset(
    (
        HTTPStatus.UNAUTHORIZED,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.MISDIRECTED_REQUEST,
    )
)

_log = structlog.get_logger("rota.audit")


class Auditor:
    """`keep` takes records; None: there is only the log."""

    def __init__(
        self, now_ms: Callable[[], int], keep: Callable[[AuditRecord], None] | None, reads: Reads = "others"
    ) -> None:
        self._now_ms = now_ms
        self._keep = keep
        self._reads = reads
        self._repetitions = Repetitions()

    def answered(self, origin: Origin, status: int) -> None:
        """Once for each call."""
        if origin.is_recorded:
            return
        verdict = self._verdict(origin, status)
        if verdict is None:
            return
        now_ms = self._now_ms()
        if self._is_read(origin) and not origin.changes and verdict is Verdict.DONE:
            self._take(origin.record(now_ms, verdict, status))
            return
        for record in self.due():
            self._take(record)
        if self._repetitions.is_told(origin, verdict, status, now_ms):
            self._take(origin.record(now_ms, verdict, status))
            _tell(origin, verdict, status, 1)

    def due(self) -> Iterator[AuditRecord]:
        """Calls that were only counted and whose minute has ended."""
        now_ms = self._now_ms()
        for one in self._repetitions.due(now_ms):
            _tell(one.origin, one.verdict, one.status, one.times)
            yield one.origin.record(now_ms, one.verdict, one.status, one.times)

    def _verdict(self, origin: Origin, status: int) -> Verdict | None:
        """None: it isn't worth a record."""
        if status in _NOT_ALLOWED or origin.problem == NOT_YOURS:
            return Verdict.REFUSED
        if status < HTTPStatus.BAD_REQUEST and status:
            return Verdict.DONE if origin.changes or self._is_read(origin) else None
        if not origin.changes:
            return None
        return Verdict.REFUSED if HTTPStatus.BAD_REQUEST <= status < 500 else Verdict.FAILED

    def _is_read(self, origin: Origin) -> bool:
        if self._reads == "all":
            return bool(origin.token)
        return self._reads == "others" and origin.reads_others

    def _take(self, record: AuditRecord) -> None:
        if self._keep is not None:
            self._keep(record)


def _tell(origin: Origin, verdict: Verdict, status: int, times: int) -> None:
    if verdict is not Verdict.REFUSED:
        return  # Success has its events, and failures are in the log already.
    about = {
        "user": origin.user or None,
        "token_id": origin.token or None,
        "address": origin.address,
        "method": origin.method,
        "route": origin.route,
        "status": status,
        "problem": origin.problem,
        "request": origin.request,
    }
    if times > 1:
        about["times"] = times
    _log.info("request.refused", **about)


def note_problem(problem: ProblemError) -> None:
    """Why the call under way is refused, or fails."""
    origin = current()
    if origin is not None:
        origin.problem = problem.recorded_as
        origin.detail = printable(problem.detail)
