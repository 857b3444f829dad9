"""Certificates: one's own, or one that the server makes for itself and keeps."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from msgspec import Struct

from rota.settings.contexts import CA_FILE
from rota.trust import Authority
from rota.trust.authority import host_name
from rota.trust.keys import key_pem, new_key
from rota.trust.private_file import write_private
from rota.trust.times import DAY_MS, ms_of

CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Ciphers for TLS 1.2 with forward secrecy: a key that leaks later doesn't reveal earlier traffic. TLS 1.3
has no others."""
_LASTS_MS = 365 * DAY_MS
_RENEWED_BEFORE_MS = 30 * DAY_MS


class Certificate(Struct, frozen=True):
    """Files in PEM form."""

    certificate: Path
    key: Path


class CertificateError(Exception):
    """Names the file, the problem and the remedy."""


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


def certificate_sha256(files: Certificate) -> bytes:
    """Of the server's own, the first of its chain."""
    found = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    return found.fingerprint(SHA256())


def certified_names(files: Certificate) -> list[str]:
    """Of hosts, as the certificate has them."""
    found = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    try:
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return names.get_values_for_type(x509.DNSName)


def self_signed(folder: Path, hosts: Sequence[str], authority: Authority, now_ms: int) -> Certificate:
    """The one in the folder, or a new one where there is none, it is about to expire, or hosts were added. It
    is signed by the cluster's own authority. Clients trust the authority's certificate, which is beside
    it."""
    files = Certificate(folder / "self-signed.crt", folder / "self-signed.key")
    if not _will_do(files, hosts, authority, now_ms):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = new_key()
        made = authority.certify_server(key.public_key(), hosts, now_ms, _LASTS_MS)
        write_private(files.key, key_pem(key))
        write_private(files.certificate, made.public_bytes(Encoding.PEM))
        write_private(folder / CA_FILE, authority.pem)
    return files


def _will_do(files: Certificate, hosts: Sequence[str], authority: Authority, now_ms: int) -> bool:
    try:
        found = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        check_certificate(files)
        is_ours = (files.certificate.parent / CA_FILE).read_bytes() == authority.pem
    except (OSError, ValueError, x509.ExtensionNotFound, CertificateError):
        return False
    is_fresh = ms_of(found.not_valid_after_utc) - now_ms > _RENEWED_BEFORE_MS
    return is_ours and is_fresh and set(map(host_name, hosts)) <= set(names)
