"""Who is who between servers and agents: one authority, a certificate for each, and how agents get theirs.

    operator ──► join token: where the server is, whom it answers to, a secret for one use
    agent    ──► a key that stays on its machine; a request for a certificate, proven with the secret
    server   ──► a certificate for 90 days, signed by the authority that is kept in the store
    both     ──► mutual TLS from then on

`authority` signs and checks, `join_token` and `requests` are what is sent, `enrol` is the agent's side with
the `folder` it is kept in. Called by `control/enrolment.py`, the backend of agents, the agent and the CLI.
"""

from rota.trust.authority import Authority, Identity, identity_of
from rota.trust.credentials import SERVER_NAME, Credentials, server_credentials
from rota.trust.errors import TrustError
from rota.trust.folder import agent_credentials

__all__ = [
    "SERVER_NAME",
    "Authority",
    "Credentials",
    "Identity",
    "TrustError",
    "agent_credentials",
    "identity_of",
    "server_credentials",
]
