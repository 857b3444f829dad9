"""Credentials from a program that a kubeconfig names: ExecCredential of client.authentication.k8s.io."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from rota.kube.api.credentials import Certificate, Credentials
from rota.kube.api.errors import NoCredentials

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
GIVEN_UP_AFTER_S = 60.0
_STALE_BEFORE_S = 10.0
"""Before they expire: what is sent now must still be good when it arrives."""


class ExecPlugin(Struct, frozen=True):
    command: str
    args: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    api_version: str = API_VERSIONS[0]
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = None
    """What the plugin is to be told of the cluster."""


class _Status(Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, Meta(tz=True)] | None = None


class _ExecCredential(Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status | None = None


class PluginCredentials:
    """Asked when the last ones expire or are refused, and by one caller at a time."""

    def __init__(self, plugin: ExecPlugin, clock: Callable[[], float] = time.time) -> None:
        self._plugin = plugin
        self._clock = clock
        self._known: Credentials | None = None
        self._expires_s: float | None = None
        self._asking = asyncio.Lock()

    async def current(self) -> Credentials:
        if (fresh := self._fresh()) is not None:
            return fresh
        async with self._asking:
            if (fresh := self._fresh()) is not None:
                return fresh
            status = self._status_in(await self._run())
            found = self._credentials(status)
            self._known = found if found != self._known else self._known
            expires = status.expiration_timestamp
            self._expires_s = expires.timestamp() if expires else None
            assert self._known is not None
            return self._known

    def refused(self, credentials: Credentials) -> None:
        if credentials is self._known:
            self._expires_s = 0.0

    def _fresh(self) -> Credentials | None:
        expired = self._expires_s is not None and self._clock() >= self._expires_s - _STALE_BEFORE_S
        return None if expired else self._known

    async def _run(self) -> bytes:
        plugin = self._plugin
        request = {
            "apiVersion": plugin.api_version,
            "kind": "ExecCredential",
            "spec": {"interactive": False, **({"cluster": plugin.cluster} if plugin.cluster else {})},
        }
        environment = {
            **os.environ,
            **dict(plugin.environment),
            "KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode(),
        }
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.args,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            hint = plugin.install_hint or "install it, or check the path"
            raise self._failed(f"can't be started: {error.strerror}; {hint}") from None
        try:
            async with asyncio.timeout(GIVEN_UP_AFTER_S):
                output, errors = await process.communicate()
        except TimeoutError:
            raise self._failed(f"gave nothing within {GIVEN_UP_AFTER_S:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            said = errors.decode("utf-8", "replace").strip()[-500:]
            raise self._failed(f"ended with status {process.returncode}: {said}")
        return output

    def _status_in(self, output: bytes) -> _Status:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.DecodeError as error:
            raise self._failed(f"its answer is no ExecCredential: {error}") from None
        if answer.kind != "ExecCredential" or answer.api_version != self._plugin.api_version:
            raise self._failed(
                f"answered with {answer.kind} of {answer.api_version}; "
                f"ExecCredential of {self._plugin.api_version} was asked for"
            )
        if answer.status is None:
            raise self._failed("its answer has no status")
        return answer.status

    def _credentials(self, status: _Status) -> Credentials:
        chain, key = status.client_certificate_data, status.client_key_data
        if (chain is None) != (key is None):
            raise self._failed("gives clientCertificateData or clientKeyData without the other")
        if chain is None and not status.token:
            raise self._failed("gives neither a token nor a certificate")
        certificate = Certificate(chain.encode(), key.encode()) if chain and key else None
        return Credentials(status.token or None, certificate)

    def _failed(self, problem: str) -> NoCredentials:
        return NoCredentials(f"the credential plugin {self._plugin.command}: {problem}")
