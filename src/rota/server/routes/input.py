"""What a job's user sends to it while it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any

from msgspec import Meta

from rota.api.jobs import InputDocument
from rota.api.people import Role
from rota.backends.backend import InputPiece
from rota.loop.desk.input import InputDesk
from rota.loop.desk.jobs import JobsDesk
from rota.server.http.problems import ProblemError, bad_input, forbidden
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, Query, Route
from rota.server.routes.jobs import TAG
from rota.server.seen_jobs import seen_job

MOST_BYTES = 1 << 20
"""Of one request."""
_MOST_OFFSET = 2**53
Side = Annotated[int, Meta(ge=1, le=65535)]


class InputQuery(Query, frozen=True, kw_only=True):
    offset: Annotated[
        int, Meta(ge=0, le=_MOST_OFFSET, description="How many bytes were sent before these.")
    ] = 0
    end: Annotated[bool, Meta(description="Nothing comes after these.")] = False
    rows: Annotated[Side, Meta(description="Of the job's terminal, from now on.")] | None = None
    columns: Annotated[Side, Meta(description="Of the job's terminal, from now on.")] | None = None


async def send_input(call: Call[InputQuery, AsyncIterator[bytes]], desk: InputDesk, jobs: JobsDesk) -> Reply:
    """Only the job's own user may. The answer says how many bytes are taken. None of these is lost without
    the job failing, and bytes that are sent again count once. It comes once the job reads on, or after 10
    seconds. A request without a body says that the client is still there: after two minutes of silence the
    input ends, and a terminal is hung up."""
    state = await seen_job(call, jobs)
    if state.spec.template.user != call.who.user:
        raise forbidden(
            f"job {state.id} is {state.spec.template.user}'s: nobody else may type into it",
            "use a token of the job's own user",
        )
    query = call.query
    if (query.rows is None) is not (query.columns is None):
        raise bad_input("rows", "rows and columns go together", "give both, or neither")
    window = None if query.rows is None or query.columns is None else (query.rows, query.columns)
    data = await _whole(call.body)
    fed = await desk.feed(state, InputPiece(query.offset, data, query.end, window))
    return json_reply(InputDocument(taken=fed.taken_bytes, open=fed.is_open))


async def _whole(chunks: AsyncIterator[bytes]) -> bytes:
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) > MOST_BYTES:
            raise ProblemError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                "too-large",
                f"the body has more than {MOST_BYTES:,} bytes",
                help="send less at a time, each with its offset",
                headers=(("connection", "close"),),
            )
    return bytes(data)


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="POST",
        path="/v1/jobs/{job}/input",
        call=send_input,
        summary="Send a running job what it reads",
        tag=TAG,
        role=Role.SUBMITTER,
        query=InputQuery,
        body=AsyncIterator,
        documented_body="application/octet-stream",
        streams_body=True,
        answers={200: InputDocument},
        asks=True,
    ),
)
