"""A desk in memory, and a client that asks the application without a network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import httpx
from msgspec.structs import replace

from rota.api.cluster import NodeDocument, QueueDocument
from rota.api.jobs import EstimateDocument
from rota.api.people import LimitsDocument, Role, SecretDocument, SecretSource
from rota.api.questions import PlanAnswer
from rota.api.service import SchedulingDocument, StatsDocument
from rota.backends.backend import Health, LogChunk, LogQuery, Stream
from rota.backends.roster import AgentSeen
from rota.control.access import Who
from rota.control.enrolment import Enrolment
from rota.control.errors import BadInput, NotFound
from rota.control.versions import check_version
from rota.intake.submissions import Submission, expand
from rota.lifecycle.state import EndReason, JobState, Phase, TaskEnd, Used
from rota.loop.desk.secrets import SecretsDesk
from rota.model.calendar import Maintenance, QueueMode, QueueState, Reservation
from rota.model.explanation import Explanation, Outcome
from rota.model.extension import Answer as ExtensionAnswer
from rota.model.extension import Extension
from rota.model.ids import JobId, NodeName
from rota.model.job import JobTemplate, TaskGroup
from rota.model.resources import Resources
from rota.model.run import JobSpec, Run
from rota.model.task import TaskSpec
from rota.server.access import secret_hash
from rota.server.app import make_app
from rota.server.desks import Desks, Invitations
from rota.server.documents import moment
from rota.server.limits import DEFAULT_LIMITS, Limits
from rota.server.minting import Mint
from rota.server.routes import ROUTES
from rota.store.audit_list import AuditFilter
from rota.store.audit_record import AuditCheck, StoredAudit
from rota.store.batch import (
    Agent,
    AgentNode,
    Answer,
    Attempt,
    EventRow,
    IssuedCertificate,
    JoinToken,
    NodeSettings,
    Project,
    StoredEvent,
    Token,
)
from rota.store.queries import EventFilter, JobFilter
from rota.trust.enrol import Admission
from rota.views.why.view import WhyView

NOW_MS = 1_800_000_000_000


def secret_of(role: Role | str) -> str:
    name = role if isinstance(role, str) else role.value
    return "rota_" + name.replace("-", "_").ljust(43, "x")


def job_state(job_id: str, project: str = "vision", **fields: Any) -> JobState:
    task = TaskSpec(requests=Resources(cpu_milli=2000, memory_bytes=2**30))
    template = JobTemplate((TaskGroup(task),), project=project, user="ada", time_limit_ms=3_600_000)
    spec = JobSpec(
        template, Run(("echo", "hello world"), outputs=("result.txt", "deep/er.txt")), name="greet"
    )
    number = int(job_id.partition(".")[0])
    return JobState(JobId(job_id), number, spec, NOW_MS - 60_000, **{"phase": Phase.PENDING, **fields})


class FakeAgents:
    """An agent that is connected, one that was revoked."""

    def __init__(self, desk: FakeDesk) -> None:
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


class FakeDesk:
    """What was asked of it is in `changes`; a dry run isn't."""

    def __init__(self) -> None:
        self.is_ready = True
        self.is_healthy = True
        self.changes: list[tuple[Any, ...]] = []
        self.answers: dict[tuple[str, str], Answer] = {}
        self.files: dict[str, bytes] = {}
        self.error: Exception | None = None
        self.extension = ExtensionAnswer.GRANTED
        self.states = {
            state.id: state
            for state in (
                job_state("17"),
                job_state("18.0"),
                job_state("18.1"),
                job_state("19", project="secret"),
                job_state("20.0", project="secret"),
            )
        }
        self.known_tokens = [
            Token(role.value, secret_hash(secret_of(role)), "ada", role, ("vision",), NOW_MS - 1000)
            for role in Role
        ]
        self.known_tokens.append(
            Token("stale", secret_hash(secret_of("stale")), "ada", Role.ADMIN, None, 0, expires_ms=NOW_MS)
        )
        self.known_tokens.append(
            Token("eve", secret_hash(secret_of("eve")), "eve", Role.VIEWER, ("secret",), NOW_MS)
        )
        self.known_nodes = {"n1": NodeSettings(NodeName("n1")), "n2": NodeSettings(NodeName("n2"))}
        self.queue = QueueState("default", QueueMode.OPEN)  # type: ignore[arg-type]
        self.windows = {"disks": Maintenance("disks", NOW_MS, NOW_MS + 1000)}
        self.booked = {"class": Reservation("class", NOW_MS, NOW_MS + 1, (NodeName("n1"),), ("vision/ada",))}
        self.known_projects = {
            "vision": Project("vision", "Images", NOW_MS, (("ada", Role.SUBMITTER),)),
            "secret": Project("secret", "", NOW_MS),
        }
        self.log = [
            LogChunk(0, Stream.OUT, NOW_MS, b"one\n", 1),
            LogChunk(1, Stream.ERR, NOW_MS, b"\xff\0", 2),
        ]
        self.audited: list[StoredAudit] = []
        self.stored = [
            StoredEvent(seq, EventRow(NOW_MS, "job.Started", "17", "vision", "rota", b'{"rank":0}'))
            for seq in (1, 2, 3)
        ]
        self.enrolment = FakeAgents(self)
        self.log_query: LogQuery | None = None
        self.is_followed = False
        self.rights_version = 0

    def _change(self, dry_run: bool, *change: Any) -> None:
        if self.error is not None:
            raise self.error
        if not dry_run:
            self.changes.append(change)

    def _keep(self, answer_of: Callable[[Any], Answer] | None, result: Any) -> None:
        if answer_of is not None:
            answer = answer_of(result)
            self.answers[answer.scope, answer.key] = answer

    async def health(self) -> list[tuple[str, Health]]:
        return [("store", Health(self.is_healthy, "no space left in /secret/place"))]

    async def limits(self, user: str, project: str, is_exempt: bool) -> LimitsDocument:
        return LimitsDocument(user=user, project=project, exempt=is_exempt, limits=[])

    async def stats(self) -> StatsDocument:
        cycles = SchedulingDocument(cycles=3, last_cycle=None, last_cycle_s=0.01)
        return StatsDocument(pending=1, running=0, finished=2, nodes=2, scheduling=cycles, version="1")

    async def submit(
        self,
        submission: Submission,
        who: Who,
        dry_run: bool = False,
        answer_of: Callable[[Sequence[JobState]], Answer] | None = None,
    ) -> list[JobState]:
        self._change(dry_run, "submit", who.user, submission.job_count)
        first = 100 + len(self.changes)
        states = [
            JobState(JobId(str(first + at)), first + at, one.spec, NOW_MS)
            for at, one in enumerate(expand(submission, first))
        ]
        self._keep(answer_of, states)
        return states

    async def _change_job(
        self, what: str, job_id: JobId, dry_run: bool, answer_of: Any, *more: Any
    ) -> list[JobState]:
        self._change(dry_run, what, job_id, *more)
        states = [state for name, state in self.states.items() if name.partition(".")[0] == job_id]
        self._keep(answer_of, states)
        return states

    async def cancel(
        self, job_id: JobId, who: Who, message: str, dry_run: bool = False, answer_of: Any = None
    ) -> list[JobState]:
        return await self._change_job("cancel", job_id, dry_run, answer_of, message)

    async def hold(
        self, job_id: JobId, who: Who, dry_run: bool = False, answer_of: Any = None
    ) -> list[JobState]:
        return await self._change_job("hold", job_id, dry_run, answer_of)

    async def release(
        self, job_id: JobId, who: Who, dry_run: bool = False, answer_of: Any = None
    ) -> list[JobState]:
        return await self._change_job("release", job_id, dry_run, answer_of)

    async def extend(
        self, job_id: JobId, time_limit_ms: int, who: Who, dry_run: bool = False, answer_of: Any = None
    ) -> Extension:
        extension = Extension(job_id, self.extension, time_limit_ms, had_ms=3_600_000, longest_ms=5_000_000)
        self._change(dry_run or not extension.is_granted, "extend", job_id, time_limit_ms)
        if extension.is_granted:
            self._keep(answer_of, extension)
        return extension

    async def job(self, job_id: JobId) -> JobState | None:
        return self.states.get(job_id)

    async def jobs(
        self, job_filter: JobFilter, after: str | None, limit: int
    ) -> tuple[list[JobState], str | None]:
        self.job_filter = job_filter
        found = [
            state
            for state in reversed(self.states.values())
            if (job_filter.projects is None or state.spec.template.project in job_filter.projects)
            and (job_filter.array is None or state.id.startswith(f"{job_filter.array}."))
        ]
        return found[:limit], found[limit - 1].id if len(found) > limit else None

    async def job_with_attempts(self, job_id: JobId) -> tuple[JobState, list[Attempt]] | None:
        end = TaskEnd(EndReason.EXITED, exit_code=0, used=Used(cpu_ms=5000, max_memory_bytes=2**20))
        attempt = Attempt(job_id, 0, 1, NodeName("n1"), (), NOW_MS, NOW_MS, NOW_MS + 10_000, end)
        return self.states[job_id], [attempt]

    async def why(self, job_id: JobId, rank: int | None, who: Who) -> WhyView:
        explanation = Explanation(job_id, Outcome.WAITING)
        job = self.states[job_id].record().job
        return WhyView(job_id, explanation, Outcome.WAITING, (), job, rank is not None, False, None, (), ())

    async def eta(self, job_id: JobId) -> EstimateDocument:
        return EstimateDocument(
            job=job_id,
            told=moment(NOW_MS),
            expected=None,
            bound=None,
            latest=None,
            promised=False,
            position=3,
            reason="nothing is known",
        )

    async def plan(self, submission: Submission, who: Who) -> PlanAnswer:
        return PlanAnswer(jobs=[], changes=[])

    async def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        self.log_query = query
        for chunk in self.log:
            yield [chunk]

    async def output(self, job_id: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        if path != "result.txt":
            raise FileNotFoundError(path)
        yield b"42"

    async def put_file(self, sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
        content = b"".join([chunk async for chunk in chunks])
        is_new = sha256 not in self.files
        self.files[sha256] = content
        return is_new

    async def events(self, after_seq: int, limit: int, event_filter: EventFilter) -> list[StoredEvent]:
        self.event_filter = event_filter
        return [one for one in self.stored if one.seq > after_seq and event_filter.admits(one.row)][:limit]

    async def latest_events(self, count: int, event_filter: EventFilter) -> list[StoredEvent]:
        return [one for one in self.stored if event_filter.admits(one.row)][-count:]

    async def follow(
        self, after_seq: int | None, event_filter: EventFilter, last: int | None = None
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        self.is_followed = True
        try:
            yield [one for one in self.stored if one.seq > (after_seq or 0)][-(last or 0) :]
            await asyncio.Event().wait()
        finally:
            self.is_followed = False

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

    async def answer(self, scope: str, key: str) -> Answer | None:
        return self.answers.get((scope, key))

    def end(self, job_id: str, **fields: Any) -> None:
        job = JobId(job_id)
        self.states[job] = replace(self.states[job], **fields)


class FakeSecrets:
    def __init__(self, desk: FakeDesk) -> None:
        self._desk = desk

    async def of(self, project: str) -> list[SecretDocument]:
        return [SecretDocument(project=project, name="api-key", source=SecretSource.STORE, set_by="ada")]

    async def set(self, project: str, name: str, value: str, who: Who, dry_run: bool = False) -> None:
        self._desk._change(dry_run, "secret", (project, name, value))

    async def remove(self, project: str, name: str, who: Who, dry_run: bool = False) -> None:
        self._desk._change(dry_run, "remove secret", (project, name))


def as_desks(fake: Any, limits: Limits = DEFAULT_LIMITS) -> Desks:
    """The fake as every desk that a route names."""
    there = {kind: fake for route in ROUTES for kind in route.desks}
    agents = _Part(fake, "enrolment")
    there |= {SecretsDesk: _Part(fake, "secrets"), Enrolment: agents, Invitations: agents}
    return Desks(fake, fake, lambda *key: fake.answer(*key), {**there, Mint: Mint(fake, limits)})


class _Part:
    """A part of the fake as it is when it is asked."""

    def __init__(self, fake: Any, name: str) -> None:
        self._fake, self._name = fake, name

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._fake, self._name), name)


class _Current:
    """Stands for the desk of the test that runs: making an application takes longer than asking it."""

    def __init__(self) -> None:
        self.desk = FakeDesk()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.desk, name)


_current = _Current()
_LIMITS = Limits(burst=10**9)
_app = make_app(as_desks(_current, _LIMITS), _LIMITS, now_ms=lambda: NOW_MS)


class Service:
    """The application over a fake desk, asked by whoever has a role, and by nobody."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.desk = _current.desk = FakeDesk()
        self.app = (
            _app if limits is None else make_app(as_desks(self.desk, limits), limits, now_ms=lambda: NOW_MS)
        )

    def ask(
        self,
        method: str,
        path: str,
        role: Role | str | None = Role.ADMIN,
        *,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx.Response:
        sent = {} if role is None else {"authorization": f"Bearer {secret_of(role)}"}
        return asyncio.run(self._ask(method, path, {**sent, **(headers or {})}, more))

    async def _ask(self, method: str, path: str, headers: dict[str, str], more: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, headers=headers, **more)
