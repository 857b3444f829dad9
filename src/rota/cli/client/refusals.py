"""Errors of a client or a server: an exit code and one line each."""

from __future__ import annotations

from rota.cli.exits import EX_BAD_INPUT, EX_BUG, EX_NOT_ALLOWED, EX_NOT_FOUND, EX_REFUSED, EX_UNREACHABLE
from rota.sdk.errors import (
    BadAnswer,
    Conflict,
    Forbidden,
    NoServer,
    NotFound,
    RotaError,
    ServerFault,
    TooManyRequests,
    Unauthorised,
    Unavailable,
    Unreachable,
    Untrusted,
)
from rota.views.quoting import one_line

_CODES: dict[type[RotaError], int] = {
    NotFound: EX_NOT_FOUND,
    Unauthorised: EX_NOT_ALLOWED,
    Forbidden: EX_NOT_ALLOWED,
    Conflict: EX_REFUSED,
    TooManyRequests: EX_REFUSED,
    Unavailable: EX_UNREACHABLE,
    Unreachable: EX_UNREACHABLE,
    Untrusted: EX_UNREACHABLE,
    NoServer: EX_UNREACHABLE,
    BadAnswer: EX_UNREACHABLE,
    ServerFault: EX_BUG,
}


def code_of(error: Exception) -> int | None:
    """None: it is another kind of error."""
    if not isinstance(error, RotaError):
        return None
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), EX_BAD_INPUT)


def text_of(error: Exception) -> str:
    assert isinstance(error, RotaError)
    # What a client misses was given nowhere: there is no field to look at.
    where = f"{error.field}: " if error.field and not isinstance(error, NoServer) else ""
    return one_line(f"{where}{error.message}{f'; {error.help}' if error.help else ''}")
