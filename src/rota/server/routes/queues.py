"""Queues: paused, closed and opened."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from rota.api.cluster import QueueDocument
from rota.api.documents import Page
from rota.api.people import Role
from rota.control.errors import NotFound
from rota.loop.desk.queues import QueuesDesk
from rota.model.calendar import QueueMode, QueueState
from rota.model.ids import QueueName
from rota.server.documents import moment
from rota.server.http.reading import read_name
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Form, Query, Route

TAG = "queues"


class QueueForm(Form, frozen=True, kw_only=True):
    state: QueueMode
    message: Annotated[str, Meta(max_length=1000, description="Reason, shown to users of the queue.")] = ""


async def list_queues(call: Call[Query, None], queues: QueuesDesk) -> Reply:
    return json_reply(Page[QueueDocument](items=list(await queues.queues())))


async def set_queue(call: Call[ChangeQuery, QueueForm], queues: QueuesDesk) -> Reply:
    """Paused: takes jobs and starts none, but for promised ones. Closed: takes none."""
    queue = await _queue(call, queues)
    state = QueueState(QueueName(queue.name), call.body.state, call.now_ms, call.body.message)
    await queues.set_queue(state, call.who, call.query.dry_run)
    if not call.query.dry_run:
        return json_reply(await _queue(call, queues))
    return json_reply(replace(queue, state=state.mode, since=moment(state.since_ms), message=state.message))


async def _queue(call: Call[Any, Any], queues: QueuesDesk) -> QueueDocument:
    name = read_name(call.names["name"].removeprefix("/"))
    queue = next((queue for queue in await queues.queues() if queue.name == name), None)
    if queue is None:
        raise NotFound("queue", name)
    return queue


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/queues",
        call=list_queues,
        summary="List queues",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: Page[QueueDocument]},
    ),
    Route(
        method="PUT",
        path="/v1/queues/{name}",
        call=set_queue,
        summary="Pause, close or open a queue",
        tag=TAG,
        role=Role.OPERATOR,
        query=ChangeQuery,
        body=QueueForm,
        answers={200: QueueDocument},
        deep=True,
        examples={"pause": {"state": "paused", "message": "file server is down"}},
    ),
)
