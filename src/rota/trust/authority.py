"""Whoever vouches for agents and servers: one key, the same for all replicas, and what it signed.

A certificate of an agent is good for being an agent and nothing else, one of a server for being a server:
neither can stand in for the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from ipaddress import ip_address
from typing import NamedTuple, Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

from rota.trust.errors import TrustError
from rota.trust.keys import PrivateKey, PublicKey, is_ours, key_pem, new_key, read_key
from rota.trust.times import DAY_MS, moment, ms_of

AGENT_LASTS_MS = 90 * DAY_MS
_AUTHORITY_LASTS_MS = 20 * 365 * DAY_MS
_CLOCKS_DIFFER_MS = DAY_MS
"""A certificate counts from so long before it was made: clocks of machines differ."""
_COMMON_NAME = "Rota authority"
_END_OF_KEY = b"-----END PRIVATE KEY-----\n"

AGENT_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)
"""So that it may stand in a certificate, a path and a host file."""


class Identity(NamedTuple):
    """Whose certificate it is. Whether it still counts is for the roster to say."""

    name: str
    serial: str
    """Hexadecimal."""


class Authority:
    def __init__(self, key: PrivateKey, certificate: x509.Certificate) -> None:
        self._key = key
        self._certificate = certificate

    @classmethod
    def create(cls, now_ms: int) -> Self:
        key = new_key()
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _COMMON_NAME)])
        certificate = (
            _builder(name, name, key.public_key(), now_ms, _AUTHORITY_LASTS_MS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(key, certificate)

    @classmethod
    def read(cls, text: bytes) -> Self:
        """What `written` gave. Raises ValueError."""
        key, end, certificate = text.partition(_END_OF_KEY)
        return cls(read_key(key + end), x509.load_pem_x509_certificate(certificate))

    def written(self) -> bytes:
        """With its key: for the store alone."""
        return key_pem(self._key) + self.pem

    @property
    def pem(self) -> bytes:
        """Its certificate, which everybody may know."""
        return self._certificate.public_bytes(Encoding.PEM)

    @property
    def fingerprint(self) -> bytes:
        return fingerprint_of(self._certificate)

    def certify_agent(self, name: str, key: PublicKey, now_ms: int) -> x509.Certificate:
        return self._certify(name, key, ExtendedKeyUsageOID.CLIENT_AUTH, (), now_ms, AGENT_LASTS_MS)

    def certify_server(
        self, key: PublicKey, hosts: Sequence[str], now_ms: int, lasts_ms: int
    ) -> x509.Certificate:
        return self._certify("rota server", key, ExtendedKeyUsageOID.SERVER_AUTH, hosts, now_ms, lasts_ms)

    def identify(self, certificate: x509.Certificate, now_ms: int) -> Identity:
        """Whose it is, if it is an agent's, of this authority, and good at the time. Raises TrustError."""
        check_signed(certificate, self._certificate)
        usage = _usage_of(certificate)
        if usage is None or ExtendedKeyUsageOID.CLIENT_AUTH not in usage:
            raise TrustError("certificate", "is not an agent's", "send the one that joining gave")
        if not ms_of(certificate.not_valid_before_utc) <= now_ms < ms_of(certificate.not_valid_after_utc):
            raise TrustError(
                "certificate", "has expired, or isn't valid yet", "set the clock, or join again with a token"
            )
        return identity_in(certificate)

    def _certify(
        self,
        name: str,
        key: PublicKey,
        usage: ObjectIdentifier,
        hosts: Sequence[str],
        now_ms: int,
        lasts_ms: int,
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (
            _builder(subject, self._certificate.subject, key, now_ms, lasts_ms)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if hosts:
            names = [host_name(host) for host in dict.fromkeys(hosts)]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def check_agent_name(name: str, field: str = "name") -> str:
    if not AGENT_NAME.fullmatch(name):
        raise TrustError(
            field,
            "is not a name for an agent",
            "give 1 to 63 letters, digits, dots, dashes or underscores, with a letter or digit at either end",
        )
    return name


def read_certificate(pem: bytes, field: str = "certificate") -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError:
        raise TrustError(field, "can't be read", "send a certificate in PEM form") from None


def identity_of(pem: bytes) -> Identity:
    """Of a certificate that TLS has checked already. Raises TrustError."""
    return identity_in(read_certificate(pem))


def identity_in(certificate: x509.Certificate) -> Identity:
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if len(names) != 1 or not AGENT_NAME.fullmatch(str(names[0].value)):
        raise TrustError("certificate", "names no agent", "send the one that joining gave")
    return Identity(str(names[0].value), serial_of(certificate))


def serial_of(certificate: x509.Certificate) -> str:
    return f"{certificate.serial_number:x}"


def fingerprint_of(certificate: x509.Certificate) -> bytes:
    return sha256(certificate.public_bytes(Encoding.DER)).digest()


def check_signed(certificate: x509.Certificate, authority: x509.Certificate) -> None:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        raise TrustError(
            "certificate", "isn't signed by this cluster's authority", "join again with a new token"
        ) from None


def _usage_of(certificate: x509.Certificate) -> x509.ExtendedKeyUsage | None:
    try:
        return certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (x509.ExtensionNotFound, ValueError):
        return None


def _builder(
    subject: x509.Name, issuer: x509.Name, key: PublicKey, now_ms: int, lasts_ms: int
) -> x509.CertificateBuilder:
    assert is_ours(key)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment(now_ms - _CLOCKS_DIFFER_MS))
        .not_valid_after(moment(now_ms + lasts_ms))
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def host_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
