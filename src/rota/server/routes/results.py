"""What agents bring and fetch: results of their tasks, and the files these need. Not for people: an agent
shows the secret that it was welcomed with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from litestar.types import ASGIApp
from msgspec import Meta

from rota.api.documents import ChangeDocument
from rota.backends.agents.agent import Session
from rota.backends.agents.claims import Refusal
from rota.backends.agents.task import AgentTask
from rota.backends.backend import TaskEnded, TaskRef, TaskStarted
from rota.lifecycle.state import EndReason, TaskEnd, Used
from rota.server.agents import AgentCalls
from rota.server.http.places import Rank
from rota.server.http.problems import bad_input, not_found, printable
from rota.server.http.reading import read_job_id, read_relative_path, read_sha256
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, Form, Query, Route
from rota.server.http.streams import StreamReply, begun

BYTES = "application/octet-stream"
TAG = "agents"
Amount = Annotated[int, Meta(ge=0, le=2**53)]


class ResultForm(Form, frozen=True, kw_only=True):
    """How a task ended. Of its outputs, each was sent before."""

    started_ms: Amount | None = None
    """None: it never did, or that was said before. This may overtake the agent's stream."""
    ended_ms: Amount
    reason: EndReason
    exit_code: Annotated[int, Meta(ge=0, le=255)] | None = None
    signal: Annotated[int, Meta(ge=1, le=64)] | None = None
    message: Annotated[str, Meta(max_length=10_000)] = ""
    cpu_ms: Amount = 0
    max_memory_bytes: Amount = 0
    output_bytes: Amount = 0
    """The size of its output. The output comes by the agent's stream, and the end isn't reported before."""


async def put_result(call: Call[Query, ResultForm]) -> Reply:
    """200: the result is committed; 202: not yet, and the agent's stream has to report it, too. The first
    report counts."""
    agents, session, task = _task(call)
    is_kept = await take_result(agents, session, task, call.body)
    return json_reply(ChangeDocument(dry_run=False, changed=[task.ref.job]), 200 if is_kept else 202)


async def take_result(agents: AgentCalls, session: Session, task: AgentTask, form: ResultForm) -> bool:
    """Whether it is committed by now."""
    end = TaskEnd(
        form.reason,
        form.exit_code,
        form.signal,
        form.message,
        Used(form.cpu_ms, form.max_memory_bytes),
    )
    ahead_ms = task.server_ahead_ms
    if ahead_ms is None:
        ahead_ms = session.agent.clock.server_ahead_ms
    if form.started_ms is not None:
        agents.backend.hear_of(task, TaskStarted(task.ref, form.started_ms + ahead_ms))
    ended = TaskEnded(task.ref, form.ended_ms + ahead_ms, end)
    return await agents.result(session, task, ended, form.output_bytes)


async def put_output(call: Call[Query, AsyncIterator[bytes]]) -> Reply:
    """A file that the task left, whole."""
    agents, _, task = _task(call)
    path = read_relative_path(call.names["path"].removeprefix("/"))
    try:
        executable = call.headers.get("rota-executable") == "true"
        await agents.backend.keep_file(task, path, call.body, executable=executable)
    except Refusal as refusal:
        raise bad_input("path", str(refusal), "keep it on the agent") from None
    return json_reply(ChangeDocument(dry_run=False, changed=[path]))


async def get_file(call: Call[Query, None]) -> ASGIApp:
    """An input file of one of the agent's tasks."""
    agents, session = _session(call)
    chunks = await begun(agents.file(session, read_sha256(call.names["sha256"])))
    return StreamReply(chunks, BYTES, call.streams)


def _session(call: Call[Any, Any]) -> tuple[AgentCalls, Session]:
    agents = call.service.agents
    if agents is None:
        raise not_found("agent", "any")
    session = agents.session(call.headers.get("authorization"))
    if call.place is not None:
        call.place.proved(f"agent {session.agent.name}", Rank.AGENT)
    return agents, session


def _task(call: Call[Any, Any]) -> tuple[AgentCalls, Session, AgentTask]:
    agents, session = _session(call)
    ref = TaskRef(read_job_id(call.names["job"]), _number(call, "rank"), _number(call, "fence"))
    return agents, session, agents.task(session, ref)


def _number(call: Call[Any, Any], name: str) -> int:
    text = call.names[name]
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise bad_input(name, f"{printable(text, 40)} is not a number", "give it in digits")
    return int(text)


AGENT_ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="PUT",
        path="/v1/results/{job}/{rank}/{fence}",
        call=put_result,
        summary="Report how a task ended",
        tag=TAG,
        role=None,
        query=Query,
        body=ResultForm,
        asks=True,
        answers={200: ChangeDocument, 202: ChangeDocument},
    ),
    Route(
        method="PUT",
        path="/v1/results/{job}/{rank}/{fence}/outputs/{path}",
        call=put_output,
        summary="Upload an output file of a task",
        tag=TAG,
        role=None,
        query=Query,
        body=AsyncIterator,
        documented_body=BYTES,
        streams_body=True,
        deep=True,
        asks=True,
        answers={200: ChangeDocument},
    ),
    Route(
        method="GET",
        path="/v1/files/{sha256}",
        call=get_file,
        summary="Fetch an input file",
        tag=TAG,
        role=None,
        query=Query,
        body=type(None),
        answers={200: BYTES},
    ),
)
"""Beside those that the OpenAPI document has: both sides of these are Rota's."""
