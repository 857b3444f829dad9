"""Certificates: one's own, or one that the server makes for itself and keeps."""

from __future__ import annotations

import os
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

_LASTS = timedelta(days=365)
_RENEWED_BEFORE = timedelta(days=30)
_CLOCKS_DIFFER = timedelta(minutes=5)


class Certificate(Struct, frozen=True):
    """Files in PEM form."""

    certificate: Path
    key: Path


class CertificateError(Exception):
    """Says which file, what is wrong, and what to do."""


def check_certificate(files: Certificate) -> None:
    """That it can be read, and that the key belongs to it."""
    for path in (files.certificate, files.key):
        if not path.is_file():
            raise CertificateError(f"{path}: no such file; give the certificate and its key as PEM files")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            files.certificate, files.key, password=lambda: b""
        )
    except (ssl.SSLError, OSError, ValueError) as error:
        raise CertificateError(
            f"{files.certificate}, {files.key}: {error}; give both as PEM files, the key unencrypted"
        ) from None


def self_signed(folder: Path, hosts: Sequence[str], now: datetime | None = None) -> Certificate:
    """The one in the folder, or a new one where there is none, it is about to expire, or hosts were added."""
    now = now or datetime.now(UTC)
    files = Certificate(folder / "self-signed.crt", folder / "self-signed.key")
    if not _will_do(files, hosts, now):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(files, hosts, now)
    return files


def _will_do(files: Certificate, hosts: Sequence[str], now: datetime) -> bool:
    try:
        found = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        check_certificate(files)
    except (OSError, ValueError, x509.ExtensionNotFound, CertificateError):
        return False
    return found.not_valid_after_utc - now > _RENEWED_BEFORE and set(map(_general_name, hosts)) <= set(names)


def _make(files: Certificate, hosts: Sequence[str], now: datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rota")])
    names = [_general_name(host) for host in dict.fromkeys(hosts)]
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + _LASTS)
        .add_extension(
            x509.SubjectAlternativeName(names),
            critical=False,
        )
        # Clients are given the certificate itself to trust: it is its own authority, and none beyond that.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write(
        files.key,
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )
    _write(files.certificate, certificate.public_bytes(serialization.Encoding.PEM))


def _write(path: Path, content: bytes) -> None:
    """Only for the server's user, from the first byte on, and whole or not at all."""
    unfinished = path.with_suffix(path.suffix + ".new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)
