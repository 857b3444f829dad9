"""`rota server`: store, cluster and REST interface in one process, until it is told to stop."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import random
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path

import structlog
import uvloop
from msgspec import json

from rota.backends.process.backend import ProcessBackend
from rota.backends.process.files import Rejected
from rota.backends.process.log_writer import Rotation
from rota.control.errors import BadInput, Conflict
from rota.intake.errors import InputError
from rota.intake.files import read_policy
from rota.loop.history import Retention
from rota.loop.plugin_host import PluginHost
from rota.loop.runtime import Runtime
from rota.model.ids import NodeName
from rota.model.policy import Policy
from rota.model.resources import Resources
from rota.server.app import make_app
from rota.server.first_token import local_token
from rota.server.limits import Limits
from rota.server.logs import LogFormat, configure_logs
from rota.server.serve import AddressError, RestServer, check_address
from rota.server.tls import Certificate, CertificateError, self_signed
from rota.settings.contexts import TOKEN_FILE
from rota.settings.settings import Settings
from rota.store.errors import StoreError
from rota.store.prune import History
from rota.store.store import Store, open_store

log = structlog.get_logger()

EX_OK = 0
EX_BAD_SETTINGS = 1
SERVER_FILE = "server.json"
LOG_SEGMENTS = 4


class ServerError(Exception):
    """Why it doesn't start, and what to do."""


def run_server(settings: Settings) -> int:
    """Until SIGTERM or SIGINT; answers the exit code."""
    configure_logs(_log_format(settings), settings.logs.level)
    # Hundreds of thousands of jobs live long: looking for garbage among them at the usual rate takes
    # longer than the work.
    gc.set_threshold(50_000, 20, 100)
    try:
        with _own_folder(Path(settings.server.data)) as folder, _store(settings, folder) as store:
            uvloop.run(_serve(settings, folder, store))
    except (ServerError, AddressError, CertificateError, StoreError, InputError) as error:
        print(f"rota: {error}", file=sys.stderr)
        return EX_BAD_SETTINGS
    return EX_OK


async def _serve(settings: Settings, folder: Path, store: Store) -> None:
    certificate = _certificate(settings, folder)
    check_address(settings.server.address, certificate)
    worker = settings.worker
    backend = ProcessBackend(
        folder / "worker",
        NodeName(worker.name or socket.gethostname()),
        share=Resources(cpu_milli=1000 * worker.cpus, memory_bytes=worker.memory_bytes),
        price_micro_per_hour=worker.price_micro_per_hour,
        rotation=Rotation(max(1, settings.server.limits.log_bytes // LOG_SEGMENTS), LOG_SEGMENTS),
    )
    runtime = Runtime(
        store,
        _policy(settings),
        [backend] if settings.server.embedded_worker else [],
        clock=lambda: time.time_ns() // 1_000_000,
        chance=random.random,
        put_file=_uploads(backend, settings.server.limits.upload_bytes)
        if settings.server.embedded_worker
        else _no_uploads,
        retention=_retention(settings),
        uploads=backend.files if settings.server.embedded_worker else None,
    )
    closing = asyncio.Event()
    limits = _limits(settings)
    app = make_app(runtime.desk, limits, runtime.metrics, closing=closing)
    rest = RestServer(
        app,
        settings.server.address,
        settings.server.port,
        limits=limits,
        certificate=certificate,
        closing=closing,
    )
    told_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told_to_stop.set)
    await runtime.start()
    try:
        await local_token(runtime.desk, folder / TOKEN_FILE, getuser(), runtime.controller.now_ms())
        await rest.start()
        _announce(folder, rest.url, certificate)
        log.info("ready", url=rest.url, data=str(folder), jobs=len(runtime.memory.jobs))
        await _first_of(told_to_stop, runtime.failed)
        log.info("stopping", running=sum(len(state.live) for state in runtime.memory.jobs.values()))
        (folder / SERVER_FILE).unlink(missing_ok=True)
        await rest.stop()
        if runtime.failed.is_set():
            raise ServerError("a part of the server failed, as its log says; start it again: nothing is lost")
    finally:
        await runtime.stop()


async def _first_of(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()


@contextmanager
def _own_folder(folder: Path) -> Iterator[Path]:
    """Two servers on one folder would each undo what the other does."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ServerError(
            f"{folder} can't be used: {error.strerror}; give another folder with --data"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise ServerError(
            f"another server uses {folder}; stop it, or give another folder with --data"
        ) from None
    try:
        yield folder
    finally:
        os.close(lock)


@contextmanager
def _store(settings: Settings, folder: Path) -> Iterator[Store]:
    with open_store(settings.server.database or f"sqlite:///{folder / 'rota.db'}") as store:
        yield store


def _policy(settings: Settings) -> Policy:
    path = settings.server.policy or None
    return read_policy(path, PluginHost().names if path else None)


def _certificate(settings: Settings, folder: Path) -> Certificate | None:
    tls = settings.server.tls
    if tls.certificate:
        return Certificate(Path(tls.certificate), Path(tls.key))
    if tls.self_signed:
        return self_signed(folder, [settings.server.address, "localhost", socket.gethostname()])
    return None


def _limits(settings: Settings) -> Limits:
    stated = settings.server.limits
    return Limits(
        body_bytes=stated.body_bytes,
        file_bytes=stated.upload_bytes,
        header_seconds=stated.header_timeout_ms / 1000,
        connections=stated.connections,
        requests_per_second=stated.requests_per_second,
        burst=2 * stated.requests_per_second,
    )


def _retention(settings: Settings) -> Retention:
    stated = settings.server.history
    jobs = History(stated.succeeded, stated.failed, stated.ttl_ms)
    return Retention(jobs, stated.events_ms or None, stated.uploads_ms or None)


def _log_format(settings: Settings) -> LogFormat:
    form = settings.logs.format
    if form == "auto":
        form = "text" if sys.stderr.isatty() else "json"
    return "console" if form == "text" else "json"


def _uploads(
    backend: ProcessBackend, largest_bytes: int
) -> Callable[[str, AsyncIterator[bytes]], Awaitable[bool]]:
    async def put(sha256: str, chunks: AsyncIterator[bytes]) -> bool:
        is_new = backend.files.find(sha256) is None
        try:
            await backend.files.put(chunks, sha256=sha256, largest_bytes=largest_bytes)
        except Rejected as error:
            raise BadInput("body", str(error)) from None
        return is_new

    return put


async def _no_uploads(sha256: str, chunks: AsyncIterator[bytes]) -> bool:
    raise Conflict(
        "this server has no worker that could use files", "start it with server.embedded_worker = true"
    )


def _announce(folder: Path, url: str, certificate: Certificate | None) -> None:
    """For clients on this machine: where the server is, and whom to trust that it is the one."""
    ca = (
        certificate.certificate.name
        if certificate is not None and certificate.certificate.parent == folder
        else None
    )
    path = folder / SERVER_FILE
    unfinished = path.with_suffix(".new")
    unfinished.write_bytes(json.encode({"url": url, "ca": ca}))
    unfinished.chmod(0o600)
    unfinished.replace(path)
