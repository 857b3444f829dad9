"""What is wrong with settings that a look at one value alone doesn't show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

from rota.settings.errors import SettingsError
from rota.settings.oidc import ALGORITHMS, group_project_role, group_role
from rota.settings.settings import (
    Agents,
    BackendSettings,
    Client,
    Oidc,
    Secrets,
    Server,
    Settings,
    Worker,
    is_loopback,
)
from rota.settings.toml_lines import KeyPath

SHORTEST_LOST_AFTER_MS = 3_000
_SECRET_SOURCE = re.compile(r"[^/=]+/[A-Za-z0-9][A-Za-z0-9._-]*=(file:/.+|env:[A-Za-z_][A-Za-z0-9_]*)")

_HOST = re.compile(r"\*|(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?", re.ASCII)

_BACKEND = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_OWN_BACKENDS = ("local", "agents")

_UIDS = re.compile(r"([0-9]{1,10})-([0-9]{1,10})", re.ASCII)


class _Fault(NamedTuple):
    path: KeyPath
    problem: str
    remedy: str


def check(settings: Settings, origin_of: Callable[[KeyPath], str]) -> None:
    fault = (
        _fault_of_server(settings.server)
        or _fault_of_pages(settings.server)
        or _fault_of_agents(settings.agents)
        or _fault_of_client(settings.client)
        or _fault_of_secrets(settings.secrets)
        or _fault_of_oidc(settings.oidc)
        or _fault_of_worker(settings.worker)
        or _fault_of_backends(settings.backends)
    )
    if fault is not None:
        raise SettingsError(origin_of(fault.path), ".".join(fault.path), fault.problem, fault.remedy)


def _fault_of_server(server: Server) -> _Fault | None:
    tls = server.tls
    if bool(tls.certificate) != bool(tls.key):
        there, missing = ("certificate", "key") if tls.certificate else ("key", "certificate")
        return _Fault(("server", "tls", there), f"without its {missing}", f"set server.tls.{missing}, too")
    if tls.certificate and tls.self_signed:
        return _Fault(
            ("server", "tls", "self_signed"), "there is a certificate already", "remove one of the two"
        )
    if not tls.is_on and not is_loopback(server.address):
        return _Fault(
            ("server", "address"),
            f"other machines could read the traffic: {server.address} is not this machine alone",
            "set server.tls.certificate and key, or server.tls.self_signed, or use 127.0.0.1",
        )
    if server.public_url and _scheme(server.public_url) not in ("http", "https"):
        return _Fault(("server", "public_url"), "is not a URL", "write it like https://rota.example.org:8426")
    for proxy in server.trusted_proxies:
        if not _is_network(proxy):
            return _Fault(
                ("server", "trusted_proxies"),
                f"'{proxy}' is not an address or network",
                "write it like 10.0.0.7, or 10.0.0.0/24",
            )
    if server.database and not _scheme(server.database):
        # Not shown: it may hold a password.
        return _Fault(("server", "database"), "is not a URL", "write it like postgresql://user@host/rota")
    return None


def _fault_of_pages(server: Server) -> _Fault | None:
    pages = server.pages
    if pages.url and not _is_base(pages.url):
        return _Fault(
            ("server", "pages", "url"),
            "is not the address of a server",
            "write it like https://rota.example.org",
        )
    for name, stated_ms in (("session", pages.session_ms), ("idle", pages.idle_ms)):
        if not stated_ms:
            return _Fault(("server", "pages", name), "the time is 0", "give more than 0, as in 2h")
    for host in server.hosts:
        if not _HOST.fullmatch(host):
            return _Fault(
                ("server", "hosts"),
                f"'{host}' is not a name of a host",
                "write it like rota.example.org, without a port; *.example.org is all directly below it",
            )
    return None


def _fault_of_agents(agents: Agents) -> _Fault | None:
    if agents.lost_after_ms < SHORTEST_LOST_AFTER_MS:
        return _Fault(
            ("agents", "lost_after"), "is too short for a heartbeat to arrive in time", "give at least 3s"
        )
    scheme, _, path = agents.address.partition(":")
    if scheme == "unix" and path and not path.startswith("/"):
        return _Fault(
            ("agents", "address"), f"'{path}' isn't a whole path", "write it like unix:/run/rota/agents.sock"
        )
    return None


def _fault_of_secrets(secrets: Secrets) -> _Fault | None:
    for source in secrets.sources:
        if not _SECRET_SOURCE.fullmatch(source):
            # Not shown: somebody may have written a value.
            return _Fault(
                ("secrets", "sources"),
                "one of them doesn't say where a secret comes from",
                "write PROJECT/NAME=file:/PATH or PROJECT/NAME=env:VARIABLE",
            )
    return None


def _fault_of_worker(worker: Worker) -> _Fault | None:
    uids = _UIDS.fullmatch(worker.uids)
    if uids is None or not 1000 <= int(uids[1]) <= int(uids[2]) < 2**31:
        return _Fault(
            ("worker", "uids"), f"'{worker.uids}' is not a range of user ids", "write it like 200000-265535"
        )
    for account in worker.accounts:
        user, equals, name = account.partition("=")
        if not (user and equals and name):
            return _Fault(
                ("worker", "accounts"), f"'{account}' names no account", "write it like alice=a.smith"
            )
    for folder in worker.shared_folders:
        if not folder.startswith("/") or not folder.strip("/"):
            return _Fault(
                ("worker", "shared_folders"),
                f"'{folder}' is not a whole path of a folder",
                "write it like /data",
            )
    return None


def _fault_of_backends(backends: Mapping[str, BackendSettings]) -> _Fault | None:
    for name, backend in backends.items():
        if not _BACKEND.fullmatch(name) or name in _OWN_BACKENDS:
            taken = "is Rota's own" if name in _OWN_BACKENDS else "can't be the name of a backend"
            return _Fault(
                ("backends", name), taken, "choose another of letters, digits and -, as in [backends.east]"
            )
        for label in backend.node_labels:
            if not all(label.partition("=")):
                return _Fault(
                    ("backends", name, "node_labels"), f"'{label}' is no label", "write it like pool=jobs"
                )
    return None


def _fault_of_client(client: Client) -> _Fault | None:
    urls: dict[KeyPath, str] = {
        ("client", "contexts", name, "url"): context.url for name, context in client.contexts.items()
    }
    if client.url:
        urls["client", "url"] = client.url
    for path, url in urls.items():
        if _scheme(url) not in ("http", "https"):
            return _Fault(
                path, f"'{url}' is not an address of a server", "write it like https://rota.example.org:8426"
            )
    if client.context and client.context not in client.contexts:
        known = ", ".join(sorted(client.contexts)) or "none"
        return _Fault(("client", "context"), f"there is no context '{client.context}'", f"known: {known}")
    return None


def _fault_of_oidc(oidc: Oidc) -> _Fault | None:
    if not oidc.issuer:
        return None
    if not _is_https(oidc.issuer):
        return _Fault(
            ("oidc", "issuer"),
            "another server could answer in its place",
            "give the provider's https address",
        )
    if not oidc.client_id:
        return _Fault(("oidc", "client_id"), "is missing", "give the id of Rota's client at the provider")
    if "openid" not in oidc.scopes:
        return _Fault(("oidc", "scopes"), "without openid there is no ID token", "add openid")
    unknown = [one for one in oidc.algorithms if one not in ALGORITHMS]
    if unknown or not oidc.algorithms:
        problem = f"{', '.join(unknown)} can't be checked" if unknown else "none is left"
        return _Fault(("oidc", "algorithms"), problem, f"allowed: {', '.join(ALGORITHMS)}")
    if not oidc.session_ms:
        return _Fault(("oidc", "session"), "the lifetime is 0", "give more than 0, as in 12h")
    for name, texts, read in (
        ("roles", oidc.roles, group_role),
        ("projects", oidc.projects, group_project_role),
    ):
        for text in texts:
            try:
                read(text)
            except ValueError as error:
                return _Fault(("oidc", name), str(error), "see docs/sign-in.md")
    if not (oidc.roles or oidc.projects or oidc.default_role):
        return _Fault(
            ("oidc", "roles"), "no user could sign in", "map groups to roles or projects, or set default_role"
        )
    return None


def _is_https(url: str) -> bool:
    """Or this machine, where nobody is in between."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if not host or parts.username or parts.query or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))


def _is_base(url: str) -> bool:
    """Of a whole server: nothing but a scheme and a host."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    is_plain = not (parts.username or parts.path.strip("/") or parts.query or parts.fragment)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and is_plain


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def _scheme(url: str) -> str:
    """Empty: it is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return parts.scheme if parts.netloc or parts.scheme == "sqlite" else ""
