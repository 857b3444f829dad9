"""Who did what: calls for operators, admins and project-admins."""

from __future__ import annotations

from datetime import datetime

from rota.api.audit import AuditCheckDocument, AuditDocument, Verdict
from rota.api.documents import Page
from rota.sdk.call import Call, get, listed, sent


class AuditCalls:
    """What those who look into the audit log ask."""

    @listed
    def audit(
        self,
        *,
        user: str | None = None,
        token: str | None = None,
        address: str | None = None,
        verdict: Verdict | None = None,
        subject: str | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> Call[Page[AuditDocument]]:
        """Who did what and who was refused what, the newest first."""
        return get(
            "/audit",
            Page[AuditDocument],
            user=user,
            token=token,
            address=address,
            verdict=verdict,
            subject=subject,
            project=project,
            since=since,
            until=until,
            limit=limit,
            after=after,
        )

    @sent
    def check_audit(self) -> Call[AuditCheckDocument]:
        """Whether the audit log is as it was written."""
        return get("/audit/check", AuditCheckDocument)
