"""`rota agent`: reads the settings and starts the agent."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from rota.model.ids import Labels, NodeName
from rota.model.resources import Resources
from rota.model.taints import Effect, Taint
from rota.settings.errors import SettingsError
from rota.settings.load import Resolved, resolve_settings
from rota.settings.paths import default_files
from rota.trust import TrustError
from rota.trust.folder import AgentIdentity, has_joined, read_identity
from rota.trust.local_socket import is_local, local_address, socket_path

LOG_SEGMENTS = 4


def work(files: Sequence[str], flags: Mapping[str, object]) -> int:
    """The exit code, once the agent has left."""
    resolved = resolve_settings((*default_files(os.environ), *files), os.environ, flags)
    settings = resolved.settings
    joined = _joined(Path(settings.agent.data))
    servers = _servers(resolved, joined)
    from rota.agent.machine import Offering
    from rota.agent.run import AgentError, AgentOptions, run_agent
    from rota.backends.backend import BackendUnavailable
    from rota.backends.process.client.isolation_options import confinement_of, is_root_refused
    from rota.backends.process.keeper.streams.log_writer import Rotation
    from rota.backends.process.options import KeeperOptions
    from rota.server.logs import configure_logs

    if refused := is_root_refused(settings.worker):
        print(f"rota: {refused}", file=sys.stderr)
        return 1
    is_text = settings.logs.format == "text" or (settings.logs.format == "auto" and sys.stderr.isatty())
    configure_logs("console" if is_text else "json", settings.logs.level)
    worker = settings.worker
    options = AgentOptions(
        servers,
        NodeName(joined.name if joined else worker.name or socket.gethostname()),
        Path(settings.agent.data),
        Offering(
            Resources(cpu_milli=1000 * worker.cpus, memory_bytes=worker.memory_bytes),
            worker.price_micro_per_hour,
            settings.agent.pool,
            _labels(resolved),
            _taints(resolved),
        ),
        KeeperOptions(
            Rotation(max(1, settings.server.limits.log_bytes // LOG_SEGMENTS), LOG_SEGMENTS),
            start_within_ms=worker.start_within_ms,
            confinement=confinement_of(worker, is_shared=True, hidden=()),
            most_processes=worker.pids,
            most_storage_bytes=worker.storage_bytes,
        ),
        settings.agent.drain_ms,
    )
    try:
        run_agent(options)
    except (AgentError, BackendUnavailable) as error:
        print(f"rota: {error}", file=sys.stderr)
        return 1
    return 0


def _joined(folder: Path) -> AgentIdentity | None:
    """The identity of this machine; None: it hasn't joined."""
    try:
        return read_identity(folder) if has_joined(folder) else None
    except TrustError as error:
        raise SettingsError(error.field, "", error.message, error.help) from None


def _servers(resolved: Resolved, joined: AgentIdentity | None) -> tuple[str, ...]:
    """The configured servers, or else the one that this machine joined."""
    servers = resolved.settings.agent.server
    if not servers and joined is not None and joined.agents_address:
        servers = (joined.agents_address,)
    if not servers:
        raise _wrong(
            resolved,
            "server",
            "isn't given",
            "join with `rota agent join`; on the server's own machine, give `--server unix`",
        )
    data = resolved.settings.server.data
    servers = tuple(
        local_address(socket_path(server, data)) if is_local(server) else server for server in servers
    )
    for server in servers:
        if is_local(server):
            continue
        host, _, port = server.rpartition(":")
        if not host or not port.isdecimal():
            raise _wrong(
                resolved,
                "server",
                f"'{server}' is not HOST:PORT",
                "write it like rota.example.org:8427, or unix",
            )
    return servers


def address_and_port(text: str | None) -> tuple[str | None, int | None]:
    """`127.0.0.1:8427`, `[::1]:8427`, the address alone, or `unix` with or without a path."""
    if text is None:
        return None, None
    if is_local(text):
        return text, None
    if text.startswith("["):
        address, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    else:
        address, port = text, ""
    if not address or (port and not port.isdecimal()):
        raise typer.BadParameter(f"'{text}' is not an address and port; write it like 127.0.0.1:8427")
    return address, int(port) if port else None


def _labels(resolved: Resolved) -> Labels:
    labels: dict[str, str] = {}
    for part in _parts(resolved.settings.agent.labels):
        key, equals, value = part.partition("=")
        if not key or not equals:
            raise _wrong(resolved, "labels", f"'{part}' is not a label", "write it like disk=fast,zone=a")
        labels[key] = value
    return tuple(sorted(labels.items()))


def _taints(resolved: Resolved) -> tuple[Taint, ...]:
    effects = {effect.value: effect for effect in Effect}
    taints = []
    for part in _parts(resolved.settings.agent.taints):
        pair, _, effect = part.rpartition(":")
        key, _, value = pair.partition("=")
        if not key or effect not in effects:
            remedy = f"write it like gpu=only:NoSchedule; effects are {', '.join(effects)}"
            raise _wrong(resolved, "taints", f"'{part}' is not a taint", remedy)
        taints.append(Taint(key, effects[effect], value))
    return tuple(taints)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _wrong(resolved: Resolved, key: str, problem: str, remedy: str) -> SettingsError:
    origin = resolved.origins.get(("agent", key), "default")
    return SettingsError(origin, f"agent.{key}", problem, remedy)
