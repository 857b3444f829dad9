"""What a server and a scheduler have in common when they admit agents: certificates, and words for a no."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.serialization import Encoding

from rota.control.errors import BadInput
from rota.store.writing.batch import IssuedCertificate
from rota.trust import Authority, TrustError
from rota.trust.authority import serial_of
from rota.trust.keys import PublicKey, key_digest
from rota.trust.times import ms_of

T = TypeVar("T")


class Addresses(NamedTuple):
    """What agents are told. Empty: they have to be told by somebody else."""

    server: str = ""
    """URL of the REST interface."""
    agents: str = ""
    """HOST:PORT of gRPC."""

    @classmethod
    def on_one_host(cls, url: str, agents_port: str) -> Self:
        host = urlsplit(url).hostname or ""
        return cls(url, f"[{host}]:{agents_port}" if ":" in host else f"{host}:{agents_port}")


def issue(authority: Authority, name: str, key: PublicKey, now_ms: int) -> IssuedCertificate:
    certificate = authority.certify_agent(name, key, now_ms)
    return IssuedCertificate(
        serial_of(certificate),
        key_digest(key),
        certificate.public_bytes(Encoding.PEM).decode(),
        ms_of(certificate.not_valid_after_utc),
    )


def checked(read: Callable[[], T]) -> T:
    try:
        return read()
    except TrustError as error:
        raise BadInput(error.field, error.message, error.help) from None


def no_invitation() -> BadInput:
    return BadInput(
        "token",
        "no such invitation: it is used, has expired, or the proof isn't made with its secret",
        "make another with `rota agent token`",
    )


def not_admitted(why: str) -> BadInput:
    return BadInput("Authorization", why, "join again with a token from `rota agent token`")
