"""`rota scheduler`: from its start until it is told to stop."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import structlog
import uvloop
from msgspec import Struct

from rota.backends.agents.certificates import by_certificate, grpc_credentials
from rota.backends.agents.door import Door, DoorError, Place
from rota.backends.agents.service import AgentsService, by_socket
from rota.backends.agents.terms import Terms
from rota.clock import now_ms
from rota.control.agent_admission import Addresses
from rota.heap import keep_the_heap_small
from rota.intake.errors import InputError
from rota.intake.files import read_policy
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.live.side_threads import take_turns_often
from rota.loop.telemetry.loop_lag import silence_watched
from rota.model.policy import Policy
from rota.server.http.serve import AddressError, RestServer, check_address
from rota.server.http.tls import Certificate, CertificateError
from rota.server.logs import LogFormat, configure_logs
from rota.signals import have_stopped, heed_stop
from rota.stateless_scheduler.authority import AuthorityError
from rota.stateless_scheduler.core import Scheduler
from rota.stateless_scheduler.desk import LIMITS, scheduler_app
from rota.stateless_scheduler.enrolment import SchedulerEnrolment
from rota.stateless_scheduler.service import ControllersDoor, ControllersService
from rota.stateless_scheduler.tokens import TokensError, read_tokens
from rota.stateless_scheduler.trust import AgentsTrust, Trust, trust_by
from rota.stateless_scheduler.waiting import any_of
from rota.trust import TrustError
from rota.trust.local_socket import LocalSocket

log = structlog.get_logger()


class SchedulerOptions(Struct, frozen=True, kw_only=True):
    agents: Place | Path
    """A path: of a socket for agents of this user alone."""
    controllers: Place
    rest: Place
    tokens: Path
    policy: Path | None = None
    lost_after_ms: int = 60_000
    abandoned_after_ms: int = 3_600_000
    certificate: Certificate | None = None
    """Of the REST interface, and to controllers."""
    agents_trust: AgentsTrust | None = None
    """Of an authority elsewhere."""
    authority: Path | None = None
    """The folder of one that this scheduler admits agents by."""
    public_url: str = ""
    """Where agents reach the REST interface; empty: at the host's name."""
    log_format: LogFormat = "json"


def run_scheduler(options: SchedulerOptions) -> int:
    """Until SIGTERM or SIGINT; answers the exit code."""
    configure_logs(options.log_format)
    # Actions live long: looking for garbage among them at the usual rate takes longer than the work.
    gc.set_threshold(50_000, 20, 100)
    take_turns_often()
    keep_the_heap_small()
    try:
        return uvloop.run(_serve(options))
    except (
        AddressError,
        AuthorityError,
        CertificateError,
        DoorError,
        InputError,
        TokensError,
        TrustError,
    ) as error:
        print(f"rota: {error}", file=sys.stderr)
        return 1
    finally:
        have_stopped()


async def _serve(options: SchedulerOptions) -> int:
    tokens = read_tokens(options.tokens)
    trust = trust_by(options.certificate, options.authority, options.agents_trust)
    _check_addresses(options, trust)
    terms = Terms(options.lost_after_ms)
    scheduler = Scheduler(
        tokens.controllers, _policy(options.policy), terms, options.abandoned_after_ms, now_ms
    )
    trust.roster.watch(scheduler.backend.seen, scheduler.backend.cut)
    enrolment = None
    if trust.authority is not None:
        enrolment = SchedulerEnrolment(trust.authority, trust.roster, now_ms)
    rest = RestServer(
        scheduler_app(scheduler, tokens, enrolment),
        options.rest.host,
        options.rest.port,
        limits=LIMITS,
        certificate=trust.certificate,
    )
    told_to_stop = asyncio.Event()
    heed_stop(told_to_stop.set)
    await scheduler.start()
    await rest.start()
    try:
        service = ControllersService(scheduler.directing, tokens, terms)
        async with (
            silence_watched(scheduler.metrics),
            _doors(options, trust, scheduler, service, rest) as (agents, controllers),
        ):
            if enrolment is not None:
                enrolment.addresses = _addresses(options, rest, agents)
            log.info("scheduler.ready", agents=agents.target, controllers=controllers.target, rest=rest.url)
            await any_of(told_to_stop, scheduler.failed)
            log.info("scheduler.stopping")
    finally:
        await rest.stop()
        await scheduler.stop()
    return 0 if told_to_stop.is_set() else 1


@asynccontextmanager
async def _doors(
    options: SchedulerOptions,
    trust: Trust,
    scheduler: Scheduler,
    service: ControllersService,
    rest: RestServer,
) -> AsyncIterator[tuple[Door, ControllersDoor]]:
    agents = _agents_door(options, trust, scheduler, rest)
    controllers = ControllersDoor(service, options.controllers, _one_sided(trust.certificate))
    noting = asyncio.create_task(_log_notices(scheduler))
    await agents.open()
    await controllers.open()
    try:
        yield agents, controllers
    finally:
        await controllers.close()
        await agents.close()
        noting.cancel()


def _agents_door(options: SchedulerOptions, trust: Trust, scheduler: Scheduler, rest: RestServer) -> Door:
    if isinstance(options.agents, Path):
        service = AgentsService(scheduler.backend, rest.on_this_machine, by_socket)
        return Door(service, LocalSocket(options.agents, serves=True))
    assert trust.credentials is not None, "_check_addresses has seen to it"
    service = AgentsService(scheduler.backend, rest.where_dialled, by_certificate(trust.roster))
    return Door(service, options.agents, grpc_credentials(trust.credentials))


async def _log_notices(scheduler: Scheduler) -> None:
    async for notice in scheduler.backend.notices:
        log.info(notice.kind.lower(), agent=notice.agent, **notice.data)


def _check_addresses(options: SchedulerOptions, trust: Trust) -> None:
    for host in (options.rest.host, options.controllers.host):
        check_address(
            host, trust.certificate, "give --tls-cert and --tls-key, or an --authority made for a --host"
        )
    if trust.credentials is None and isinstance(options.agents, Place):
        raise AddressError(
            f"{options.agents} can be reached by others, who could pass for agents; "
            "give --authority, or --agents-cert, --agents-key and --agents-ca, or --agents unix"
        )


def _addresses(options: SchedulerOptions, rest: RestServer, agents: Door) -> Addresses:
    url = rest.reached_at(options.public_url)
    if isinstance(options.agents, Path):
        return Addresses(url)
    return Addresses.on_one_host(url, agents.target.rpartition(":")[2])


def _one_sided(certificate: Certificate | None) -> grpc.ServerCredentials | None:
    """Controllers show a token."""
    if certificate is None:
        return None
    return grpc.ssl_server_credentials([(certificate.key.read_bytes(), certificate.certificate.read_bytes())])


def _policy(path: Path | None) -> Policy:
    return read_policy(path, PluginHost().names if path else None)
