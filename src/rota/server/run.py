"""`rota server`: store, cluster and REST interface in one process, until it is asked to stop."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

import structlog
import uvloop
from msgspec import json

from rota.backends.agents.door import Door, DoorError
from rota.backends.backend import BackendUnavailable
from rota.clock import now_ms
from rota.control.leader import LEASE, Leader
from rota.heap import keep_the_heap_small
from rota.intake.errors import InputError
from rota.loop.live.side_threads import take_turns_often
from rota.loop.telemetry.metrics import Metrics
from rota.server.browser.hosts import Hosts
from rota.server.browser.sessions import PageTerms
from rota.server.http.front import Front
from rota.server.http.limits import Limits
from rota.server.http.serve import AddressError, RestServer, check_address
from rota.server.http.tls import Certificate, CertificateError, certified_names, self_signed
from rota.server.leading.cluster import Cluster, files_folder
from rota.server.leading.epoch import EpochError
from rota.server.leading.forward import Forward
from rota.server.leading.replica import Stage, always, fingerprint_of, holder_of, take_turns
from rota.server.leading.shared_files import FilesError, check_shared
from rota.server.logs import LogFormat, configure_logs
from rota.server.service.own_folder import LOCK_FILE, FolderTaken, database_url, own_folder
from rota.server.service.reloading import SettingsSource
from rota.settings.contexts import CA_FILE
from rota.settings.settings import Settings
from rota.signals import have_stopped, heed_hangup, heed_stop
from rota.store.errors import StoreError
from rota.store.sql.leases import Claim, Lease
from rota.store.store import Store, open_store
from rota.trust import Authority, TrustError

log = structlog.get_logger()

EX_OK = 0
EX_BAD_SETTINGS = 1
SERVER_FILE = "server.json"


class ServerError(Exception):
    """Why it doesn't start, and what to do."""


def run_server(source: SettingsSource) -> int:
    """Until SIGTERM or SIGINT; answers the exit code."""
    settings = source.resolved.settings
    configure_logs(_log_format(settings), settings.logs.level)
    # Hundreds of thousands of jobs live long: looking for garbage among them at the usual rate takes
    # longer than the work.
    gc.set_threshold(50_000, 20, 100)
    take_turns_often()
    keep_the_heap_small()
    try:
        with own_folder(Path(settings.server.data)) as folder, _store(settings, folder) as store:
            uvloop.run(_serve(source, folder, store))
    except (
        ServerError,
        FolderTaken,
        BackendUnavailable,
        AddressError,
        DoorError,
        CertificateError,
        FilesError,
        EpochError,
        StoreError,
        InputError,
        TrustError,
    ) as error:
        print(f"rota: {error}", file=sys.stderr)
        return EX_BAD_SETTINGS
    finally:
        have_stopped()
    return EX_OK


async def _serve(source: SettingsSource, folder: Path, store: Store) -> None:
    settings = source.resolved.settings
    authority = Authority.read(store.authority(lambda: Authority.create(now_ms()).written()))
    certificate = _certificate(settings, folder, authority)
    check_address(settings.server.address, certificate)
    limits = _limits(settings)
    closing, told_to_stop = asyncio.Event(), asyncio.Event()
    leader: Leader | None = None

    async def who_leads() -> Lease | None:
        return None if leader is None else await leader.who_leads()

    forward = Forward(who_leads, closing)
    hosts = Hosts.of(_names(settings, certificate))
    stage = Stage(Front(forward, limits, Metrics(), now_ms, hosts=hosts))
    rest = RestServer(
        stage,
        settings.server.address,
        settings.server.port,
        limits=limits,
        certificate=certificate,
        closing=closing,
    )
    heed_stop(told_to_stop.set)

    async def lead(lost: asyncio.Event) -> None:
        leads = always if leader is None else leader.leads
        pages = _page_terms(settings, rest, hosts)
        async with Cluster(settings, folder, store, authority, limits, rest, leads, pages, source) as cluster:
            stage.lead(cluster.app, leads)
            _reload_at_hangup(cluster, told_to_stop)
            _announce(folder, rest.url, certificate, cluster.door)
            log.info("server.ready", url=rest.url, data=str(folder), jobs=len(cluster.memory.jobs))
            await _first_of(told_to_stop, cluster.failed, lost)
            log.info(
                "server.stopping", running=sum(len(state.live) for state in cluster.memory.jobs.values())
            )
            if told_to_stop.is_set():
                (folder / SERVER_FILE).unlink(missing_ok=True)
                await rest.stop()
            stage.clear()
            if cluster.failed.is_set():
                raise ServerError(
                    "a part of the server failed, as its log says; start it again: nothing is lost"
                )

    if store.leases.is_shared and settings.agents.address and not settings.server.embedded_worker:
        check_shared(files_folder(settings), store.files_marker)
    await rest.start()
    try:
        if store.leases.is_shared:
            leader = Leader(store.leases, _claim(settings, folder, rest, certificate))
            if await _is_led_by_another(settings, leader):
                _announce(folder, rest.url, certificate, None)
                log.info("server.standby", url=rest.url, data=str(folder))
            await take_turns(leader, lead, told_to_stop)
        else:
            await lead(asyncio.Event())
    finally:
        (folder / SERVER_FILE).unlink(missing_ok=True)
        await rest.stop()
        await forward.close()
        if leader is not None:
            leader.close()


def _claim(settings: Settings, folder: Path, rest: RestServer, certificate: Certificate | None) -> Claim:
    """Without an address if it runs jobs itself: no other server could continue them, so none stands by."""
    address = "" if settings.server.embedded_worker else rest.reached_at(settings.server.public_url)
    return Claim(LEASE, holder_of(folder), address, fingerprint_of(certificate))


async def _is_led_by_another(settings: Settings, leader: Leader) -> bool:
    """Raises ServerError where this server and the one that leads can't be replicas of each other."""
    lease = await leader.who_leads()
    if lease is None or lease.holder == leader.holder:
        return False
    if settings.server.embedded_worker:
        raise ServerError(
            "another server uses this database, and one that runs jobs itself can't stand by for it; stop "
            f"the other and wait {lease.left_ms / 1000:.0f} s, or set server.embedded_worker = false on both"
        )
    if not lease.address:
        raise ServerError(
            "the leader runs jobs itself, so no server can stand by for it; "
            "set server.embedded_worker = false there, too"
        )
    return True


def _reload_at_hangup(cluster: Cluster, told_to_stop: asyncio.Event) -> None:
    under_way: set[asyncio.Task[None]] = set()

    def reload() -> None:
        task = asyncio.create_task(cluster.reloading.reload_unasked())
        under_way.add(task)
        task.add_done_callback(under_way.discard)

    heed_hangup(reload, told_to_stop.set)


async def _first_of(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()


@contextmanager
def _store(settings: Settings, folder: Path) -> Iterator[Store]:
    url = database_url(settings.server.database, folder)
    with open_store(url, lock=folder / LOCK_FILE) as store:
        yield store


def _certificate(settings: Settings, folder: Path, authority: Authority) -> Certificate | None:
    tls = settings.server.tls
    if tls.certificate:
        return Certificate(Path(tls.certificate), Path(tls.key))
    if tls.self_signed:
        hosts = [settings.server.address, "localhost", socket.gethostname()]
        if settings.server.public_url:
            hosts.append(urlsplit(settings.server.public_url).hostname or "localhost")
        return self_signed(folder, hosts, authority, now_ms())
    return None


def _names(settings: Settings, certificate: Certificate | None) -> Iterator[str]:
    """By which browsers may ask. Who shows a certificate for a name has it."""
    server = settings.server
    yield from server.hosts
    yield server.address
    yield socket.gethostname()
    for url in (server.public_url, server.pages.url):
        yield urlsplit(url).hostname or ""
    if certificate is not None:
        yield from certified_names(certificate)


def _page_terms(settings: Settings, rest: RestServer, hosts: Hosts) -> PageTerms:
    stated = settings.server.pages
    return PageTerms(
        url=stated.url.rstrip("/") or rest.reached_at(settings.server.public_url),
        hosts=hosts,
        session_ms=stated.session_ms,
        idle_ms=stated.idle_ms,
        takes_tokens=stated.token_sign_in,
    )


def _limits(settings: Settings) -> Limits:
    stated = settings.server.limits
    return Limits(
        body_bytes=stated.body_bytes,
        file_bytes=stated.upload_bytes,
        header_seconds=stated.header_timeout_ms / 1000,
        connections=stated.connections,
        connections_per_user=stated.connections_per_user,
        streams_per_user=stated.streams_per_user,
        proxies=tuple(map(ip_network, settings.server.trusted_proxies)),
        requests_per_second=stated.requests_per_second,
        burst=2 * stated.requests_per_second,
        tokens_per_user=stated.tokens_per_user,
        sessions_per_user=settings.server.pages.sessions_per_user,
        token_age_ms=stated.token_age_ms or None,
        heartbeat_seconds=stated.heartbeat_ms / 1000,
    )


def _log_format(settings: Settings) -> LogFormat:
    form = settings.logs.format
    if form == "auto":
        form = "text" if sys.stderr.isatty() else "json"
    return "console" if form == "text" else "json"


def _announce(folder: Path, url: str, certificate: Certificate | None, door: Door | None) -> None:
    """For clients and agents on this machine: where the server is, and whom to trust that it is the one."""
    ca = CA_FILE if certificate is not None and certificate.certificate.parent == folder else None
    path = folder / SERVER_FILE
    unfinished = path.with_suffix(".new")
    unfinished.write_bytes(json.encode({"url": url, "ca": ca, "agents": door and door.target}))
    unfinished.chmod(0o600)
    unfinished.replace(path)
