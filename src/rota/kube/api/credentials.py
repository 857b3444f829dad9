"""What an account shows to be let in, and where it comes from anew as it rotates."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import structlog
from msgspec import Struct

from rota.kube.api.errors import NoCredentials

REREAD_AFTER_S = 60.0
"""Kubelets renew a pod's token with a fifth of its life to go: minutes at least."""

log = structlog.get_logger()


class Certificate(Struct, frozen=True):
    chain_pem: bytes
    key_pem: bytes

    def __repr__(self) -> str:
        """Without the key, which must not reach a log."""
        return "Certificate(…)"


class Credentials(Struct, frozen=True):
    token: str | None = None
    certificate: Certificate | None = None

    def __repr__(self) -> str:
        """Without secrets, which must not reach a log."""
        return "Credentials(…)"


class CredentialSource(Protocol):
    async def current(self) -> Credentials:
        """The same object as long as they are the same. Raises NoCredentials."""
        ...

    def refused(self, credentials: Credentials) -> None:
        """The cluster doesn't know them (any more): the next are to be fresh, if there are others."""
        ...


class FixedCredentials:
    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def current(self) -> Credentials:
        return self._credentials

    def refused(self, credentials: Credentials) -> None:
        pass


class CredentialFiles:
    """Read again every minute: somebody replaces them before they expire."""

    def __init__(
        self,
        *,
        token: Path | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        otherwise: Credentials | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`otherwise`: what isn't in files."""
        self._token = token
        self._certificate = certificate
        self._key = key
        self._otherwise = otherwise or Credentials()
        self._clock = clock
        self._read: Credentials | None = None
        self._read_at_s = 0.0

    async def current(self) -> Credentials:
        now_s = self._clock()
        if self._read is None or now_s - self._read_at_s >= REREAD_AFTER_S:
            self._read = self._read_files(self._read)
            self._read_at_s = now_s
        return self._read

    def refused(self, credentials: Credentials) -> None:
        if credentials is self._read:
            self._read_at_s = -REREAD_AFTER_S

    def _read_files(self, before: Credentials | None) -> Credentials:
        try:
            found = Credentials(self._token_text(), self._certificate_text())
        except NoCredentials as error:
            if before is None:
                raise
            # They are replaced just now, perhaps; those from before may still be good.
            log.warning("kube.credentials_unreadable", why=str(error))
            return before
        return before if before == found else found

    def _token_text(self) -> str | None:
        if self._token is None:
            return self._otherwise.token
        token = _content(self._token).decode("ascii", "replace").strip()
        if not token or not token.isprintable():
            raise NoCredentials(f"{self._token}: holds no token; write one into it")
        return token

    def _certificate_text(self) -> Certificate | None:
        if self._certificate is None or self._key is None:
            return self._otherwise.certificate
        return Certificate(_content(self._certificate), _content(self._key))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NoCredentials(f"{path}: can't be read: {error.strerror}; check the path and its mode") from None
