"""What a server would refuse to start with, found without starting it. `rota config check` and `rota server`
both ask here. Nothing is changed by it."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from rota.backends.process.client.isolation_options import is_root_refused
from rota.intake.errors import InputError
from rota.launch.account import has_rights
from rota.server.http.serve import AddressError, check_address
from rota.server.http.tls import Certificate, CertificateError
from rota.server.leading.cluster import KEY_FILE
from rota.server.service.own_folder import DATABASE_FILE, LOCK_FILE
from rota.server.service.reloading import read_policy_file
from rota.settings.settings import Settings
from rota.store.errors import StoreError
from rota.store.sql.database import connect
from rota.store.sql.faults import told_plainly
from rota.store.sql.migrate import check_schema
from rota.trust.local_socket import is_local
from rota.trust.sealing import BadKeyFile, sealer_of


class Finding(Struct, frozen=True):
    text: str
    """Where, what is wrong, and what to do."""
    is_warning: bool = False
    """The server starts nevertheless, or may."""


def preflight(settings: Settings, *, is_start: bool = False) -> list[Finding]:
    """All that is wrong. `is_start`: the server is about to start, as this user."""
    checks: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
        _policy,
        _certificate,
        _folders,
        _database,
        _key,
        _isolation,
    )
    findings = [finding for check in checks for finding in check(settings)]
    if refused := is_root_refused(settings.worker):
        findings.append(Finding(refused, is_warning=not is_start))
    if not is_start and not is_served(Path(settings.server.data)):
        findings += _ports(settings)
    return findings


def is_served(folder: Path) -> bool:
    """Whether a server runs on this folder now."""
    try:
        lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _policy(settings: Settings) -> Iterator[Finding]:
    try:
        read_policy_file(settings.server.policy)
    except InputError as error:
        yield from (Finding(f"server.policy: {one}") for one in error.all)


def _certificate(settings: Settings) -> Iterator[Finding]:
    tls = settings.server.tls
    if not tls.certificate:
        return
    try:
        check_address(settings.server.address, Certificate(Path(tls.certificate), Path(tls.key)))
    except (CertificateError, AddressError) as error:
        yield Finding(f"server.tls: {error}")


def _folders(settings: Settings) -> Iterator[Finding]:
    for name, stated in (("server.data", settings.server.data), ("server.files", settings.server.files)):
        if not stated:
            continue
        # What isn't there is made, if the folder around it lets us.
        there = next(one for one in (Path(stated), *Path(stated).absolute().parents) if one.exists())
        if not there.is_dir():
            yield Finding(f"{name}: {there} is not a folder; give another one")
        elif not os.access(there, os.W_OK | os.X_OK):
            yield Finding(f"{name}: {there} can't be written by this user; give another one, or rights to it")


def _database(settings: Settings) -> Iterator[Finding]:
    url = settings.server.database
    if not url:
        path = Path(settings.server.data) / DATABASE_FILE
        if not path.exists() or not os.access(path.parent, os.W_OK | os.X_OK):
            return
        url = f"sqlite:///{path}"
    elif url.startswith("sqlite") and not Path(url.partition("///")[2]).exists():
        return
    try:
        with told_plainly():
            database = connect(url, 1)
            try:
                with database.readers.begin() as connection:
                    check_schema(connection)
            finally:
                database.close()
    except StoreError as error:
        yield Finding(f"server.database: {error}")


def _key(settings: Settings) -> Iterator[Finding]:
    path = Path(settings.secrets.key_file or Path(settings.server.data) / KEY_FILE)
    try:
        if path.exists():
            sealer_of(path)
    except (BadKeyFile, OSError) as error:
        yield Finding(f"secrets.key_file: {error}")


def _isolation(settings: Settings) -> Iterator[Finding]:
    worker = settings.worker
    if settings.server.embedded_worker and worker.isolation in ("project", "user") and not has_rights():
        yield Finding(
            f'worker.isolation: "{worker.isolation}" needs rights that this user lacks; run `rota keeper '
            "--server` as a service that has them (docs/process-backend.md)",
            is_warning=True,
        )


def _ports(settings: Settings) -> Iterator[Finding]:
    doors = [("server.port", settings.server.address, settings.server.port)]
    if settings.agents.address and not is_local(settings.agents.address):
        doors.append(("agents.port", settings.agents.address, settings.agents.port))
    for name, host, port in doors:
        if port and (problem := _why_not(host, port)):
            yield Finding(f"{name}: {host}:{port} {problem}; give another port", is_warning=True)


def _why_not(host: str, port: int) -> str:
    """Why nothing can listen there; empty: it can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as door:
            door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            door.bind(address)
    except OSError as error:
        return "is in use" if error.errno == errno.EADDRINUSE else f"can't be used: {error.strerror}"
    return ""
