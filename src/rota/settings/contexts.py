"""Which server the command line talks to, and as whom."""

from __future__ import annotations

import os

from rota.settings.settings import Context, Settings

TOKEN_FILE = "token"
"""In the data folder: the server of this machine leaves the token of its user there."""
CA_FILE = "ca.pem"
"""In the data folder: what made the certificate of a server that makes its own."""


def current_context(settings: Settings) -> Context:
    """The one in use, or the server of this machine; what `client` says itself goes before either."""
    client = settings.client
    base = client.contexts[client.context] if client.context else local_context(settings)
    if client.url and client.url != base.url:
        # Neither a token nor a certificate of another server is any use there.
        base = Context(project=base.project)
    return Context(
        url=client.url or base.url,
        token_file=client.token_file or base.token_file,
        ca_file=client.ca_file or base.ca_file,
        project=client.project or base.project,
    )


def local_context(settings: Settings) -> Context:
    server = settings.server
    scheme = "https" if server.tls.is_on else "http"
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(server.address, server.address)
    host = f"[{address}]" if ":" in address else address
    return Context(
        url=f"{scheme}://{host}:{server.port}",
        token_file=os.path.join(server.data, TOKEN_FILE),
        ca_file=os.path.join(server.data, CA_FILE) if server.tls.self_signed else "",
    )
