"""The error that an answer of a server stands for."""

from __future__ import annotations

from msgspec import json

from rota.api.documents import Problem
from rota.sdk.call import UNREADABLE
from rota.sdk.errors import (
    BadAnswer,
    BadInput,
    Conflict,
    Forbidden,
    Gone,
    NotFound,
    RotaError,
    ServerFault,
    TooLarge,
    TooManyRequests,
    Unauthorised,
    Unavailable,
)

_BY_STATUS: dict[int, type[RotaError]] = {
    400: BadInput,
    401: Unauthorised,
    403: Forbidden,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    410: Gone,
    412: Conflict,
    413: TooLarge,
    422: BadInput,
    429: TooManyRequests,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def _kind_of(status: int) -> type[RotaError]:
    if status < 400:
        return BadAnswer
    return _BY_STATUS.get(status, ServerFault if status >= 500 else BadInput)


def reported(status: int, retry_after: str | None, body: bytes) -> RotaError:
    """The error that an answer stands for. `retry_after`: as in its head."""
    kind = _kind_of(status)
    retry_after_s = _seconds(retry_after)
    problem = _problem(body)
    if problem is None:
        return kind(
            f"the server answered with status {status}",
            help="check that the address is that of a Rota server" if kind is BadAnswer else None,
            status=status,
            retry_after_s=retry_after_s,
        )
    return kind(
        problem.detail or problem.title,
        kind=problem.type.rpartition("/")[2],
        field=problem.field,
        help=problem.help,
        status=status,
        data=problem.data,
        retry_after_s=retry_after_s,
    )


def _problem(body: bytes) -> Problem | None:
    try:
        return json.decode(body, type=Problem)
    except UNREADABLE:
        return None


def _seconds(text: str | None) -> float | None:
    # A date is allowed too, but no Rota server sends one.
    return float(text) if text is not None and text.isascii() and text.isdigit() else None
