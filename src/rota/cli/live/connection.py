"""The server that a command asks, as commands see it: the part of `rota.Client` that they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from rota.api.audit import AuditCheckDocument, AuditDocument, Verdict
from rota.api.documents import (
    AgentDocument,
    ChangeDocument,
    EfficiencyDocument,
    EstimateDocument,
    EventDocument,
    InvitationDocument,
    JobDetail,
    JobDocument,
    LimitsDocument,
    MaintenanceDocument,
    MeDocument,
    NodeDocument,
    ProjectDocument,
    QueueDocument,
    ReservationDocument,
    Role,
    SecretDocument,
    Submitted,
    TokenDocument,
)
from rota.api.questions import ExtendAnswer, PlanAnswer, WhyAnswer
from rota.cli.command_list import chosen_context
from rota.lifecycle.state import Phase
from rota.model.calendar import QueueMode
from rota.sdk.job_calls import JobForm, LogChunk


class Server(Protocol):
    def submit(self, *jobs: JobForm, dry_run: bool = False) -> Submitted: ...
    def plan(self, *jobs: JobForm) -> PlanAnswer: ...
    def upload(self, data: bytes) -> str: ...
    def jobs(
        self,
        *,
        project: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        phases: Sequence[Phase] = (),
        name: str | None = None,
        label: str | None = None,
        array: str | None = None,
        submitted_after: datetime | None = None,
        submitted_before: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[JobDocument]: ...
    def job(self, job: str) -> JobDetail: ...
    def cancel(self, job: str, *, message: str = "", dry_run: bool = False) -> ChangeDocument: ...
    def hold(self, job: str, *, dry_run: bool = False) -> ChangeDocument: ...
    def release(self, job: str, *, dry_run: bool = False) -> ChangeDocument: ...
    def extend(self, job: str, time_limit: str, *, dry_run: bool = False) -> ExtendAnswer: ...
    def why(self, job: str) -> WhyAnswer: ...
    def eta(self, job: str) -> EstimateDocument: ...
    def efficiency(self, job: str) -> EfficiencyDocument: ...
    def logs(
        self,
        job: str,
        *,
        ranks: Sequence[int] = (),
        since: datetime | None = None,
        follow: bool = False,
        tail: int | None = None,
    ) -> Iterator[LogChunk]: ...
    def events(
        self,
        *,
        follow: bool = False,
        after: int | None = None,
        last: int | None = None,
        kind: str | None = None,
        subject: str | None = None,
        project: str | None = None,
    ) -> Iterator[EventDocument]: ...

    def audit(
        self,
        *,
        user: str | None = None,
        token: str | None = None,
        address: str | None = None,
        verdict: Verdict | None = None,
        subject: str | None = None,
        project: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int | None = None,
    ) -> Iterator[AuditDocument]: ...
    def check_audit(self) -> AuditCheckDocument: ...
    def sign_out(self, *, dry_run: bool = False) -> ChangeDocument: ...

    def nodes(self) -> Iterator[NodeDocument]: ...
    def node(self, name: str) -> NodeDocument: ...
    def set_node(
        self,
        name: str,
        *,
        cordoned: bool | None = None,
        draining: bool | None = None,
        taints: Sequence[str] | None = None,
        message: str | None = None,
        version: str | None = None,
        dry_run: bool = False,
    ) -> NodeDocument: ...
    def queues(self) -> Iterator[QueueDocument]: ...
    def set_queue(
        self, name: str, state: QueueMode, *, message: str = "", dry_run: bool = False
    ) -> QueueDocument: ...
    def maintenance(self) -> Iterator[MaintenanceDocument]: ...
    def set_maintenance(
        self,
        name: str,
        start: datetime | str,
        *,
        end: datetime | str | None = None,
        lasting: str | None = None,
        nodes: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> MaintenanceDocument: ...
    def remove_maintenance(self, name: str, *, dry_run: bool = False) -> ChangeDocument: ...
    def reservations(self) -> Iterator[ReservationDocument]: ...
    def set_reservation(
        self,
        name: str,
        start: datetime | str,
        *,
        nodes: Sequence[str],
        tenants: Sequence[str],
        end: datetime | str | None = None,
        lasting: str | None = None,
        resources: Mapping[str, object] | None = None,
        gpus: int | None = None,
        dry_run: bool = False,
    ) -> ReservationDocument: ...
    def remove_reservation(self, name: str, *, dry_run: bool = False) -> ChangeDocument: ...
    def projects(self) -> Iterator[ProjectDocument]: ...
    def set_project(
        self,
        name: str,
        *,
        description: str | None = None,
        members: Mapping[str, Role] | None = None,
        version: str | None = None,
        dry_run: bool = False,
    ) -> ProjectDocument: ...
    def remove_project(self, name: str, *, dry_run: bool = False) -> ChangeDocument: ...
    def me(self) -> MeDocument: ...
    def limits(self, *, user: str | None = None, project: str | None = None) -> LimitsDocument: ...
    def secrets(self, project: str) -> Iterator[SecretDocument]: ...
    def set_secret(self, project: str, name: str, value: str, *, dry_run: bool = False) -> ChangeDocument: ...
    def remove_secret(self, project: str, name: str, *, dry_run: bool = False) -> ChangeDocument: ...
    def tokens(self) -> Iterator[TokenDocument]: ...
    def add_token(
        self,
        user: str,
        role: Role,
        *,
        projects: Sequence[str] | None = None,
        expires_in: str | None = None,
        dry_run: bool = False,
    ) -> TokenDocument: ...
    def remove_token(self, id: str, *, dry_run: bool = False) -> ChangeDocument: ...
    def agents(self) -> Iterator[AgentDocument]: ...
    def invite_agent(
        self,
        *,
        name: str | None = None,
        pool: str | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[str] | None = None,
        price_per_hour: str | None = None,
        dry_run: bool = False,
    ) -> InvitationDocument: ...
    def revoke_agent(self, name: str, *, dry_run: bool = False) -> ChangeDocument: ...


def connect(context: str | None = None) -> AbstractContextManager[Server]:
    """To the server that `--context` names, unless told otherwise. Raises RotaError if nothing says
    where it is."""
    from rota.sdk.client import Client

    return Client(context=context or chosen_context())
