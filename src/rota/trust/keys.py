"""Keys, and their text: elliptic curve P-256 throughout, which every TLS library knows."""

from __future__ import annotations

from hashlib import sha256

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

PrivateKey = ec.EllipticCurvePrivateKey
PublicKey = ec.EllipticCurvePublicKey


def new_key() -> PrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def is_ours(key: object) -> bool:
    """Of the kind that this module makes."""
    return isinstance(key, PublicKey | PrivateKey) and isinstance(key.curve, ec.SECP256R1)


def key_pem(key: PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def read_key(pem: bytes) -> PrivateKey:
    """Raises ValueError."""
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        raise ValueError("the key is encrypted") from None
    if not isinstance(key, PrivateKey) or not is_ours(key):
        raise ValueError("the key is no key of Rota's")
    return key


def key_digest(key: PublicKey) -> str:
    return sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()
