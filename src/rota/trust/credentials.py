"""What either end of mutual TLS is set up with, as plain bytes."""

from __future__ import annotations

from typing import NamedTuple

from cryptography.hazmat.primitives.serialization import Encoding

from rota.trust.authority import Authority
from rota.trust.keys import key_pem, new_key
from rota.trust.times import DAY_MS

SERVER_NAME = "server.rota.internal"
"""What agents expect a server's certificate to name, whatever address they reach it at: addresses change,
and no certificate of an agent can name this."""
_SERVER_LASTS_MS = 3 * 365 * DAY_MS


class Credentials(NamedTuple):
    """PEM, in the order of `grpc.ssl_server_credentials([(key, certificate)], ca)`."""

    key: bytes
    certificate: bytes
    ca: bytes
    """Who must have signed the other end's certificate."""


def server_credentials(authority: Authority, now_ms: int) -> Credentials:
    """Made anew at every start of a server, and kept nowhere."""
    key = new_key()
    certificate = authority.certify_server(key.public_key(), (SERVER_NAME,), now_ms, _SERVER_LASTS_MS)
    return Credentials(key_pem(key), certificate.public_bytes(Encoding.PEM), authority.pem)
