"""A cluster to talk to, as a client needs to know it."""

from __future__ import annotations

import os
import ssl
import tempfile

from msgspec import Struct

from rota.kube.api.credentials import Certificate, CredentialSource
from rota.kube.api.errors import NoCredentials


class ClusterAccess(Struct, frozen=True):
    server: str
    """Its address, without a slash at the end."""
    credentials: CredentialSource
    ca_pem: str | None = None
    """Who may vouch for it; None: those that this machine trusts."""
    server_name: str | None = None
    """What its certificate is made out to, if that isn't its address."""
    is_verified: bool = True
    namespace: str = "default"
    """Where things are that say nothing else."""

    def tls(self, certificate: Certificate | None) -> ssl.SSLContext | None:
        if not self.server.startswith("https:"):
            return None
        context = ssl.create_default_context(cadata=self.ca_pem)
        if not self.is_verified:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate is not None:
            _show(certificate, context)
        return context


def _show(certificate: Certificate, context: ssl.SSLContext) -> None:
    """OpenSSL reads keys from files only: this one is nobody else's, and gone at once."""
    descriptor, path = tempfile.mkstemp()
    try:
        with open(descriptor, "wb") as file:
            file.write(certificate.chain_pem + b"\n" + certificate.key_pem)
        context.load_cert_chain(path)
    except ssl.SSLError as error:
        raise NoCredentials(
            f"the client certificate can't be used: {error.reason or error}; give it and its key in PEM form"
        ) from None
    finally:
        os.unlink(path)
