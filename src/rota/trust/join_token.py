"""A join token as text: where the server is, which authority it answers to, and a secret for one use.

The secret never goes over the line. What does is a proof: a keyed hash of the request for a certificate. Who
listens, or stands between, can neither use the token for a request of their own nor change the agent's; and
an answer counts only if the authority that the token names has signed it.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from secrets import token_bytes, token_hex
from typing import NamedTuple

from msgspec import MsgspecError, Struct, msgpack

from rota.trust.errors import TrustError

LASTS_MS = 15 * 60 * 1000
_PREFIX = "rotajoin_"
_SECRET_BYTES = 32
_LONGEST = 2000


class JoinTokenText(Struct, frozen=True, array_like=True):
    url: str
    """Of the server's REST interface; empty: whoever joins has to say."""
    authority_sha256: bytes
    id: str
    secret: bytes

    def __repr__(self) -> str:
        """Without the secret, which must not reach a log."""
        return f"JoinTokenText({self.id} of {self.url})"


class NewSecret(NamedTuple):
    id: str
    secret: bytes


def new_secret() -> NewSecret:
    return NewSecret(token_hex(6), token_bytes(_SECRET_BYTES))


def proof_key(secret: bytes) -> bytes:
    """What the server keeps of the secret: enough to check proofs."""
    return sha256(b"rota join\0" + secret).digest()


def proof_of(key: bytes, request_der: bytes, name: str) -> str:
    return hmac.digest(key, b"\0".join((name.encode(), request_der)), "sha256").hex()


def is_proof(key: bytes, request_der: bytes, name: str, proof: str) -> bool:
    return hmac.compare_digest(proof_of(key, request_der, name).encode(), proof.encode())


def token_text(token: JoinTokenText) -> str:
    return _PREFIX + urlsafe_b64encode(msgpack.encode(token)).rstrip(b"=").decode()


def read_token_text(text: str) -> JoinTokenText:
    body = text.strip().removeprefix(_PREFIX)
    try:
        if not text.strip().startswith(_PREFIX) or len(body) > _LONGEST:
            raise ValueError
        token = msgpack.decode(urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=JoinTokenText)
        if len(token.authority_sha256) != sha256().digest_size or len(token.secret) != _SECRET_BYTES:
            raise ValueError
    except (ValueError, binascii.Error, MsgspecError):
        raise TrustError(
            "TOKEN", "this is no join token", "copy all of what `rota agent token` printed"
        ) from None
    return token
