"""What operators see and set, without a cluster."""

from __future__ import annotations

from typing import Any

from rota.api.cluster import NodeDocument, QueueDocument
from rota.api.people import SecretDocument, SecretSource, TenantDocument, UsageDocument
from rota.api.service import ReloadDocument
from rota.backends.roster import AgentSeen
from rota.control.access import Who
from rota.control.errors import BadInput, NotFound
from rota.control.versions import check_version
from rota.loop.desk.usage import UsageBy
from rota.model.calendar import Maintenance, QueueState, Reservation
from rota.model.ids import NodeName
from rota.server.documents import moment
from rota.store.audit_list import AuditFilter
from rota.store.audit_record import AuditCheck, StoredAudit
from rota.store.writing.batch import (
    Agent,
    AgentNode,
    IssuedCertificate,
    JoinToken,
    NodeSettings,
    Project,
    Token,
)
from rota.trust.enrol import Admission
from tests.unit.server.fake_state import NOW_MS, FakeState


class FakeOperators(FakeState):
    async def reload(self, by: str, dry_run: bool = False) -> ReloadDocument:
        self._change(dry_run, "reload", by)
        return ReloadDocument(policy="", changes=[], settings=[], restart=[], homeless=[], dry_run=dry_run)

    async def quotas(self, who: Who) -> list[TenantDocument]:
        tenant = TenantDocument(tenant="vision", weight=1, due=1.0, share=0.5, quotas=[])
        return [tenant] if who.sees(tenant.tenant) else []

    async def usage(self, who: Who, since_ms: int, by: UsageBy) -> UsageDocument:
        return UsageDocument(since=moment(since_ms), until=moment(NOW_MS), by=by.value, items=[])

    async def nodes(self) -> list[NodeDocument]:
        return [self._node(settings) for settings in self.known_nodes.values()]

    @staticmethod
    def _node(settings: NodeSettings) -> NodeDocument:
        return NodeDocument(
            name=settings.name,
            backend="local",
            pool="default",
            ready=True,
            cordoned=settings.cordoned,
            draining=settings.draining,
            labels={},
            taints=["own:NoSchedule", *(taint.notation for taint in settings.taints)],
            capacity={"cpu": 4},
            used={},
            gpus=0,
            gpus_used=0,
            gpu_model="",
            tasks=0,
            load=0,
            message=settings.message,
        )

    async def node_settings(self, name: NodeName) -> NodeSettings | None:
        return self.known_nodes.get(name)

    async def set_node(
        self, settings: NodeSettings, who: Who, dry_run: bool = False, version: str | None = None
    ) -> None:
        check_version("node", settings.name, self.known_nodes.get(settings.name), settings, version)
        self._change(dry_run, "node", settings)
        if not dry_run:
            self.known_nodes[settings.name] = settings

    async def queues(self) -> list[QueueDocument]:
        return [
            QueueDocument(
                name=self.queue.name,
                state=self.queue.mode,
                since=None,
                message=self.queue.message,
                interactive=False,
                waiting=1,
                running=0,
                longest_wait_s=None,
            )
        ]

    async def set_queue(self, state: QueueState, who: Who, dry_run: bool = False) -> None:
        self._change(dry_run, "queue", state)
        if not dry_run:
            self.queue = state

    async def maintenance(self) -> list[Maintenance]:
        return list(self.windows.values())

    async def set_maintenance(self, window: Maintenance, who: Who, dry_run: bool = False) -> None:
        self._change(dry_run, "maintenance", window)

    async def remove_maintenance(self, name: str, who: Who, dry_run: bool = False) -> None:
        self._change(dry_run, "remove maintenance", name)

    async def reservations(self) -> list[Reservation]:
        return list(self.booked.values())

    async def set_reservation(self, reservation: Reservation, who: Who, dry_run: bool = False) -> None:
        self._change(dry_run, "reservation", reservation)

    async def remove_reservation(self, name: str, who: Who, dry_run: bool = False) -> None:
        self._change(dry_run, "remove reservation", name)

    async def projects(self) -> list[Project]:
        return list(self.known_projects.values())

    async def set_project(
        self, project: Project, who: Who, dry_run: bool = False, version: str | None = None
    ) -> None:
        check_version("project", project.name, self.known_projects.get(project.name), project, version)
        self._change(dry_run, "project", project)

    async def remove_project(self, name: str, who: Who, dry_run: bool = False) -> None:
        self._change(dry_run, "remove project", name)

    @property
    def secrets(self) -> FakeSecrets:
        return FakeSecrets(self)

    async def tokens(self) -> list[Token]:
        return self.known_tokens

    async def add_token(
        self,
        token: Token,
        who: Who,
        dry_run: bool = False,
        answer_of: Any = None,
        most: int | None = None,
    ) -> None:
        self._change(dry_run, "token", token)
        self._keep(answer_of, token)

    async def remove_token(self, token_id: str, who: Who, dry_run: bool = False) -> list[str]:
        self._change(dry_run, "remove token", token_id)
        return [token_id]

    async def token_named(self, secret_sha256: str) -> Token | None:
        return next((one for one in self.known_tokens if one.secret_sha256 == secret_sha256), None)

    async def token_with_id(self, token_id: str) -> Token | None:
        return next((one for one in self.known_tokens if one.id == token_id), None)

    async def audit(
        self, audit_filter: AuditFilter, after: str | None, limit: int
    ) -> tuple[list[StoredAudit], str | None]:
        self.audit_filter = audit_filter
        below = 2**63 if after is None else int(after)
        seen = [one for one in reversed(self.audited) if one.seq < below and audit_filter.admits(one.record)]
        return seen[:limit], str(seen[limit - 1].seq) if len(seen) > limit else None

    async def check_audit(self) -> AuditCheck:
        return AuditCheck(len(self.audited), 1, len(self.audited), b"\xab" * 32)


class FakeAgents:
    """An agent that is connected, one that was revoked."""

    def __init__(self, desk: FakeState) -> None:
        self._desk = desk
        certificate = IssuedCertificate("1f", "00", "PEM", NOW_MS + 1000)
        self.known = {
            name: Agent(name, NOW_MS - 1000, "ada", (certificate,), revoked_ms=revoked_ms)
            for name, revoked_ms in (("n1", None), ("old", NOW_MS))
        }
        self.invited: JoinToken | None = None

    async def agents(self) -> list[tuple[Agent, AgentSeen | None]]:
        seen = AgentSeen(True, NOW_MS, "1.0", -2500)
        return [(agent, seen if name == "n1" else None) for name, agent in self.known.items()]

    async def unproven(self) -> dict[str, AgentSeen]:
        return {"here": AgentSeen(True, NOW_MS, "1.0")}

    async def invite(
        self, name: str, node: AgentNode, who: Who, dry_run: bool = False, answer_of: Any = None
    ) -> tuple[JoinToken, str]:
        self.invited = JoinToken("j1", b"key", who.user, NOW_MS, NOW_MS + 900_000, name, node)
        self._desk._change(dry_run, "invite", name)
        if not dry_run:
            self._desk._keep(answer_of, self.invited)
        return self.invited, "rotajoin_secret"

    async def join(self, token_id: str, name: str, request: str, proof: str) -> Admission:
        if token_id != "j1":
            raise BadInput("token", "no such invitation", "make another")
        self._desk._change(False, "join", name, request, proof)
        return Admission(name, "PEM", "CA", "rota.example.org:8427")

    async def renew(self, header: str | None, body: bytes, request: str) -> Admission:
        if header != "RotaAgent good":
            raise BadInput("Authorization", "the call isn't signed by an agent", "join")
        self._desk._change(False, "renew", body, request)
        return Admission("n1", "PEM", "CA", "rota.example.org:8427")

    async def revoke(self, name: str, who: Who, dry_run: bool = False) -> None:
        if name not in self.known:
            raise NotFound("agent", name)
        self._desk._change(dry_run, "revoke", name)


class FakeSecrets:
    def __init__(self, desk: FakeState) -> None:
        self._desk = desk

    async def of(self, project: str) -> list[SecretDocument]:
        return [SecretDocument(project=project, name="api-key", source=SecretSource.STORE, set_by="ada")]

    async def set(self, project: str, name: str, value: str, who: Who, dry_run: bool = False) -> None:
        self._desk._change(dry_run, "secret", (project, name, value))

    async def remove(self, project: str, name: str, who: Who, dry_run: bool = False) -> None:
        self._desk._change(dry_run, "remove secret", (project, name))
