"""Every error as a problem document (RFC 9457): what is wrong, where, and what to do.

A bug of the server is logged under an id, and the client sees only the id.
"""

from __future__ import annotations

import errno
from http import HTTPStatus
from uuid import uuid4

import msgspec
import structlog
from litestar.exceptions import HTTPException

from rota.api.documents import Problem
from rota.control.errors import (
    BadInput,
    Changed,
    Conflict,
    Gone,
    IsArray,
    NotAllowed,
    NotFound,
    TooOften,
    Unavailable,
)
from rota.intake.errors import InputError
from rota.server.http.reply import Reply
from rota.store.errors import BadCursor, StoreUnavailable

MEDIA_TYPE = "application/problem+json"
_RETRY_AFTER_S = 1
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
NOT_YOURS = "not-yours"
"""A job of others; and the audit log's name for a 404 that hides another object of theirs."""

_log = structlog.get_logger("rota.server")


class ProblemError(Exception):
    """A problem that the server itself finds. `kind` is the last part of the document's `type`."""

    def __init__(
        self,
        status: HTTPStatus,
        kind: str,
        detail: str,
        *,
        help: str | None = None,
        field: str | None = None,
        data: dict[str, object] | None = None,
        headers: tuple[tuple[str, str], ...] = (),
        recorded_as: str | None = None,
    ) -> None:
        """`recorded_as`: what the audit log calls it, where the client isn't to know."""
        super().__init__(detail)
        self.recorded_as = recorded_as or kind
        self.status = status
        self.kind = kind
        self.detail = detail
        self.help = help
        self.field = field
        self.data = data
        self.headers = headers


TITLES = {
    "bad-input": "The request is invalid",
    "bad-request": "The request can't be read",
    "changed": "It was changed meanwhile",
    "conflict": "The current state doesn't allow it",
    "cross-site": "The request may come from another site",
    "forbidden": "Your token doesn't allow that",
    "gone": "It is no longer kept",
    "headers-too-large": "The request's headers are too large",
    "internal": "The server failed",
    "key-reused": "The idempotency key belongs to another request",
    "method-not-allowed": "The path doesn't support this method",
    "misdirected": "The server isn't known by this name",
    "no-answer": "It is unknown whether it was done",
    "not-found": "Not found",
    "not-yours": "It belongs to others",
    "timeout": "The request took too long to arrive",
    "too-large-together": "Your input files take too much space",
    "too-large": "The request's body is too large",
    "too-many-connections": "There are too many connections",
    "too-many-requests": "Too many requests",
    "too-many-streams": "Too many logs or events are followed",
    "unauthorised": "No valid token",
    "unavailable": "The server can't do that at the moment",
    "unsupported-media-type": "The content type of the body isn't supported",
}
"""Of each kind of problem."""

_FRAMEWORK = {
    400: ("bad-request", "the request can't be read", "see /openapi.json"),
    404: ("not-found", "there is nothing at this path", "see /openapi.json for what there is"),
    405: (
        "method-not-allowed",
        "this path doesn't support that method",
        "see /openapi.json for what it takes",
    ),
    413: ("too-large", "the body is too large", "send less at a time"),
    415: ("unsupported-media-type", "the content type of the body isn't supported", "send application/json"),
    429: ("too-many-requests", "too many requests", "wait a moment and ask again"),
}


def problem_reply(error: Exception, instance: str) -> Reply:
    found = as_problem(error, instance)
    document = Problem(
        type=f"/problems/{found.kind}",
        title=TITLES[found.kind],
        status=int(found.status),
        detail=found.detail,
        instance=printable(instance),
        field=found.field or None,
        help=found.help or None,
        data=found.data,
    )
    return Reply(int(found.status), msgspec.json.encode(document), MEDIA_TYPE, found.headers)


def as_problem(error: Exception, instance: str) -> ProblemError:  # noqa: C901, PLR0912 – one case for each error
    """The answer to the client."""
    match error:
        case ProblemError():
            return error
        case IsArray():
            return _is_array(error.name)
        case NotFound() if error.kind == "job":
            return no_job(error.name)
        case NotFound():
            return not_found(error.kind, error.name)
        case Gone():
            return ProblemError(HTTPStatus.GONE, "gone", error.message, help=error.help)
        case BadInput():
            return bad_input(error.field, error.message, error.help)
        case InputError():
            return bad_input(error.field, error.problem, error.remedy)
        case NotAllowed():
            return forbidden(error.message, error.help, error.field)
        case TooOften():
            return ProblemError(
                HTTPStatus.TOO_MANY_REQUESTS,
                "too-many-requests",
                error.message,
                help=error.help,
                headers=(("retry-after", str(error.wait_s)),),
            )
        case Conflict():
            return ProblemError(HTTPStatus.CONFLICT, "conflict", error.message, help=error.help)
        case Changed():
            return ProblemError(HTTPStatus.PRECONDITION_FAILED, "changed", error.message, help=error.help)
        case Unavailable():
            return ProblemError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "unavailable",
                error.message,
                help=error.help or "ask again later: nothing was changed",
                headers=(("retry-after", str(_RETRY_AFTER_S)),),
            )
        case StoreUnavailable():
            # For a question that is answered from the store. The log has the details.
            return as_problem(Unavailable("the database can't be read at the moment"), instance)
        case OSError() if error.errno in _NO_ROOM:
            _log.error("disk.full", path=instance, why=str(error.strerror))
            return as_problem(
                Unavailable(
                    "the disk of the server is full",
                    "try again later, or tell the operators of the server",
                ),
                instance,
            )
        case BadCursor():
            return bad_input("after", "no page begins there", "give the `next` of the page before, as it was")
        case HTTPException() if error.status_code in _FRAMEWORK:
            kind, detail, help = _FRAMEWORK[error.status_code]
            headers = tuple((error.headers or {}).items())
            return ProblemError(HTTPStatus(error.status_code), kind, detail, help=help, headers=headers)
        case _:
            return _internal(error, instance)


def _internal(error: Exception, instance: str) -> ProblemError:
    fault_id = uuid4().hex
    _log.error("request.failed", fault=fault_id, path=instance, exc_info=error)
    return ProblemError(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "internal",
        f"the server failed because of a bug; its log has the details under {fault_id}",
        help="report this id to the operators of the server",
    )


def bad_input(field: str, message: str, help: str = "") -> ProblemError:
    return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "bad-input", message, field=field, help=help)


def not_found(kind: str, name: str, recorded_as: str | None = None) -> ProblemError:
    """Also for objects that the client may not see: the two look the same."""
    return ProblemError(
        HTTPStatus.NOT_FOUND,
        "not-found",
        f"there is no {kind} {printable(name)} that you may see",
        help=f"check the {kind}'s name, and that your token is for its project",
        recorded_as=recorded_as,
    )


def _is_array(number: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.NOT_FOUND,
        "not-found",
        f"{number} is an array of jobs, and this is about a single one",
        help=f"name one of its jobs, as in {number}.0, or ask for /v1/arrays/{number}",
        data={"array": number},
    )


def no_job(name: str) -> ProblemError:
    """Numbers are given out in order, so that there is a job of a number is no secret; what it is, is."""
    return ProblemError(
        HTTPStatus.NOT_FOUND,
        "not-found",
        f"there is no job {printable(name)}",
        help="see which jobs there are with `rota ls --all`",
    )


def not_yours(name: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.FORBIDDEN,
        NOT_YOURS,
        f"job {printable(name)} is of a project that your token may not do this in",
        help="use a token for its project, or ask a member of it",
    )


def forbidden(detail: str, help: str, field: str | None = None) -> ProblemError:
    return ProblemError(HTTPStatus.FORBIDDEN, "forbidden", detail, help=help, field=field)


def printable(text: str, longest: int = 200) -> str:
    """What a client sent, fit to be sent back and shown on a terminal."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
    return shown if len(shown) <= longest else f"{shown[:longest]}…"
