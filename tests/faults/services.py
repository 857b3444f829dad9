"""What a simulated server or scheduler answers at its ports: the production services."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeVar

import grpc
import msgspec
from google.protobuf.message import Message
from msgspec import Struct

from rota.backends.agents.backend import AgentsBackend
from rota.backends.agents.service import AgentsService, RestAddress, Standing
from rota.backends.backend import TaskRef
from rota.server.agents import AgentCalls
from rota.server.http.problems import ProblemError
from rota.server.routes.results import ResultForm, take_result
from rota.stateless_scheduler.service import ControllersService
from rota.wire import agents_pb2 as wire
from rota.wire import controllers_pb2
from tests.faults.rpc import CallContext, Kind, Method, RpcServer
from tests.faults.sockets import Host

AGENTS = "agents"
REST = "rest"
CONTROLLERS = "controllers"
"""Ports."""

Said = TypeVar("Said", bound=Message)
Heard = TypeVar("Heard", bound=Message)


class PutResult(Struct, frozen=True):
    """A request of REST: the result of a task."""

    secret: str
    ref: TaskRef
    result: dict[str, Any]


def grpc_kind(name: str, said: type[Said], heard: type[Heard]) -> Kind[Said, Heard]:
    return Kind(name, _written, said.FromString, _written, heard.FromString)


def _written(message: Message) -> bytes:
    return message.SerializeToString(deterministic=True)


ATTEND = grpc_kind("Attend", wire.AgentNews, wire.AgentOrders)
PERFORM = grpc_kind("Perform", wire.TaskNews, wire.TaskOrders)
DIRECT = grpc_kind("Direct", controllers_pb2.ControllerNews, controllers_pb2.SchedulerNews)
RESULT: Kind[PutResult, bool] = Kind(
    "PUT /v1/results",
    msgspec.json.encode,
    msgspec.json.Decoder(PutResult).decode,
    msgspec.json.encode,
    msgspec.json.Decoder(bool).decode,
)


class NoFiles:
    """Implements rota.server.agents.Files."""

    def find(self, sha256: str) -> None:
        return None

    def open(self, sha256: str) -> Any:
        raise FileNotFoundError(sha256)


def serve_agents(host: Host, backend: AgentsBackend) -> None:
    """In the process of the moment."""
    service = AgentsService(backend, RestAddress(1), lambda _: Standing(None, str))
    RpcServer(host, AGENTS, [Method(ATTEND, service.Attend), Method(PERFORM, service.Perform)])
    calls = AgentCalls(backend, NoFiles())

    async def put_result(requests: AsyncIterator[PutResult], context: CallContext) -> AsyncIterator[bool]:
        request = await anext(requests, None)
        if request is None:
            # Its connection was lost before it came.
            return
        try:
            session = calls.session(f"Bearer {request.secret}")
            task = calls.task(session, request.ref)
            form = msgspec.convert(request.result, ResultForm, strict=False)
            yield await take_result(calls, session, task, form)
        except ProblemError as error:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))

    RpcServer(host, REST, [Method(RESULT, put_result)])


def serve_controllers(host: Host, service: ControllersService) -> None:
    """In the process of the moment."""
    RpcServer(host, CONTROLLERS, [Method(DIRECT, service.Direct)])
