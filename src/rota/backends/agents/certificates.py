"""Who an agent is, by the certificate of its connection."""

from __future__ import annotations

from functools import partial

import grpc

from rota.backends.agents.service import Context, Identify, NotAdmitted, Standing
from rota.backends.roster import Roster
from rota.trust import Credentials, TrustError, identity_of

_CERTIFICATE = "x509_pem_cert"


def by_certificate(roster: Roster) -> Identify:
    """TLS has checked that the authority signed it; the roster knows whether it still counts."""

    def identify(context: Context) -> Standing:
        try:
            identity = identity_of(next(iter(context.auth_context()[_CERTIFICATE])))
        except (KeyError, StopIteration, TrustError):
            raise NotAdmitted(
                "certificate: the connection has none of an agent; join with `rota agent join`"
            ) from None
        return Standing(identity.name, partial(roster.refusal, identity))

    return identify


def grpc_credentials(credentials: Credentials) -> grpc.ServerCredentials:
    return grpc.ssl_server_credentials(
        [(credentials.key, credentials.certificate)], credentials.ca, require_client_auth=True
    )
