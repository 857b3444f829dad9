"""What tasks write: their logs, and the files that they leave."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from litestar.types import ASGIApp
from msgspec import Meta, Struct

from rota.api.jobs import MissingOutput, OutputDocument, OutputsDocument
from rota.api.people import Role
from rota.backends.backend import LogChunk, LogQuery, Stream
from rota.control.errors import Gone
from rota.control.origin import reads_others
from rota.lifecycle.state import JobState
from rota.loop.desk.jobs import JobsDesk
from rota.loop.desk.output import OutputDesk
from rota.model.outputs import is_meant
from rota.model.quantities import parse_timestamp_ms
from rota.server.documents import moment
from rota.server.http.problems import not_found
from rota.server.http.reading import read_quantity, read_ranks, read_relative_path
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, Query, Route
from rota.server.http.streams import StreamReply, begun
from rota.server.identity.access import at_least
from rota.server.routes.jobs import TAG
from rota.server.seen_jobs import seen_job

BYTES = "application/octet-stream"
JSON_LINES = "application/x-ndjson"
_MOST_RANKS = 1000


class LogsQuery(Query, frozen=True, kw_only=True):
    rank: Annotated[str, Meta(max_length=10_000, description="Only of these tasks, as in 0,1.")] | None = None
    since: (
        Annotated[str, Meta(max_length=100, description="Only what was written since this time.")] | None
    ) = None
    follow: Annotated[bool, Meta(description="Go on until the job's tasks have ended.")] = False
    tail: Annotated[int, Meta(ge=0, le=2**40, description="Only this many bytes from the end.")] | None = None
    form: Annotated[
        Literal["raw", "chunks"], Meta(description="The bytes alone, or JSON lines with rank and time.")
    ] = "raw"


class OutputQuery(Query, frozen=True, kw_only=True):
    rank: Annotated[int, Meta(ge=0, le=10**9, description="Of which task.")] = 0


class LogLine(Struct, frozen=True):
    """One line of the form `chunks`."""

    rank: int
    stream: Stream
    at: datetime
    data: bytes
    """In base64, as JSON has no bytes."""
    fence: int


async def read_logs(call: Call[LogsQuery, None], output: OutputDesk, jobs: JobsDesk) -> ASGIApp:
    """As they were written, tasks mixed in the order of their writing."""
    state = await seen_job(call, jobs)
    _note_reading(call, state)
    if await output.is_gone(state):
        raise _gone(state)
    query = call.query
    chunks = output.logs(
        LogQuery(
            job=state.id,
            epoch=state.epoch,
            ranks=None if query.rank is None else read_ranks(query.rank),
            since_ms=0 if query.since is None else read_quantity("since", parse_timestamp_ms, query.since),
            follow=query.follow,
            tail_bytes=query.tail,
        )
    )
    is_raw = query.form == "raw"
    data = _raw(chunks) if is_raw else _lines(chunks)
    # A followed task may write nothing for long. Existing output comes at once.
    data = data if query.follow else await begun(data)
    return StreamReply(
        data, BYTES if is_raw else JSON_LINES, call.streams, still_allowed=_still_allowed(call, state)
    )


def _gone(state: JobState) -> Gone:
    return Gone(
        f"what job {state.id} wrote is no longer kept; the job itself still is",
        "output is kept for as long as the server's settings server.history.logs and .logs_size say",
    )


def _still_allowed(call: Call[Any, None], state: JobState) -> Callable[[], Awaitable[bool]]:
    return partial(call.still_allowed, (state.spec.template.project,))


def _note_reading(call: Call[Any, Any], state: JobState) -> None:
    """Operators may read the output of all jobs. The audit log records it."""
    template = state.spec.template
    if template.user != call.who.user and at_least(call.who.role, Role.OPERATOR):
        reads_others(template.project)


async def _raw(batches: AsyncIterator[Sequence[LogChunk]]) -> AsyncIterator[bytes]:
    async for chunks in batches:
        yield b"".join([chunk.data for chunk in chunks])


async def _lines(batches: AsyncIterator[Sequence[LogChunk]]) -> AsyncIterator[bytes]:
    encode = msgspec.json.Encoder().encode_lines
    async for chunks in batches:
        yield encode(
            [LogLine(one.rank, one.stream, moment(one.at_ms), one.data, one.fence) for one in chunks]
        )


async def read_output(call: Call[OutputQuery, None], output: OutputDesk, jobs: JobsDesk) -> ASGIApp:
    """One of the files that the job declares as its outputs."""
    state = await seen_job(call, jobs)
    _note_reading(call, state)
    path = read_relative_path(call.names["path"].removeprefix("/"))
    if not is_meant(path, state.spec.run.outputs):
        raise not_found("output", path)
    try:
        chunks = await begun(output.output(state.id, call.query.rank, path, state.epoch))
    except FileNotFoundError:
        if await output.is_gone(state):
            raise _gone(state) from None
        raise not_found("output", path) from None
    return StreamReply(chunks, BYTES, call.streams, still_allowed=_still_allowed(call, state))


async def list_outputs(call: Call[Query, None], output: OutputDesk, jobs: JobsDesk) -> Reply:
    """The files that a job's tasks left, of those that it declares as its outputs, and what is missing."""
    state = await seen_job(call, jobs)
    kept = await output.outputs(state.id, state.epoch)
    if not kept and await output.is_gone(state):
        raise _gone(state)
    items = [
        OutputDocument(rank=one.rank, path=one.path, size_bytes=one.size_bytes, executable=one.executable)
        for one in kept
        if is_meant(one.path, state.spec.run.outputs)
    ]
    return json_reply(OutputsDocument(items=items, missing=_missing(state, items)))


def _missing(state: JobState, kept: Sequence[OutputDocument]) -> list[MissingOutput]:
    """Of tasks that have ended."""
    found: dict[int, list[str]] = {}
    for one in kept:
        found.setdefault(one.rank, []).append(one.path)
    return [
        MissingOutput(rank=rank, path=path)
        for rank in state.done[:_MOST_RANKS]
        for path in state.spec.run.outputs
        if not any(is_meant(each, (path,)) for each in found.get(rank, ()))
    ]


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/jobs/{job}/logs",
        call=read_logs,
        summary="Read the output of a job's tasks",
        tag=TAG,
        role=Role.VIEWER,
        query=LogsQuery,
        body=type(None),
        answers={200: (BYTES, JSON_LINES)},
        streams=True,
    ),
    Route(
        method="GET",
        path="/v1/jobs/{job}/outputs",
        call=list_outputs,
        summary="List the output files of a job",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: OutputsDocument},
    ),
    Route(
        method="GET",
        path="/v1/jobs/{job}/outputs/{path}",
        call=read_output,
        summary="Read an output file of a task",
        tag=TAG,
        role=Role.VIEWER,
        query=OutputQuery,
        body=type(None),
        answers={200: BYTES},
        streams=True,
        deep=True,
    ),
)
