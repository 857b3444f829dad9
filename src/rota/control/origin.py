"""The call that a change comes from: found by context, so that whatever it changes is recorded with it.

The server notes here who calls and from where; the controller writes the record in the transaction of the
change. What is started by a call and goes on after its answer is no longer of that call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from rota.api.audit import Verdict
from rota.store.audit_record import AuditDetails, AuditRecord
from rota.store.writing.batch import Batch


@dataclass(slots=True, eq=False)
class Origin:
    request: str = ""
    """The id that the answer carries."""
    address: str = ""
    method: str = ""
    route: str = ""
    user: str = ""
    token: str = ""
    subject: str = ""
    project: str | None = None
    problem: str = ""
    """What was wrong with the call, once that is known."""
    detail: str = ""
    changes: bool = False
    """It is meant to change something, and is no dry run."""
    reads_others: bool = False
    """Somebody reads what another one's job wrote, as operators may."""
    done_status: int = 0
    """What is answered once the change is kept."""
    is_recorded: bool = False
    is_over: bool = False

    def record(self, at_ms: int, verdict: Verdict, status: int, times: int = 1) -> AuditRecord:
        return self._record(
            at_ms,
            verdict,
            self.user,
            self.subject,
            self.project,
            AuditDetails(self.method, self.route, status, self.problem, self.detail, self.request, times),
        )

    def record_of(self, batch: Batch, at_ms: int, first_event: int) -> AuditRecord | None:
        """Of a change that is about to be kept; None: it is none, or the call has its record already.
        `first_event`: how many events of others are kept before these."""
        if self.is_recorded or self.is_over or not batch.events:
            return None
        event = batch.events[0]
        details = AuditDetails(
            self.method,
            self.route,
            self.done_status,
            request=self.request,
            first_event=first_event,
            events=len(batch.events),
        )
        user, project = self.user or event.by, event.project if self.project is None else self.project
        return self._record(at_ms, Verdict.DONE, user, event.subject, project, details)

    def _record(
        self,
        at_ms: int,
        verdict: Verdict,
        user: str,
        subject: str,
        project: str | None,
        details: AuditDetails,
    ) -> AuditRecord:
        return AuditRecord(at_ms, verdict, user, self.token, self.address, subject, project, details)


_CURRENT: ContextVar[Origin | None] = ContextVar("rota.origin", default=None)


def current() -> Origin | None:
    """None: nobody's call, or one that is answered."""
    origin = _CURRENT.get()
    return None if origin is None or origin.is_over else origin


@contextmanager
def calling(origin: Origin) -> Iterator[None]:
    before = _CURRENT.set(origin)
    try:
        yield
    finally:
        origin.is_over = True
        _CURRENT.reset(before)


def about(project: str) -> None:
    """What a call asks for belongs to this project: its admins are to know, also of a refusal."""
    origin = current()
    if origin is not None:
        origin.project = project


def called_with(token_id: str, user: str) -> None:
    """Whose call it is, as soon as that is known: also if the token turns out not to do."""
    origin = current()
    if origin is not None:
        origin.token, origin.user = token_id, user


def reads_others(project: str) -> None:
    """The caller reads what another user's job wrote."""
    origin = current()
    if origin is not None:
        origin.project, origin.reads_others = project, True
