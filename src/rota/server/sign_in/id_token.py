"""ID tokens: signature and claims (OpenID Connect Core 1.0, 2 and 3.1.3.7; RFC 7515, 7517, 7518, 8725).

Two algorithms are known, each bound to its kind of key: nothing that a token says of itself can turn a public
key into a shared secret, or do without a signature.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from msgspec import MsgspecError, Struct, json

LONGEST = 16 * 1024
"""Characters of a token. Those with hundreds of groups have about 10,000."""
LEEWAY_MS = 60_000
"""How far the provider's clock may be off."""
FRESH_MS = 10 * 60_000
"""An ID token is for signing in now, however long it is valid."""
_LEAST_RSA_BITS, _MOST_RSA_BITS = 2048, 8192
_P256_BYTES = 32

PublicKey: TypeAlias = "rsa.RSAPublicKey | ec.EllipticCurvePublicKey"


class BadIdToken(Exception):
    """Why a user isn't signed in. The text may be shown to the user."""


class UnknownKey(BadIdToken):
    """Signed with a key that isn't among those known: the provider may have a new one."""


class Jwk(Struct, frozen=True):
    """A public key, as providers publish it. What isn't known of it is left out."""

    kty: str
    kid: str = ""
    use: str = "sig"
    alg: str = ""
    n: str = ""
    e: str = ""
    crv: str = ""
    x: str = ""
    y: str = ""


class Expected(Struct, frozen=True):
    """What the claims must say."""

    issuer: str
    client_id: str
    audience: str
    algorithms: tuple[str, ...]


class _Header(Struct, frozen=True):
    alg: str
    kid: str = ""
    crit: object = None


class Claims(Struct, frozen=True):
    issuer: str
    subject: str
    expires_ms: int
    all: Mapping[str, Any]


class _Registered(Struct, frozen=True):
    iss: str
    sub: str
    aud: str | list[str]
    exp: float
    iat: float
    nbf: float | None = None
    azp: str | None = None


_UNREADABLE = (MsgspecError, UnicodeDecodeError, RecursionError)
_headers = json.Decoder(_Header)
_registered = json.Decoder(_Registered)
_objects = json.Decoder(dict[str, Any])


def read_id_token(text: str, keys: Sequence[Jwk], expected: Expected, now_ms: int) -> Claims:
    """Raises BadIdToken; UnknownKey if other keys might do."""
    if len(text) > LONGEST:
        raise BadIdToken(f"the ID token has more than {LONGEST:,} characters")
    parts = text.split(".")
    if len(parts) != 3 or not text.isascii():
        raise BadIdToken("this is no signed ID token")
    raw_header, raw_claims, signature = map(_decoded, parts)
    try:
        header = _headers.decode(raw_header)
    except _UNREADABLE:
        raise BadIdToken("the ID token's header can't be read") from None
    if header.alg not in expected.algorithms or header.alg not in _VERIFIERS:
        raise BadIdToken("the ID token is signed in a way that isn't accepted here")
    if header.crit is not None:
        raise BadIdToken("the ID token wants something that isn't understood here")
    _verify(header, keys, f"{parts[0]}.{parts[1]}".encode(), signature)
    return _checked(raw_claims, expected, now_ms)


def _decoded(part: str) -> bytes:
    try:
        return b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (Base64Error, ValueError):
        raise BadIdToken("the ID token can't be read") from None


def _verify(header: _Header, keys: Sequence[Jwk], signed: bytes, signature: bytes) -> None:
    """With the key that it names. One that names none may be of any, as long as there are few."""
    kind, verify = _VERIFIERS[header.alg]
    fitting = [key for key in keys if key.kty == kind and key.use == "sig" and key.alg in ("", header.alg)]
    named = [key for key in fitting if key.kid == header.kid] if header.kid else fitting
    if not named or (not header.kid and len(named) > 1):
        raise UnknownKey("the ID token doesn't say with which of the provider's keys it is signed")
    for key in named:
        try:
            verify(key, signed, signature)
            return
        except (InvalidSignature, ValueError):
            continue
    raise UnknownKey("the ID token isn't signed by the provider")


def _verify_rs256(key: Jwk, signed: bytes, signature: bytes) -> None:
    public = rsa.RSAPublicNumbers(_number(key.e), _number(key.n)).public_key()
    if not _LEAST_RSA_BITS <= public.key_size <= _MOST_RSA_BITS:
        raise ValueError("a key of this size isn't trusted")
    public.verify(signature, signed, padding.PKCS1v15(), SHA256())


def _verify_es256(key: Jwk, signed: bytes, signature: bytes) -> None:
    if key.crv != "P-256" or len(signature) != 2 * _P256_BYTES:
        raise ValueError("not of the curve P-256")
    public = ec.EllipticCurvePublicNumbers(_number(key.x), _number(key.y), ec.SECP256R1()).public_key()
    halves = signature[:_P256_BYTES], signature[_P256_BYTES:]
    r, s = (int.from_bytes(half, "big") for half in halves)
    public.verify(encode_dss_signature(r, s), signed, ec.ECDSA(SHA256()))


_VERIFIERS: Mapping[str, tuple[str, Callable[[Jwk, bytes, bytes], None]]] = {
    "RS256": ("RSA", _verify_rs256),
    "ES256": ("EC", _verify_es256),
}


def _number(text: str) -> int:
    if not text or len(text) > 2 * _MOST_RSA_BITS // 6:
        raise ValueError("not a number of a key")
    return int.from_bytes(_decoded(text), "big")


def _checked(raw: bytes, expected: Expected, now_ms: int) -> Claims:
    try:
        claims = _registered.decode(raw)
        everything = _objects.decode(raw)
    except _UNREADABLE:
        raise BadIdToken("the ID token lacks iss, sub, aud, exp or iat, or they can't be read") from None
    if claims.iss != expected.issuer:
        raise BadIdToken("the ID token is of another provider")
    audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    if expected.audience not in audiences:
        raise BadIdToken("the ID token is for another application")
    if (claims.azp is not None or len(audiences) > 1) and claims.azp != expected.client_id:
        raise BadIdToken("the ID token was given to another application")
    exp_ms, iat_ms = _ms(claims.exp), _ms(claims.iat)
    if exp_ms + LEEWAY_MS <= now_ms:
        raise BadIdToken("the ID token has expired")
    if iat_ms + FRESH_MS + LEEWAY_MS <= now_ms:
        raise BadIdToken("the ID token was made too long ago")
    if iat_ms - LEEWAY_MS > now_ms or (claims.nbf is not None and _ms(claims.nbf) - LEEWAY_MS > now_ms):
        raise BadIdToken("the ID token is of a time to come: check the clocks")
    return Claims(claims.iss, claims.sub, exp_ms, everything)


def _ms(seconds: float) -> int:
    """Far beyond any date, but never infinite."""
    return int(min(max(seconds, 0.0), 1e11) * 1000)
