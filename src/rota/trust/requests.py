"""What an agent sends: a request for a certificate, and calls that are signed with its key.

A signature is over method, path and body. Sent twice, a call does the same once more at worst: everything
that agents call is made so that it does no harm.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from rota.trust.authority import Authority, Identity
from rota.trust.errors import TrustError
from rota.trust.keys import PrivateKey, PublicKey, is_ours

SCHEME = "RotaAgent"
"""Of the Authorization header."""
_LONGEST = 8000
_ALGORITHM = ec.ECDSA(hashes.SHA256())


class CertificateRequest(NamedTuple):
    """Signed with the key that it is about: whoever sends it has that key."""

    key: PublicKey
    der: bytes


def new_request(key: PrivateKey, name: str) -> bytes:
    """PEM."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def read_request(pem: str, field: str = "request") -> CertificateRequest:
    """Only its key counts: what else it asks for isn't looked at, and the server decides on the name."""
    try:
        request = x509.load_pem_x509_csr(pem.encode())
        key = request.public_key()
        is_signed = request.is_signature_valid
    except (ValueError, TypeError, InvalidSignature) as error:
        raise TrustError(field, f"can't be read: {error}", "send a PKCS #10 request in PEM form") from None
    if not isinstance(key, PublicKey) or not is_ours(key) or not is_signed:
        raise TrustError(field, "isn't signed by a P-256 key", "make it with `rota agent join`")
    return CertificateRequest(key, request.public_bytes(Encoding.DER))


def authorization(key: PrivateKey, certificate: x509.Certificate, method: str, path: str, body: bytes) -> str:
    """The header's value."""
    signature = key.sign(_signed_text(method, path, body), _ALGORITHM)
    return f"{SCHEME} {_text(certificate.public_bytes(Encoding.DER))}.{_text(signature)}"


def caller_of(
    authority: Authority, header: str | None, method: str, path: str, body: bytes, now_ms: int
) -> Identity:
    """Which agent signed it. Whether it may still call is for the roster to say. Raises TrustError."""
    scheme, _, value = (header or "").partition(" ")
    if scheme != SCHEME or len(value) > _LONGEST:
        raise TrustError("Authorization", "the call isn't signed by an agent", "join with `rota agent join`")
    sent, _, signature = value.partition(".")
    try:
        certificate = x509.load_der_x509_certificate(b64decode(sent, validate=True))
        key = certificate.public_key()
        if not isinstance(key, PublicKey):
            raise InvalidSignature
        identity = authority.identify(certificate, now_ms)
        key.verify(b64decode(signature, validate=True), _signed_text(method, path, body), _ALGORITHM)
    except (ValueError, binascii.Error, InvalidSignature):
        raise TrustError(
            "Authorization", "the signature is wrong", "sign method, path and body with the agent's key"
        ) from None
    return identity


def _signed_text(method: str, path: str, body: bytes) -> bytes:
    return b"\n".join((b"rota call", method.encode(), path.encode(), sha256(body).hexdigest().encode()))


def _text(data: bytes) -> str:
    return b64encode(data).decode()
