"""Requests that another site makes a browser send. Cookies may go along with them, so a cookie alone proves
nothing: a change needs a value that only pages of ours can read, and must say that it comes from one."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest
from http import HTTPStatus
from urllib.parse import urlsplit

from rota.server.http.problems import ProblemError

CSRF_HEADER = "x-csrf-token"
FORWARDED_HOST = "sec-rota-host"
"""The name by which a browser asked the server that passed its request on. No script can set a header that
begins with Sec-."""
_OURS = ("same-origin", "none")


def csrf_of(secret: str) -> str:
    """What forms and scripts of ours send along: known to whoever knows the cookie, and of no use as one."""
    return sha256(f"rota csrf {secret}".encode()).hexdigest()


def check_csrf(secret: str, shown: str | None) -> None:
    if not shown:
        raise _forged("the request lacks its CSRF token")
    if not compare_digest(shown.encode(), csrf_of(secret).encode()):
        raise _forged("the CSRF token is of another session")


def check_origin(headers: Mapping[str, str], pages_url: str, is_needed: bool = True) -> None:
    """The page that a change comes from is one of this server's: of its public address, or of the name that
    is asked for. `is_needed`: a request that doesn't say is refused, too."""
    origin = headers.get("origin")
    if origin is None:
        if is_needed:
            raise _forged("the request doesn't say which page it comes from")
        return
    pages = urlsplit(pages_url)
    hosts = (pages.netloc, headers.get("host"), headers.get(FORWARDED_HOST))
    if origin.lower() not in {f"{pages.scheme}://{host}".lower() for host in hosts if host}:
        raise _forged("the request comes from a page of another site")


def check_read(headers: Mapping[str, str]) -> None:
    """A page of another site can't read the answer. It isn't given one all the same."""
    if headers.get("sec-fetch-site", "none") not in _OURS:
        raise _forged("the request comes from a page of another site")


def is_from_elsewhere(headers: Mapping[str, str]) -> bool:
    """A link on another site was followed: the browser keeps the session's cookie to itself."""
    return headers.get("sec-fetch-site") in ("cross-site", "same-site")


def _forged(detail: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.FORBIDDEN,
        "cross-site",
        detail,
        help=f"ask from a page of this server, with the header {CSRF_HEADER} as GET /v1/me tells it, "
        "or use a token",
    )
