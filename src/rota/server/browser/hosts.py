"""Which names this server has. A page of another site can make its own name point here (DNS rebinding). Its
requests then look as if they came from a page of ours, but for the name that they ask for."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from rota.server.http.problems import ProblemError, printable

ANY = "*"
_ANY_BELOW = "*."
_NO_BROWSER = ("/healthz", "/readyz", "/v1/agents/join", "/v1/agents/renew")
"""Probes and agents know a server by names of their own. These tell nothing, and no cookie counts there."""


class Hosts(Struct, frozen=True):
    """Names in lower case, without ports. `*.example.org`: one step below it."""

    names: frozenset[str]

    @classmethod
    def of(cls, names: Iterable[str]) -> Hosts:
        return cls(frozenset(name.lower().rstrip(".") for name in names if name))

    def has(self, host: str) -> bool:
        """`host`: as in the header, with or without a port."""
        name = name_of(host)
        if not name:
            return False
        if ANY in self.names or name in self.names or name == "localhost" or name.endswith(".localhost"):
            return True
        if _is_address(name):
            return True  # Whoever controls a name can't make an address point elsewhere.
        _, dot, above = name.partition(".")
        return bool(dot) and f"{_ANY_BELOW}{above}" in self.names

    def check(self, path: str, host: str, has_token: bool) -> None:
        """Raises a problem for a request that a browser could have been tricked into. A token in a header is
        sent by nobody who doesn't have it."""
        if has_token or path in _NO_BROWSER or self.has(host):
            return
        raise ProblemError(
            HTTPStatus.MISDIRECTED_REQUEST,
            "misdirected",
            f"this server isn't known as {printable(host, 80) or 'nothing at all'}",
            help="use another of its names, or ask its operators to add this one to server.hosts",
        )


def name_of(host: str) -> str:
    """Without the port; empty: it is no name."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    if parts.netloc != host or "@" in host or parts.path or parts.query or parts.fragment:
        return ""
    return (parts.hostname or "").rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
