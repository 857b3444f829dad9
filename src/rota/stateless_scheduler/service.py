"""The gRPC service that controllers dial: each connection from its first word to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import structlog
from google.protobuf.message import DecodeError

from rota import __version__
from rota.backends.agents.door import GrpcDoor, Place
from rota.backends.agents.terms import Terms
from rota.clock import now_ms
from rota.stateless_scheduler.actions import Seat
from rota.stateless_scheduler.directing import MOST_ACTIONS, Directing
from rota.stateless_scheduler.outbox import Outbox
from rota.stateless_scheduler.tokens import Tokens
from rota.wire import controllers_pb2 as wire
from rota.wire.controllers_pb2_grpc import ControllersServicer, add_ControllersServicer_to_server

log = structlog.get_logger()

PROTOCOL = 1
FIRST_WORD_WITHIN_S = 10.0
MOST_SILENT = 100
"""Connections at a time whose first word hasn't come."""

Context = grpc.aio.ServicerContext[Any, Any]


class ControllersService(ControllersServicer):
    def __init__(self, directing: Directing, tokens: Tokens, terms: Terms) -> None:
        self._directing = directing
        self._tokens = tokens
        self._terms = terms
        self._silent = 0

    async def Direct(  # noqa: N802 – the name in the .proto
        self, request_iterator: AsyncIterator[wire.ControllerNews], context: Context
    ) -> AsyncIterator[wire.SchedulerNews]:
        hello = await self._hello(request_iterator, context)
        seat, outbox = self._directing.arrive(hello.name)
        listening = asyncio.create_task(self._listen(seat, outbox, request_iterator))
        # Whatever ends the one ends the other.
        listening.add_done_callback(lambda _: outbox.close())
        try:
            yield self._welcome()
            async for news in outbox:
                yield news
            if outbox.why_closed:
                await context.abort(grpc.StatusCode.ABORTED, outbox.why_closed)
            if listening.done() and isinstance(error := listening.exception(), BadWord):
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        finally:
            listening.cancel()
            self._directing.leave(seat, outbox)
            await asyncio.gather(listening, return_exceptions=True)

    async def _hello(self, news: AsyncIterator[wire.ControllerNews], context: Context) -> wire.Hello:
        if self._silent >= MOST_SILENT:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many who haven't said who they are")
        self._silent += 1
        try:
            async with asyncio.timeout(FIRST_WORD_WITHIN_S):
                hello = (await anext(news)).hello
        except (TimeoutError, StopAsyncIteration):
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "say who you are first")
        except DecodeError:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the first message can't be read")
        finally:
            self._silent -= 1
        if hello.protocol != PROTOCOL:
            older = "the scheduler" if hello.protocol > PROTOCOL else "the controller"
            await context.abort(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"protocol: the controller speaks version {hello.protocol}, "
                f"the scheduler {PROTOCOL}; upgrade {older}",
            )
        if not self._tokens.is_of(hello.name, hello.token):
            log.warning("controller.refused", peer=context.peer(), controller=hello.name[:100])
            await context.abort(
                grpc.StatusCode.UNAUTHENTICATED,
                "token: isn't that of a controller of this name; give the one in the scheduler's --tokens",
            )
        return hello

    def _welcome(self) -> wire.SchedulerNews:
        welcome = wire.Welcome(
            version=__version__,
            clock_ms=now_ms(),
            lost_after_ms=self._terms.lost_after_ms,
            record_within_ms=self._directing.record_within_ms,
            most_actions=MOST_ACTIONS,
        )
        return wire.SchedulerNews(welcome=welcome)

    async def _listen(self, seat: Seat, outbox: Outbox, news: AsyncIterator[wire.ControllerNews]) -> None:
        async for each in news:
            if seat.outbox is not outbox:
                # Of a connection that has been replaced: what it says is out of date.
                return
            match each.WhichOneof("news"):
                case "submit":
                    # What was begun is brought to its end, even if the controller leaves in the middle.
                    await asyncio.shield(self._directing.submit(seat, each.submit))
                case "recorded":
                    self._directing.recorded(seat, each.recorded.refs)
                case "kept":
                    self._directing.ends_kept(seat, each.kept.refs)
                case "cancel":
                    await self._directing.cancel(seat, each.cancel)
                case "ask":
                    self._directing.answering.ask(seat, each.ask.action)
                case "hello":
                    raise BadWord("hello: said twice; a connection begins with it, and never again")


class BadWord(Exception):
    """What a controller said that ends its connection."""


class ControllersDoor(GrpcDoor):
    guests = "controllers"

    def __init__(
        self,
        service: ControllersService,
        place: Place,
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        super().__init__(place, credentials)
        add_ControllersServicer_to_server(service, self._server)
