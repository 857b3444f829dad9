"""Events of jobs, nodes and queues."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from litestar.types import ASGIApp
from msgspec import Meta
from msgspec.structs import replace

from rota.api.documents import Page
from rota.api.people import Role
from rota.api.service import EventDocument
from rota.control.access import Who
from rota.loop.desk.events import EventsDesk
from rota.server.documents import event_document
from rota.server.http.problems import bad_input
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, Query, Route
from rota.server.http.streams import EVENT_STREAM, StreamReply, server_sent_event
from rota.store.reading.queries import EventFilter
from rota.store.writing.batch import StoredEvent

TAG = "events"
LAST_EVENT_ID = "last-event-id"
HEARTBEAT = b": still here\n\n"
_MAX_SEQ = 2**63 - 1
_PAGE, _LONGEST_PAGE = 100, 1000
Text = Annotated[str, Meta(max_length=1000)]


class FollowQuery(Query, frozen=True, kw_only=True):
    after: Annotated[int, Meta(ge=0, le=_MAX_SEQ, description="Only those after this one.")] | None = None
    last: (
        Annotated[
            int, Meta(ge=1, le=_LONGEST_PAGE, description="This many of the newest events; not with `after`.")
        ]
        | None
    ) = None
    kind: Annotated[Text, Meta(description="Only of these kinds, as in job.Started,job.Ended.")] | None = None
    subject: Annotated[Text, Meta(description="Only of this job, node, queue, project …")] | None = None
    project: Annotated[Text, Meta(description="Only for this project.")] | None = None


class EventsQuery(FollowQuery, frozen=True, kw_only=True):
    limit: (
        Annotated[int, Meta(ge=1, le=_LONGEST_PAGE, description=f"At most this many; {_PAGE} by default.")]
        | None
    ) = None


async def list_events(call: Call[EventsQuery, None], events: EventsDesk) -> Reply:
    """The oldest first: from the beginning, after a given event, or the `last` ones."""
    last = _last(call)
    if last is not None:
        if call.query.limit is not None:
            raise bad_input("limit", "can't be given with last", "`last` says how many: leave out `limit`")
        return _page(await events.latest_events(last, _filter(call)), call.who, next=None)
    limit = call.query.limit or _PAGE
    found = await events.events(call.query.after or 0, limit, _filter(call))
    return _page(found, call.who, next=str(found[-1].seq) if len(found) == limit else None)


def _page(events: Sequence[StoredEvent], who: Who, next: str | None) -> Reply:
    return json_reply(Page[EventDocument](items=[event_document(one, who.sees) for one in events], next=next))


async def follow_events(call: Call[FollowQuery, None], events: EventsDesk) -> ASGIApp:
    """Server-sent events. A client that was disconnected continues with the header Last-Event-ID. Without it
    and without `after`, the stream begins with new events; with `last`, with this many of the newest."""
    reached, last, wanted = _last_event_id(call), _last(call), _filter(call)
    if reached is not None:
        batches = events.follow(reached, wanted)
    else:
        batches = events.follow(call.query.after, wanted, last)
    return StreamReply(
        _server_sent(batches, call, wanted.projects),
        EVENT_STREAM,
        call.streams,
        heartbeat=HEARTBEAT,
        still_allowed=partial(call.still_allowed, wanted.projects),
    )


def _last(call: Call[Any, None]) -> int | None:
    last: int | None = call.query.last
    if last is not None and call.query.after is not None:
        raise bad_input("last", "can't be given with after", "give one of them")
    return last


def _last_event_id(call: Call[FollowQuery, None]) -> int | None:
    last = call.headers.get(LAST_EVENT_ID)
    if last is None:
        return None
    if not (last.isascii() and last.isdigit() and len(last) < 19):
        raise bad_input(
            "Last-Event-ID", "is not an event's number", "send the id of the last event that came"
        )
    return int(last)


def _filter(call: Call[Any, None]) -> EventFilter:
    query, who = call.query, call.who
    projects = who.projects
    if query.project is not None:
        projects = (query.project,) if who.sees(query.project) else ()
    return EventFilter(
        kinds=None if query.kind is None else tuple(query.kind.split(",")),
        subject=query.subject,
        projects=projects,
    )


async def _server_sent(
    batches: AsyncIterator[Sequence[StoredEvent]], call: Call[Any, None], projects: tuple[str, ...] | None
) -> AsyncIterator[bytes]:
    """`projects`: those that the stream is of, and ends with."""
    encode = msgspec.json.Encoder().encode
    async for events in batches:
        # A stream of one project goes on when they lose another, whose jobs it may name.
        sees_all = await call.still_allowed(call.who.projects)
        sees = call.who.sees if sees_all else replace(call.who, projects=projects).sees
        yield b"".join(
            [server_sent_event(one.seq, one.row.kind, encode(event_document(one, sees))) for one in events]
        )


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/events",
        call=list_events,
        summary="List events",
        tag=TAG,
        role=Role.VIEWER,
        query=EventsQuery,
        body=type(None),
        answers={200: Page[EventDocument]},
    ),
    Route(
        method="GET",
        path="/v1/events/stream",
        call=follow_events,
        summary="Follow events as they happen",
        tag=TAG,
        role=Role.VIEWER,
        query=FollowQuery,
        body=type(None),
        answers={200: EVENT_STREAM},
        streams=True,
    ),
)
