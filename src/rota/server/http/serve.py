"""The application on a port, in the loop that is there."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Generator
from contextlib import contextmanager
from ipaddress import ip_address
from urllib.parse import urlsplit, urlunsplit

from litestar.types import ASGIApp
from uvicorn import Config, Server

from rota.backends.agents.service import RestAddress
from rota.server.http.connections import guarded
from rota.server.http.limits import DEFAULT_LIMITS, Limits
from rota.server.http.tls import CIPHERS, Certificate, certificate_sha256, check_certificate

_GRACE_SECONDS = 5
_KEEP_ALIVE_SECONDS = 60
_BACKLOG = 1024
_LAST_PORT = 65_535
_REMEDY = "give a certificate and its key, or --tls-self-signed"


class AddressError(Exception):
    """A problem with an address, and its remedy."""


class RestServer:
    """The caller starts and stops it, and handles signals."""

    def __init__(
        self,
        app: ASGIApp,
        host: str,
        port: int,
        *,
        limits: Limits = DEFAULT_LIMITS,
        certificate: Certificate | None = None,
        closing: asyncio.Event | None = None,
    ) -> None:
        """`closing` is the application's: set so that its streams end."""
        check_address(host, certificate)
        self._host = host
        self._port = port
        self._certificate = certificate
        self._closing = closing or asyncio.Event()
        self._socket: socket.socket | None = None
        self._task: asyncio.Task[None] | None = None
        self._server = _Server(
            Config(
                app,
                http=guarded(limits),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=_GRACE_SECONDS,
                ssl_certfile=None if certificate is None else certificate.certificate,
                ssl_keyfile=None if certificate is None else certificate.key,
                ssl_ciphers=CIPHERS,
            )
        )

    @property
    def url(self) -> str:
        """With the port that was given out, where 0 was asked for."""
        assert self._socket is not None, "start it first"
        port = self._socket.getsockname()[1]
        host = f"[{self._host}]" if ":" in self._host else self._host
        return urlunsplit(
            ("https" if self._certificate is not None else "http", f"{host}:{port}", "", "", "")
        )

    def reached_at(self, public_url: str = "") -> str:
        """The public URL: from the settings, or made from the host name if the server listens on all
        addresses."""
        if public_url:
            return public_url.rstrip("/")
        address = urlsplit(self.url)
        is_any = address.hostname in ("0.0.0.0", "::")
        return f"{address.scheme}://{socket.gethostname()}:{address.port}" if is_any else self.url

    @property
    def where_dialled(self) -> RestAddress:
        """For agents that reach this machine, at whichever of its names."""
        address = urlsplit(self.url)
        return RestAddress(address.port or 0, self._certificate is not None)

    @property
    def on_this_machine(self) -> RestAddress:
        """For agents on this machine: they get the certificate directly."""
        address = urlsplit(self.url)
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address.hostname or "", address.hostname or "")
        digest = b"" if self._certificate is None else certificate_sha256(self._certificate)
        return RestAddress(
            address.port or 0,
            self._certificate is not None,
            f"[{host}]" if ":" in host else host,
            digest,
        )

    async def start(self) -> None:
        """Once it returns, connections are taken."""
        self._socket = _listening(self._host, self._port)
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]), name="rest")
        while not self._server.started:
            if self._task.done():
                self._task.result()
                raise AddressError(f"nothing could be served at {self._host}:{self._port}")
            await asyncio.sleep(0.001)

    async def stop(self) -> None:
        """Requests that are being answered get their answers; streams end."""
        self._closing.set()
        self._server.should_exit = True
        if self._task is not None:
            await self._task
        if self._socket is not None:
            self._socket.close()


class _Server(Server):
    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def check_address(host: str, certificate: Certificate | None, remedy: str = _REMEDY) -> None:
    """Tokens go over the line: beyond this machine they need TLS."""
    if certificate is not None:
        check_certificate(certificate)
    elif not is_loopback(host):
        raise AddressError(
            f"{host or 'every address'} can be reached by others, who could read tokens on their way; "
            f"{remedy}, or serve at 127.0.0.1"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _listening(host: str, port: int) -> socket.socket:
    if not 0 <= port <= _LAST_PORT:
        raise AddressError(f"{port} is not a port; give 1 to {_LAST_PORT}, or 0 for any that is free")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise AddressError(f"{host}:{port}: {error}; give an address of this machine") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise AddressError(f"{host}:{port}: {error}; give another port, or stop what uses this one") from None
    return listening
