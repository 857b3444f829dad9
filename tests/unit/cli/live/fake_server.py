"""A server that knows what a test tells it, and remembers what it was asked to do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from rota.api.audit import AuditCheckDocument, AuditDocument
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
from rota.lifecycle.state import Phase
from rota.model.calendar import QueueMode
from rota.sdk.errors import NotFound
from rota.sdk.job_calls import JobForm, LogChunk
from tests.unit.answers import submitted
from tests.unit.cli.live.documents import NOW, a_job, a_queue, detail


class Asked(NamedTuple):
    """A change that was asked for."""

    verb: str
    name: str
    fields: dict[str, Any]


class FakeServer:
    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.submitted: list[JobForm] = []
        self.uploaded: list[bytes] = []
        self.details: dict[str, list[JobDetail]] = {}
        """How a job stands, each time that it is asked for; the last for ever."""
        self.filters: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.chunks: list[list[LogChunk]] = []
        """Of each time that logs are asked for."""
        self.log_queries: list[dict[str, Any]] = []
        self.happened: list[EventDocument] = []
        self.node_list: list[NodeDocument] = []
        self.queue_list: list[QueueDocument] = []
        self.project_list: list[ProjectDocument] = []
        self.token_list: list[TokenDocument] = []
        self.secret_list: list[SecretDocument] = []
        self.agent_list: list[AgentDocument] = []
        self.audit_list: list[AuditDocument] = []
        self.audit_check = AuditCheckDocument(records=2, first=1, last=2, head="ab" * 32, broken=None)
        self.maintenance_list: list[MaintenanceDocument] = []
        self.reservation_list: list[ReservationDocument] = []
        self.estimates: dict[str, EstimateDocument] = {}
        self.efficiencies: dict[str, EfficiencyDocument] = {}
        self.limits_answer: LimitsDocument | None = None
        self.plan_answer = PlanAnswer(jobs=[], changes=[])
        self.why_answer: WhyAnswer | None = None
        self.extension: ExtendAnswer | Exception | None = None
        self.refusal: Exception | None = None
        """Of every change."""
        self.refuses_after: tuple[int, Exception] | None = None
        """So many submissions are taken before."""

    def has(self, *jobs: JobDocument | JobDetail) -> None:
        for one in jobs:
            full = one if isinstance(one, JobDetail) else detail(one)
            self.details.setdefault(full.job.id, []).append(full)

    def _changed(self, verb: str, name: str, dry_run: bool, **fields: Any) -> ChangeDocument:
        if self.refusal is not None:
            raise self.refusal
        self.asked.append(Asked(verb, name, {**fields, "dry_run": dry_run}))
        return ChangeDocument(dry_run=dry_run, changed=[name])

    # -- jobs

    def submit(self, *jobs: JobForm, dry_run: bool = False) -> Submitted:
        if self.refusal is not None:
            raise self.refusal
        if self.refuses_after is not None:
            left, error = self.refuses_after
            if left == 0:
                raise error
            self.refuses_after = left - 1, error
        self.submitted += jobs
        made = [a_job(str(17 + index), name=job.get("name", "job")) for index, job in enumerate(jobs)]
        return submitted(made, dry_run=dry_run, warnings=self.warnings)

    def plan(self, *jobs: JobForm) -> PlanAnswer:
        self.submitted += jobs
        return self.plan_answer

    def upload(self, data: bytes) -> str:
        self.uploaded.append(data)
        return hashlib.sha256(data).hexdigest()

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
    ) -> Iterator[JobDocument]:
        self.filters = {
            "project": project,
            "user": user,
            "queue": queue,
            "name": name,
            "label": label,
            "array": array,
            "submitted_after": submitted_after,
            "submitted_before": submitted_before,
        }
        for steps in self.details.values():
            job = steps[0].job
            if (not phases or job.phase in phases) and name in (None, job.name):
                yield job

    def job(self, job: str) -> JobDetail:
        if job not in self.details:
            raise NotFound(f"there is no job {job}", help="`rota ls --all` lists them")
        steps = self.details[job]
        return steps.pop(0) if len(steps) > 1 else steps[0]

    def cancel(self, job: str, *, message: str = "", dry_run: bool = False) -> ChangeDocument:
        return self._changed("cancel", job, dry_run, message=message)

    def hold(self, job: str, *, dry_run: bool = False) -> ChangeDocument:
        return self._changed("hold", job, dry_run)

    def release(self, job: str, *, dry_run: bool = False) -> ChangeDocument:
        return self._changed("release", job, dry_run)

    def extend(self, job: str, time_limit: str, *, dry_run: bool = False) -> ExtendAnswer:
        self.asked.append(Asked("extend", job, {"time_limit": time_limit, "dry_run": dry_run}))
        assert self.extension is not None
        if isinstance(self.extension, Exception):
            raise self.extension
        return self.extension

    def why(self, job: str) -> WhyAnswer:
        assert self.why_answer is not None
        return self.why_answer

    def eta(self, job: str) -> EstimateDocument:
        return self.estimates[job]

    def limits(self, *, user: str | None = None, project: str | None = None) -> LimitsDocument:
        self.asked.append(Asked("limits", user or "", {"project": project}))
        assert self.limits_answer is not None
        return self.limits_answer

    def efficiency(self, job: str) -> EfficiencyDocument:
        return self.efficiencies[job]

    def logs(
        self,
        job: str,
        *,
        ranks: Sequence[int] = (),
        since: datetime | None = None,
        follow: bool = False,
        tail: int | None = None,
    ) -> Iterator[LogChunk]:
        self.log_queries.append({"ranks": tuple(ranks), "since": since, "follow": follow, "tail": tail})
        return iter(self.chunks.pop(0) if self.chunks else ())

    def events(
        self,
        *,
        follow: bool = False,
        after: int | None = None,
        last: int | None = None,
        kind: str | None = None,
        subject: str | None = None,
        project: str | None = None,
    ) -> Iterator[EventDocument]:
        self.filters = {
            "follow": follow,
            "after": after,
            "last": last,
            "kind": kind,
            "subject": subject,
            "project": project,
        }
        return iter(self.happened)

    # -- the cluster

    def nodes(self) -> Iterator[NodeDocument]:
        return iter(self.node_list)

    def node(self, name: str) -> NodeDocument:
        return next(one for one in self.node_list if one.name == name)

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
    ) -> NodeDocument:
        fields = {"cordoned": cordoned, "draining": draining, "taints": taints, "message": message}
        self._changed(
            "node", name, dry_run, **{key: value for key, value in fields.items() if value is not None}
        )
        return self.node(name)

    def queues(self) -> Iterator[QueueDocument]:
        return iter(self.queue_list)

    def set_queue(
        self, name: str, state: QueueMode, *, message: str = "", dry_run: bool = False
    ) -> QueueDocument:
        self._changed("queue", name, dry_run, state=state, message=message)
        return a_queue(name, state=state, message=message)

    def maintenance(self) -> Iterator[MaintenanceDocument]:
        return iter(self.maintenance_list)

    def set_maintenance(
        self,
        name: str,
        start: datetime | str,
        *,
        end: datetime | str | None = None,
        lasting: str | None = None,
        nodes: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> MaintenanceDocument:
        self._changed("maintenance", name, dry_run, start=start, end=end, lasting=lasting, nodes=nodes)
        return MaintenanceDocument(name=name, start=NOW, end=NOW, nodes=list(nodes or ()))

    def remove_maintenance(self, name: str, *, dry_run: bool = False) -> ChangeDocument:
        return self._changed("remove maintenance", name, dry_run)

    def reservations(self) -> Iterator[ReservationDocument]:
        return iter(self.reservation_list)

    def set_reservation(
        self,
        name: str,
        start: datetime | str,
        *,
        nodes: Sequence[str],
        tenants: Sequence[str],
        end: datetime | str | None = None,
        lasting: str | None = None,
        resources: Any = None,
        gpus: int | None = None,
        dry_run: bool = False,
    ) -> ReservationDocument:
        fields = {
            "nodes": nodes,
            "tenants": tenants,
            "lasting": lasting,
            "resources": resources,
            "gpus": gpus,
        }
        self._changed("reservation", name, dry_run, start=start, end=end, **fields)
        return ReservationDocument(
            name=name,
            start=NOW,
            end=NOW,
            nodes=list(nodes),
            tenants=list(tenants),
            resources=resources,
            gpus=gpus or 0,
        )

    def remove_reservation(self, name: str, *, dry_run: bool = False) -> ChangeDocument:
        return self._changed("remove reservation", name, dry_run)

    def projects(self) -> Iterator[ProjectDocument]:
        return iter(self.project_list)

    def set_project(
        self,
        name: str,
        *,
        description: str | None = None,
        members: Any = None,
        version: str | None = None,
        dry_run: bool = False,
    ) -> ProjectDocument:
        self._changed("project", name, dry_run, description=description, members=members)
        return ProjectDocument(
            name=name, description=description or "", members=dict(members or {}), created=NOW
        )

    def remove_project(self, name: str, *, dry_run: bool = False) -> ChangeDocument:
        return self._changed("remove project", name, dry_run)

    def me(self) -> MeDocument:
        return MeDocument(user="ada", role=Role.SUBMITTER, projects=["vision"])

    def secrets(self, project: str) -> Iterator[SecretDocument]:
        return iter(one for one in self.secret_list if one.project == project)

    def set_secret(self, project: str, name: str, value: str, *, dry_run: bool = False) -> ChangeDocument:
        return self._changed("secret", name, dry_run, project=project, value=value)

    def remove_secret(self, project: str, name: str, *, dry_run: bool = False) -> ChangeDocument:
        return self._changed("remove secret", name, dry_run, project=project)

    def tokens(self) -> Iterator[TokenDocument]:
        return iter(self.token_list)

    def add_token(
        self,
        user: str,
        role: Role,
        *,
        projects: Sequence[str] | None = None,
        expires_in: str | None = None,
        dry_run: bool = False,
    ) -> TokenDocument:
        self._changed("token", user, dry_run, role=role, projects=projects, expires_in=expires_in)
        return TokenDocument(
            id="t1",
            user=user,
            role=role,
            projects=None if projects is None else list(projects),
            created=NOW,
            expires=None,
            last_used=None,
            secret=None if dry_run else "rota_secret",
        )

    def remove_token(self, id: str, *, dry_run: bool = False) -> ChangeDocument:
        return self._changed("remove token", id, dry_run)

    def audit(self, **filters: Any) -> Iterator[AuditDocument]:
        self.filters = filters
        return iter(self.audit_list)

    def sign_out(self, *, dry_run: bool = False) -> ChangeDocument:
        return self._changed("sign out", "t1", dry_run)

    def check_audit(self) -> AuditCheckDocument:
        return self.audit_check

    def agents(self) -> Iterator[AgentDocument]:
        return iter(self.agent_list)

    def invite_agent(
        self,
        *,
        name: str | None = None,
        pool: str | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[str] | None = None,
        price_per_hour: str | None = None,
        dry_run: bool = False,
    ) -> InvitationDocument:
        said = {"pool": pool, "labels": labels, "taints": taints, "price_per_hour": price_per_hour}
        self._changed("invite", name or "", dry_run, **said)
        return InvitationDocument(
            id="j1",
            name=name,
            pool=pool,
            labels=dict(labels or {}),
            taints=list(taints or ()),
            expires=NOW,
            token=None if dry_run else f"rotajoin_{'s' * 150}",
        )

    def revoke_agent(self, name: str, *, dry_run: bool = False) -> ChangeDocument:
        return self._changed("revoke", name, dry_run)
