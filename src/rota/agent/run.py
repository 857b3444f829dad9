"""`rota agent`: from its first connection until it is asked to stop."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

import structlog
from msgspec import Struct
from msgspec.structs import replace

from rota.agent import dialling
from rota.agent.attendance import Attendance
from rota.agent.crew import Crew, sweep
from rota.agent.http import Http
from rota.agent.lease import LeaseHolder
from rota.agent.machine import Machine, Offering
from rota.agent.presence import Agent
from rota.agent.renewal import renewed
from rota.agent.rest import Rest
from rota.backends.backend import BackendUnavailable
from rota.backends.process.client.backend import health_of
from rota.backends.process.client.files import FileStore
from rota.backends.process.client.find_keeper import Launch
from rota.backends.process.client.line import KeeperLine
from rota.backends.process.folders import Folders
from rota.backends.process.options import KeeperOptions
from rota.clock import now_ms
from rota.model.ids import NodeName
from rota.signals import have_stopped, heed_stop
from rota.trust.folder import has_joined, server_trust
from rota.trust.local_socket import is_local
from rota.trust.own_folder import own_folder

log = structlog.get_logger()

LOCK_FILE = "agent.lock"
_LOOK_AFTER_S = 30.0
_KEEP_FILES_MS = 86_400_000
_FILES_AT_ONCE = 1_000


class AgentError(Exception):
    """Why it doesn't start, and what to do."""


class AgentOptions(Struct, frozen=True):
    servers: tuple[str, ...]
    """HOST:PORT or unix:PATH of each; one of them leads."""
    name: NodeName
    folder: Path
    offering: Offering = Offering()
    keeper: KeeperOptions = KeeperOptions()
    drain_ms: int = 3_600_000
    """How long it waits for its tasks after SIGTERM."""


def run_agent(options: AgentOptions) -> None:
    """Until SIGTERM and all tasks have ended, SIGTERM again, or SIGINT. Raises AgentError,
    FolderTaken, and BackendUnavailable."""
    _check_proof(options)
    with own_folder(options.folder, LOCK_FILE, "agent"):
        while asyncio.run(_work(options)):
            log.info("agent.reconnecting")
    have_stopped()


async def _work(options: AgentOptions) -> bool:
    """Whether to start again, because the certificate was renewed meanwhile."""
    folders = Folders(options.folder)
    folders.make()
    leave, drain = asyncio.Event(), asyncio.Event()
    _heed_signals(leave, drain)
    files = FileStore(folders)
    files.remove_halves()
    keeper = KeeperLine(Launch(folders, replace(options.keeper, is_leased=True)))
    await keeper.open()
    proof = dialling.credentials(options.folder)
    lines = dialling.Lines(proof)
    http = Http(None if proof is None else server_trust(options.folder))
    crew = Crew(keeper, folders, options.name, lines.stub, Rest(http, files))
    await sweep(keeper, folders)
    machine = await asyncio.to_thread(
        Machine, options.name, options.folder, options.offering, lambda: keeper.keeper
    )
    keeper.gpu_ids = machine.found.ids
    agent = Agent(options.name, _instance(options.folder), machine, LeaseHolder(folders.lease))
    attendance = Attendance(options.servers, partial(dialling.channel, proof=proof), agent, crew)
    crew.tell_forgotten = attendance.forgotten
    working = [
        asyncio.create_task(crew.run()),
        asyncio.create_task(_look_after(keeper, files, crew, agent, machine.found.trouble)),
        asyncio.create_task(_drain(drain, crew, attendance, options.drain_ms / 1000, leave)),
    ]
    renewing = asyncio.create_task(renewed(options.folder, lambda: crew.rest_url))
    working.append(renewing)
    attendance.start()
    try:
        leaving = asyncio.create_task(leave.wait())
        done, _ = await asyncio.wait([leaving, *working], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        if leaving in done:
            log.info("agent.stopping")
        return renewing in done and leaving not in done
    finally:
        await asyncio.to_thread(attendance.leave)
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        await crew.close()
        await http.close()
        await lines.close()
        await keeper.close()


def _check_proof(options: AgentOptions) -> None:
    """A connection proves nothing: both sides have to show their certificates."""
    elsewhere = [server for server in options.servers if not is_local(server)]
    if elsewhere and not has_joined(options.folder):
        raise AgentError(
            f"this machine hasn't joined {elsewhere[0]}; get a token there with `rota agent token`, and "
            "`rota agent join` with it. On the server's own machine, `--agents unix` for the server and "
            "`--server unix` for the agent do without"
        )


def _heed_signals(leave: asyncio.Event, drain: asyncio.Event) -> None:
    def told_to_end() -> None:
        if drain.is_set():
            leave.set()
        drain.set()

    heed_stop(told_to_end, signal.SIGTERM)
    heed_stop(leave.set, signal.SIGINT)


async def _drain(
    drain: asyncio.Event, crew: Crew, attendance: Attendance, within_s: float, leave: asyncio.Event
) -> None:
    await drain.wait()
    log.info("agent.draining", within_s=within_s)
    crew.is_draining = True
    attendance.drain()
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while not crew.is_idle:
                crew.changed.clear()
                await crew.changed.wait()
    leave.set()
    await asyncio.Event().wait()


async def _look_after(keeper: KeeperLine, files: FileStore, crew: Crew, agent: Agent, lacking: str) -> None:
    while True:
        with suppress(BackendUnavailable):
            agent.message = (await health_of(keeper, lacking)).message
        before_ms = now_ms() - _KEEP_FILES_MS
        await asyncio.to_thread(files.remove_unused, crew.files(), before_ms, _FILES_AT_ONCE)
        await asyncio.sleep(_LOOK_AFTER_S)


def _instance(folder: Path) -> str:
    """The same each time the agent is started on its folder."""
    path = folder / "instance"
    with suppress(FileNotFoundError):
        return path.read_text().strip()
    fresh = path.with_suffix(".new")
    fresh.write_text(f"{uuid4()}\n")
    fresh.replace(path)
    return path.read_text().strip()
