"""Who an agent is, by the certificate of its connection."""

from __future__ import annotations

import grpc

from rota.backends.agents.claims import Refusal
from rota.backends.agents.service import Context, Identify
from rota.backends.roster import Roster
from rota.trust import Credentials, TrustError, identity_of

_CERTIFICATE = "x509_pem_cert"


class NotAdmitted(Refusal):
    """Its certificate doesn't count."""


def by_certificate(roster: Roster) -> Identify:
    """TLS has checked that the authority signed it; the roster knows whether it still counts."""

    def identify(context: Context) -> str:
        try:
            identity = identity_of(next(iter(context.auth_context()[_CERTIFICATE])))
        except (KeyError, StopIteration, TrustError):
            raise NotAdmitted(
                "certificate: the connection has none of an agent; join with `rota agent join`"
            ) from None
        if refusal := roster.refusal(identity):
            raise NotAdmitted(f"certificate: {refusal}; join again with `rota agent join`")
        return identity.name

    return identify


def grpc_credentials(credentials: Credentials) -> grpc.ServerCredentials:
    return grpc.ssl_server_credentials(
        [(credentials.key, credentials.certificate)], credentials.ca, require_client_auth=True
    )
