"""What a server is while it leads: backends, a runtime over them, where agents knock, an application."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from getpass import getuser
from pathlib import Path
from types import TracebackType
from typing import Self

from litestar.types import ASGIApp

from rota.api.people import Role
from rota.backends.agents.arrivals import FolderArrivals
from rota.backends.agents.backend import AgentsBackend
from rota.backends.agents.certificates import by_certificate, grpc_credentials
from rota.backends.agents.door import Door, Place
from rota.backends.agents.service import AgentsService, by_socket
from rota.backends.agents.terms import Terms
from rota.backends.backend import Backend
from rota.backends.process.client.backend import ProcessBackend
from rota.backends.process.client.files import FileStore
from rota.backends.process.client.isolation_options import confinement_of
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.streams.log_writer import Rotation
from rota.backends.process.options import KeeperOptions
from rota.backends.roster import Roster
from rota.clock import now_ms
from rota.control.agent_admission import Addresses
from rota.control.enrolment import Enrolment
from rota.control.errors import Conflict
from rota.control.memory import Memory
from rota.control.origin import Origin, calling
from rota.control.transactor import Transactor
from rota.limits.applying import upload_bytes
from rota.loop.desk.question_pool import QuestionLimits
from rota.loop.live.history import Retention
from rota.loop.live.log_history import Kept
from rota.loop.live.runtime import Runtime
from rota.loop.telemetry.loop_lag import silence_watched
from rota.model.ids import NodeName
from rota.model.resources import Resources
from rota.server.agents import AgentCalls, keep_notices
from rota.server.browser.sessions import PageTerms
from rota.server.http.app import make_app
from rota.server.http.desks import desks_of
from rota.server.http.limits import Limits
from rota.server.http.serve import RestServer
from rota.server.identity.first_token import local_token
from rota.server.identity.minting import Mint
from rota.server.leading.epoch import begin_epoch
from rota.server.service.clock_watch import watch_clock
from rota.server.service.reloading import Reloading, SettingsSource, read_policy_file
from rota.server.sign_in.desk import SignIn
from rota.server.sign_in.groups import GroupRules
from rota.server.sign_in.id_token import Expected
from rota.server.sign_in.provider import Provider
from rota.server.uploads import Uploads
from rota.settings.contexts import TOKEN_FILE
from rota.settings.oidc import group_project_role, group_role
from rota.settings.settings import Settings, is_loopback
from rota.store.store import Store
from rota.store.writing.prune import History
from rota.trust import Authority, server_credentials
from rota.trust.local_socket import LocalSocket, is_local, socket_path
from rota.trust.sealing import sealer_of

LOG_SEGMENTS = 4
KEY_FILE = "secrets.key"


class Cluster:
    """Entered when the server becomes the leader, and left when it no longer is. Running tasks go on."""

    app: ASGIApp
    memory: Memory
    failed: asyncio.Event
    """Set when a part ended that nothing works without."""
    door: Door | None = None
    reloading: Reloading

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        store: Store,
        authority: Authority,
        limits: Limits,
        rest: RestServer,
        leads: Callable[[], bool],
        pages: PageTerms,
        source: SettingsSource,
    ) -> None:
        """`leads`: whether this server is the leader at the moment of the call."""
        self._settings = settings
        self._folder = folder
        self._store = store
        self._authority = authority
        self._limits = limits
        self._rest = rest
        self._leads = leads
        self._pages = pages
        self._source = source
        self._roster = Roster()
        self._closing = asyncio.Event()
        self._parts = AsyncExitStack()

    async def __aenter__(self) -> Self:
        settings, folder = self._settings, self._folder
        limits = settings.server.limits
        rotation = Rotation(max(1, limits.log_bytes // LOG_SEGMENTS), LOG_SEGMENTS, limits.reserve_bytes)
        name = NodeName(settings.worker.name or socket.gethostname())
        here = self._this_machine(name, rotation)
        files = files_folder(settings)
        agents = AgentsBackend(
            FolderArrivals(files / "agents", rotation),
            terms=Terms(settings.agents.lost_after_ms),
            reserved=frozenset([name]),
        )
        backends: list[Backend] = [here] if settings.server.embedded_worker else []
        if settings.agents.address:
            backends.append(agents)
        takes_files = bool(backends)
        # The server's own worker reads them from its folder. Agents need them from any server that leads.
        kept = Folders((folder if settings.server.embedded_worker else files) / "worker")
        store_of_files = FileStore(kept, limits.reserve_bytes)
        file = read_policy_file(settings.server.policy)

        def quota_bytes(user: str) -> int:
            stated = upload_bytes(self.memory.policy.limits, user)
            # For these 0 is no limit.
            return limits.uploads_bytes if stated is None else max(1, stated)

        uploads = Uploads(store_of_files, kept, limits.upload_bytes, quota_bytes)
        if takes_files:
            kept.make()
            await asyncio.to_thread(uploads.load)
        epoch = await asyncio.to_thread(
            begin_epoch, self._store, files, (Folders(folder / "worker"), Folders(files / "agents"))
        )
        # All unfinished jobs are read. The lease must be renewed meanwhile.
        runtime = await asyncio.to_thread(
            Runtime,
            self._store,
            file.policy,
            backends,
            clock=now_ms,
            chance=random.random,
            put_file=uploads.put if takes_files else _no_uploads,
            retention=_retention(settings),
            uploads=uploads if takes_files else None,
            enrol=self._enrol,
            question_limits=QuestionLimits(time_s=settings.server.limits.question_time_ms / 1000),
            sealer=lambda: sealer_of(Path(settings.secrets.key_file or folder / KEY_FILE)),
            secret_sources=settings.secrets.by_name,
            epoch=epoch,
        )
        agents.on_change = runtime.nodes_changed.set
        self._roster.watch(agents.seen, agents.cut)
        metrics = runtime.metrics
        metrics.before_scrape(lambda: metrics.set_breaker("database", self._store.connections.is_left_alone))
        calls = AgentCalls(agents, store_of_files) if settings.agents.address else None
        self.memory, self.failed = runtime.memory, runtime.failed
        self.reloading = Reloading(self._source, file, runtime, _retention)
        self.app = make_app(
            desks_of(runtime.desks, Mint(runtime.desks.people, self._limits), self.reloading),
            self._limits,
            runtime.metrics,
            agents=calls,
            closing=self._closing,
            sign_in=_sign_in(settings),
            pages=self._pages,
            audit=runtime.audit,
            audit_reads=settings.audit.reads,
        )
        try:
            self._parts.push_async_callback(runtime.stop)
            await self._parts.enter_async_context(silence_watched(runtime.metrics))
            self._parts.callback(asyncio.create_task(watch_clock(metrics)).cancel)
            await runtime.start()
            with calling(Origin(method="start")):
                await local_token(
                    runtime.desks.people, folder / TOKEN_FILE, getuser(), runtime.transactor.now_ms()
                )
            self.door = await self._parts.enter_async_context(self._open_door(agents, runtime))
        except BaseException:
            await self._parts.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        await self._parts.aclose()

    def _this_machine(self, name: NodeName, rotation: Rotation) -> ProcessBackend:
        worker = self._settings.worker
        return ProcessBackend(
            self._folder / "worker",
            name,
            share=Resources(cpu_milli=1000 * worker.cpus, memory_bytes=worker.memory_bytes),
            price_micro_per_hour=worker.price_micro_per_hour,
            keeper=KeeperOptions(
                rotation,
                start_within_ms=worker.start_within_ms,
                most_processes=worker.pids,
                most_storage_bytes=worker.storage_bytes,
                confinement=confinement_of(
                    worker,
                    is_shared=not is_loopback(self._settings.server.address),
                    hidden=_never_shown(self._settings),
                ),
            ),
        )

    def _enrol(self, transactor: Transactor) -> Enrolment:
        return Enrolment(transactor, self._authority, self._roster, self._addresses)

    def _addresses(self) -> Addresses:
        url = self._rest.reached_at(self._settings.server.public_url)
        if self.door is None or is_local(self.door.target):
            return Addresses(url)
        return Addresses.on_one_host(url, self.door.target.rpartition(":")[2])

    @asynccontextmanager
    async def _open_door(self, agents: AgentsBackend, runtime: Runtime) -> AsyncIterator[Door | None]:
        """Where agents knock; None: nowhere."""
        stated = self._settings.agents
        if not stated.address:
            yield None
            return
        if is_local(stated.address):
            path = socket_path(stated.address, self._settings.server.data)
            service = AgentsService(agents, self._rest.on_this_machine, by_socket, self._leads)
            door = Door(service, LocalSocket(path, serves=True))
        else:
            identify = by_certificate(self._roster)
            service = AgentsService(agents, self._rest.where_dialled, identify, self._leads)
            proof = grpc_credentials(server_credentials(self._authority, now_ms()))
            door = Door(service, Place(stated.address, stated.port), proof)
        await door.open()
        noting = asyncio.create_task(keep_notices(agents.notices, runtime.transactor))
        try:
            yield door
        finally:
            await door.close()
            noting.cancel()


def _sign_in(settings: Settings) -> SignIn | None:
    """None: there is no sign-in, and tokens are made by hand."""
    stated = settings.oidc
    if not stated.issuer:
        return None
    granted = [group_project_role(text) for text in stated.projects]
    return SignIn(
        Provider(stated.issuer, now_ms),
        Expected(stated.issuer, stated.client_id, stated.audience or stated.client_id, stated.algorithms),
        GroupRules(
            stated.user_claim,
            stated.groups_claim,
            tuple((group, Role(role)) for group, role in map(group_role, stated.roles)),
            tuple((group, project, Role(role)) for group, project, role in granted),
            Role(stated.default_role) if stated.default_role else None,
        ),
        stated.scopes,
        stated.session_ms,
        now_ms,
    )


def files_folder(settings: Settings) -> Path:
    """What jobs of agents need, write and leave."""
    return Path(settings.server.files or settings.server.data)


def _retention(settings: Settings) -> Retention:
    stated = settings.server.history
    jobs = History(stated.ttl_ms or None, stated.jobs, stated.most_jobs or None)
    audit = settings.audit
    return Retention(
        jobs,
        stated.events_ms or None,
        stated.uploads_ms or None,
        audit_ms=audit.keep_ms or None,
        audit_records=audit.records or None,
        logs=Kept(stated.logs_ms or None, stated.logs_bytes or None),
    )


async def _no_uploads(sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
    raise Conflict(
        "this server has no worker that could use files", "start it with server.embedded_worker = true"
    )


def _never_shown(settings: Settings) -> tuple[str, ...]:
    """Only the server may read these."""
    files = [source.removeprefix("file:") for source in settings.secrets.by_name.values()]
    return (
        settings.server.data,
        settings.server.files,
        settings.server.tls.key,
        settings.secrets.key_file,
        settings.agent.data,
        *(path for path in files if path.startswith("/")),
    )
