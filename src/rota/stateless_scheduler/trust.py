"""By which certificates a scheduler and those who dial it know each other."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from rota.clock import now_ms
from rota.server.http.tls import Certificate, CertificateError, check_certificate
from rota.stateless_scheduler.authority import REVOKED_FILE, Vouched, certificate_in, read_authority
from rota.trust import Authority, Credentials, server_credentials


class AgentsTrust(Struct, frozen=True):
    """Files, PEM: who the scheduler is to agents, and who vouches for them."""

    certificate: Certificate
    authority: Path


class Trust(Struct, frozen=True):
    certificate: Certificate | None
    """Of the REST interface, and to controllers."""
    credentials: Credentials | None = None
    """To agents; None: whoever can dial is one."""
    roster: Vouched = field(default_factory=Vouched)
    authority: Authority | None = None
    """Which agents can join by."""


def trust_by(certificate: Certificate | None, folder: Path | None, elsewhere: AgentsTrust | None) -> Trust:
    """`folder`: of an authority that is the scheduler's own. Raises AuthorityError, CertificateError."""
    if folder is not None:
        authority = read_authority(folder)
        return Trust(
            certificate or certificate_in(folder),
            server_credentials(authority, now_ms()),
            Vouched(folder / REVOKED_FILE),
            authority,
        )
    if elsewhere is not None:
        check_certificate(elsewhere.certificate)
        return Trust(certificate, _credentials(elsewhere))
    return Trust(certificate)


def _credentials(trust: AgentsTrust) -> Credentials:
    try:
        return Credentials(
            trust.certificate.key.read_bytes(),
            trust.certificate.certificate.read_bytes(),
            trust.authority.read_bytes(),
        )
    except OSError as error:
        raise CertificateError(f"{error.filename} can't be read: {error.strerror}; give PEM files") from None
