"""An authority for one control plane: its server's certificate, and those of clients."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

SERVER_NAME = "kubernetes"


class Issued(NamedTuple):
    chain_pem: bytes
    key_pem: bytes


class Authority:
    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("rota test authority")
        builder = _builder(self._name, self._name, self._key.public_key(), timedelta(days=7))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_key_usage(signs=True), critical=True)
        self.pem = builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def server(self, address: str = "127.0.0.1") -> Issued:
        names: list[x509.GeneralName] = [x509.DNSName(SERVER_NAME), x509.IPAddress(ip_address(address))]
        return self._issue(_name("server"), ExtendedKeyUsageOID.SERVER_AUTH, timedelta(days=7), names)

    def client(self, user: str, group: str = "", lasts: timedelta = timedelta(days=7)) -> Issued:
        return self._issue(_name(user, group), ExtendedKeyUsageOID.CLIENT_AUTH, lasts, [])

    def _issue(
        self, name: x509.Name, use: ObjectIdentifier, lasts: timedelta, names: list[x509.GeneralName]
    ) -> Issued:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(name, self._name, key.public_key(), lasts)
        builder = builder.add_extension(x509.ExtendedKeyUsage([use]), critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Issued(certificate.public_bytes(serialization.Encoding.PEM), private_pem(key))


def new_key_pem() -> bytes:
    return private_pem(ec.generate_private_key(ec.SECP256R1()))


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _name(common: str, organisation: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organisation:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
    return x509.Name(attributes)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lasts: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + lasts)
    )


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
