"""The audit log: who did what, and what was refused."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from rota.api.audit import AuditCheckDocument, AuditDocument, Verdict
from rota.api.documents import Page
from rota.api.people import Role
from rota.loop.desk.audit import AuditDesk
from rota.model.quantities import parse_timestamp_ms
from rota.server.documents import moment
from rota.server.http.reading import read_quantity
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, PageQuery, Query, Route
from rota.store.audit_list import AuditFilter
from rota.store.audit_record import StoredAudit

TAG = "audit"
Text = Annotated[str, Meta(max_length=1000)]


class AuditQuery(PageQuery, frozen=True, kw_only=True):
    user: Annotated[Text, Meta(description="Only what this user did.")] | None = None
    token: Annotated[Text, Meta(description="Only with the token of this id.")] | None = None
    address: Annotated[Text, Meta(description="Only from this address.")] | None = None
    verdict: Annotated[Verdict, Meta(description="Only what ended so.")] | None = None
    subject: Annotated[Text, Meta(description="Only about this job, node, token …")] | None = None
    project: Annotated[Text, Meta(description="Only for this project.")] | None = None
    since: Annotated[Text, Meta(description="RFC 3339, or seconds since 1970.")] | None = None
    until: Annotated[Text, Meta(description="RFC 3339, or seconds since 1970.")] | None = None


async def list_audit(call: Call[AuditQuery, None], audit: AuditDesk) -> Reply:
    """The newest first. Operators and admins see all; project-admins what is about their projects. A page may
    hold less than was asked for, and yet not be the last: `next` says so."""
    found, following = await audit.audit(_filter(call), call.query.after, call.query.limit)
    return json_reply(Page[AuditDocument](items=[_document(one) for one in found], next=following))


def _document(stored: StoredAudit) -> AuditDocument:
    record, details = stored.record, stored.record.details
    return AuditDocument(
        seq=stored.seq,
        at=moment(record.at_ms),
        verdict=record.verdict,
        user=record.user,
        token=record.token,
        address=record.address,
        method=details.method,
        route=details.route,
        subject=record.subject,
        project=record.project,
        status=details.status,
        problem=details.problem,
        detail=details.detail,
        request=details.request,
        times=details.times,
        first_event=details.first_event or None,
        events=details.events,
        hash=stored.hash.hex(),
    )


def _filter(call: Call[AuditQuery, None]) -> AuditFilter:
    query, who = call.query, call.who
    projects = who.projects
    if query.project is not None:
        projects = (query.project,) if who.sees(query.project) else ()
    return AuditFilter(
        user=query.user,
        token=query.token,
        address=query.address,
        subject=query.subject,
        verdict=query.verdict,
        projects=projects,
        from_ms=_time(query.since, "since"),
        before_ms=_time(query.until, "until"),
    )


def _time(text: str | None, field: str) -> int | None:
    return None if text is None else read_quantity(field, parse_timestamp_ms, text)


async def check_audit(call: Call[Query, None], audit: AuditDesk) -> Reply:
    """Whether any record was changed, removed or put between others since it was written."""
    check = await audit.check_audit()
    return json_reply(
        AuditCheckDocument(
            records=check.records,
            first=check.first,
            last=check.last,
            head=check.head.hex(),
            broken=check.broken,
        )
    )


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/audit",
        call=list_audit,
        summary="Who did what",
        tag=TAG,
        role=Role.PROJECT_ADMIN,
        query=AuditQuery,
        body=type(None),
        answers={200: Page[AuditDocument]},
    ),
    Route(
        method="GET",
        path="/v1/audit/check",
        call=check_audit,
        summary="Check that the audit log is whole",
        tag=TAG,
        role=Role.OPERATOR,
        query=Query,
        body=type(None),
        answers={200: AuditCheckDocument},
    ),
)
