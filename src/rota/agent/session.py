"""What a server's welcome brings: who the agent is to it, and where its REST interface is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class Session:
    target: str
    """Where the server takes agents: the one that was dialled."""
    secret: str
    rest_url: str
    lease: int
    """The number of the lease that it last renewed; stays behind once it is over."""
    is_open: bool = True
    certificate_sha256: bytes = b""
    """The one to expect there; empty: one that this machine trusts."""


def rest_url(target: str, host: str, port: int, is_tls: bool) -> str:
    """On the host that the agent connected to, unless the server names another."""
    host = host or target.removeprefix("dns:///").rpartition(":")[0]
    return f"{'https' if is_tls else 'http'}://{host}:{port}"
