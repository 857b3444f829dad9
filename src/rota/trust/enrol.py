"""The agent's side: joining with a token, and renewing in time. Both block: for a thread, or a command."""

from __future__ import annotations

import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from msgspec import MsgspecError, Struct, json
from msgspec.structs import replace

from rota.trust.authority import check_agent_name, check_signed, fingerprint_of, identity_in, read_certificate
from rota.trust.errors import TrustError
from rota.trust.folder import AgentIdentity, pending_key, read_identity, write_identity
from rota.trust.join_token import proof_key, proof_of, read_token_text
from rota.trust.keys import PrivateKey, key_pem
from rota.trust.requests import authorization, new_request, read_request

JOIN_PATH = "/v1/agents/join"
RENEW_PATH = "/v1/agents/renew"
_PATIENCE_S = 30
_MOST_BYTES = 1 << 20
_CREATED = 201
_NOT_NOW = (429, 502, 503, 504)


class Admission(Struct, frozen=True):
    """The server's answer to either."""

    name: str
    certificate: str
    authority: str
    agents_address: str


class ServerRefused(TrustError):
    """The server answered, and said no."""


class _Problem(Struct, frozen=True):
    detail: str = ""
    help: str | None = None


def join(token: str, folder: Path, name: str, server: str | None = None) -> AgentIdentity:
    """`server`: where it is, if not where the token says. Safe to be called again with the same token if the
    answer was lost. Raises TrustError, and OSError if the server can't be reached."""
    invitation = read_token_text(token)
    url = (server or invitation.url).rstrip("/")
    if not url:
        raise TrustError("--server", "the token doesn't say where the server is", "give its URL")
    check_agent_name(name, "--name")
    key = pending_key(folder)
    request = new_request(key, name)
    proof = proof_of(proof_key(invitation.secret), read_request(request.decode()).der, name)
    body = json.encode({"token": invitation.id, "name": name, "request": request.decode(), "proof": proof})
    answer = _call(url, JOIN_PATH, body, {})
    authority = read_certificate(answer.authority.encode(), "authority")
    if fingerprint_of(authority) != invitation.authority_sha256:
        raise TrustError(
            "authority", "the server isn't the one that made the token", "see who answers at its address"
        )
    identity = _identity(answer, url, key, authority)
    write_identity(folder, identity)
    return identity


def renew(folder: Path, server: str = "") -> AgentIdentity:
    """A certificate for a new key. `server`: where to ask, if not where it was asked before: all servers of a
    cluster answer to the same authority. Raises as `join` does."""
    before = read_identity(folder)
    url = server or before.server
    key = pending_key(folder)
    body = json.encode({"request": new_request(key, before.name).decode()})
    header = authorization(before.private_key(), before.parsed(), "POST", RENEW_PATH, body)
    answer = _call(url, RENEW_PATH, body, {"Authorization": header})
    authority = read_certificate(before.authority.encode())
    identity = replace(_identity(answer, url, key, authority), authority=before.authority)
    write_identity(folder, identity)
    return identity


def _identity(answer: Admission, url: str, key: PrivateKey, authority: x509.Certificate) -> AgentIdentity:
    certificate = read_certificate(answer.certificate.encode())
    check_signed(certificate, authority)
    if identity_in(certificate).name != answer.name or certificate.public_key() != key.public_key():
        raise TrustError("certificate", "isn't the one that was asked for", "join again with a new token")
    return AgentIdentity(
        name=answer.name,
        server=url,
        agents_address=answer.agents_address,
        key=key_pem(key).decode(),
        certificate=answer.certificate,
        authority=answer.authority,
    )


def _call(url: str, path: str, body: bytes, headers: dict[str, str]) -> Admission:
    connection = _connection(url)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        content = answer.read(_MOST_BYTES)
    except HTTPException as error:
        raise ConnectionError(f"{url} doesn't answer as a server would: {error!r}") from None
    finally:
        connection.close()
    try:
        if answer.status == _CREATED:
            return json.decode(content, type=Admission)
        problem = json.decode(content, type=_Problem)
    except (MsgspecError, UnicodeDecodeError, RecursionError):
        problem = _Problem(f"status {answer.status}, and nothing that could be read")
    if answer.status in _NOT_NOW:
        raise ConnectionError(f"{url} can't answer at the moment: {problem.detail}")
    raise ServerRefused(url, problem.detail, problem.help or "join again with a new token")


def _connection(url: str) -> HTTPConnection:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or parts.scheme not in ("http", "https"):
        raise TrustError(
            "--server", f"{url!r} is not an address", "write it as in https://rota.example.org:8426"
        )
    if parts.scheme == "http":
        return HTTPConnection(host, port, timeout=_PATIENCE_S)
    # Nothing here depends on who answers: what is sent is of no use to others, and what comes back counts
    # only if the authority has signed it, which an agent that joins knows by the token and not by TLS.
    anybody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anybody.check_hostname = False
    anybody.verify_mode = ssl.CERT_NONE
    return HTTPSConnection(host, port, timeout=_PATIENCE_S, context=anybody)
