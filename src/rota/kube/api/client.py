"""Calls of the Kubernetes API, typed. What may be asked twice is asked again when it fails in passing."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from enum import Enum
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import aiohttp
import msgspec
from msgspec import Struct

from rota import __version__
from rota.kube.api.access import ClusterAccess
from rota.kube.api.connection import Answer, Connections, Refused, Request
from rota.kube.api.credentials import Credentials
from rota.kube.api.decoding import Change, ObjectDecoder, Page, WatchFailed, status_in
from rota.kube.api.errors import ApiError, BadAnswer, Call, KubeError, Silent, Unauthorised, api_error
from rota.kube.api.lines import LineSplitter
from rota.kube.api.objects import (
    Binding,
    DeleteOptions,
    Eviction,
    ObjectName,
    ObjectReference,
    Preconditions,
    Status,
)
from rota.kube.api.remote_command import PROTOCOLS, RemoteCommand, exec_path
from rota.kube.api.resources import PODS, Resource
from rota.kube_objects.objects.metadata import KubeObject
from rota.patience.backoff import Backoff

T = TypeVar("T", bound=KubeObject)
Body = Struct | Mapping[str, Any]

PAGE_SIZE = 500
_JSON = "application/json"
_encode = msgspec.json.Encoder().encode


class PatchKind(Enum):
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    """Lists are merged by the keys of their items: conditions by their type."""


class Selection(Struct, frozen=True):
    """Which objects of a resource; nothing given: all of all namespaces."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def query(self) -> dict[str, str]:
        return {
            **({"labelSelector": self.labels} if self.labels else {}),
            **({"fieldSelector": self.fields} if self.fields else {}),
        }


EVERYTHING = Selection()


class Retries(Struct, frozen=True):
    attempts: int = 5
    pauses: Backoff = Backoff(0.1, 5.0)
    longest_asked_s: float = 30.0
    """Of what a server may ask to wait: whoever is told more than that is told, instead of waiting."""


class Client:
    """More than twenty methods: one for each verb of the API. All share how calls are sent and repeated."""

    def __init__(
        self,
        access: ClusterAccess,
        *,
        connections: int = 100,
        timeout_s: float = 30.0,
        retries: Retries = Retries(),  # noqa: B008 – frozen
        user_agent: str = f"rota/{__version__}",
    ) -> None:
        """`connections`: at the same time, without watches, which have their own; further calls wait for one.

        `timeout_s`: for each try of a call, from when it has a connection.
        """
        self.namespace = access.namespace
        self._source = access.credentials
        self._connections = Connections(access, connections, user_agent)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)
        self._retries = retries
        self._decoders: dict[type, ObjectDecoder[Any]] = {}
        self._may_send: Callable[[], bool] | None = None
        self._waits_its_turn = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connections.close()

    def only_while(self, may_send: Callable[[], bool]) -> Client:
        """For calls that are sent only as long as that is so, over the same connections.

        Whoever waits for a connection, or to ask again, may wait for longer than that: Withheld is raised.
        """
        held_back = copy.copy(self)
        held_back._may_send = may_send
        return held_back

    def ahead_of_others(self) -> Client:
        """For the few calls that must be in time: they have a connection at once, whoever waits for one."""
        ahead = copy.copy(self)
        ahead._waits_its_turn = False
        return ahead

    # Reading

    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T:
        call = _call("get", resource, namespace, name)
        answer = await self._ask(Request(call, "GET", resource.path(namespace, name)))
        return self._object(resource, answer, call)

    async def pages(
        self, resource: Resource[T], selection: Selection = EVERYTHING, *, page_size: int = PAGE_SIZE
    ) -> AsyncGenerator[Page[T], None]:
        """All pages are of one moment, that of the first. `page_size` 0: all in one.

        Raises Expired if that moment is too long ago when a later page is asked for.
        """
        call = _call("list", resource, selection.namespace)
        query = selection.query() | ({"limit": str(page_size)} if page_size else {})
        while True:
            path = f"{resource.path(selection.namespace)}?{urlencode(query)}"
            answer = await self._ask(Request(call, "GET", path))
            try:
                page = self._decoder(resource).page(answer)
            except msgspec.DecodeError as error:
                raise BadAnswer(call, str(error)) from None
            yield page
            if not page.continue_token:
                return
            query["continue"] = page.continue_token

    async def list_all(self, resource: Resource[T], selection: Selection = EVERYTHING) -> list[T]:
        """Those that can be read."""
        return [one async for page in self.pages(resource, selection) for one in page.items]

    async def watch(
        self,
        resource: Resource[T],
        resource_version: str,
        selection: Selection = EVERYTHING,
        *,
        timeout_s: int = 300,
        silent_s: float = 90.0,
    ) -> AsyncGenerator[list[Change[T]], None]:
        """What has changed since that version, as much at a time as has come; ends after `timeout_s`.

        Bookmarks come about once a minute, though not from every server: after `silent_s` without anything
        Silent is raised, for nobody may be there any more. Expired: what happened since that version is no
        longer known.
        """
        call = _call("watch", resource, selection.namespace)
        query = selection.query() | {
            "watch": "1",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(timeout_s),
        }
        request = Request(call, "GET", f"{resource.path(selection.namespace)}?{urlencode(query)}")
        decoder, lines = self._decoder(resource), LineSplitter()
        credentials = await self._source.current()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout.total, sock_read=silent_s)
        async with self._connections.stream(request, credentials, timeout) as response:
            if response.status != 200:
                error = _refusal(call, Answer(response.status, response.headers, await response.read()))
                if isinstance(error, Unauthorised):
                    self._source.refused(credentials)
                raise error
            while chunk := await _next_chunk(response, call):
                try:
                    changes = [decoder.change(line) for line in lines.feed(chunk)]
                except WatchFailed as failed:
                    raise api_error(call, failed.status) from None
                except msgspec.DecodeError as error:
                    raise BadAnswer(call, str(error)) from None
                yield [change for change in changes if change is not None]

    # Writing

    async def create(self, resource: Resource[T], body: Body, namespace: str = "") -> T:
        call = _call("create", resource, namespace)
        request = Request(call, "POST", resource.path(namespace), _encode(body), _JSON)
        return self._object(resource, await self._ask(request, is_repeatable=False), call)

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        change: Body,
        namespace: str = "",
        kind: PatchKind = PatchKind.MERGE,
    ) -> T:
        """With `metadata.resourceVersion` in it, Conflict is raised if the object has changed since then."""
        request = _patch(resource, name, namespace, "", change, kind)
        return self._object(resource, await self._ask(request), request.call)

    async def patch_status(
        self,
        resource: Resource[T],
        name: str,
        change: Body,
        namespace: str = "",
        kind: PatchKind = PatchKind.STRATEGIC,
    ) -> None:
        await self._ask(_patch(resource, name, namespace, "status", change, kind))

    async def delete(
        self,
        resource: Resource[T],
        name: str,
        namespace: str = "",
        *,
        uid: str | None = None,
        grace_s: int | None = None,
    ) -> None:
        """`uid`: only that one; Conflict, if the name is another's by now."""
        options = DeleteOptions(grace_s, Preconditions(uid) if uid else None)
        call = _call("delete", resource, namespace, name)
        request = Request(call, "DELETE", resource.path(namespace, name), _encode(options), _JSON)
        await self._ask(request)

    async def bind(
        self,
        namespace: str,
        pod: str,
        node: str,
        *,
        uid: str = "",
        annotations: dict[str, str] | None = None,
    ) -> None:
        """With these annotations, which it then has. Conflict: it is bound already, or no longer the pod of
        that uid."""
        named = ObjectName(name=pod, uid=uid, annotations=annotations)
        body = Binding(named, ObjectReference(kind="Node", name=node))
        call = Call("create", "pods/binding", namespace=namespace, name=pod)
        path = PODS.path(namespace, pod, "binding")
        await self._ask(Request(call, "POST", path, _encode(body), _JSON), is_repeatable=False)

    async def evict(
        self, namespace: str, pod: str, *, uid: str | None = None, grace_s: int | None = None
    ) -> None:
        """HeldByBudget: a disruption budget doesn't allow it now."""
        options = DeleteOptions(grace_s, Preconditions(uid) if uid else None)
        body = Eviction(ObjectName(name=pod, namespace=namespace), options)
        call = Call("create", "pods/eviction", namespace=namespace, name=pod)
        path = PODS.path(namespace, pod, "eviction")
        await self._ask(Request(call, "POST", path, _encode(body), _JSON), is_repeatable=False)

    # Running

    @asynccontextmanager
    async def run_in(
        self, namespace: str, pod: str, container: str, command: Sequence[str], *, has_input: bool = False
    ) -> AsyncIterator[RemoteCommand]:
        """A command in a container that runs. It isn't asked again: it may have begun."""
        call = Call("create", "pods/exec", namespace=namespace, name=pod)
        request = Request(call, "GET", exec_path(namespace, pod, container, command, has_input=has_input))
        credentials = await self._source.current()
        try:
            connecting_s = self._timeout.total or 30.0
            async with self._connections.websocket(request, credentials, PROTOCOLS, connecting_s) as socket:
                yield RemoteCommand(socket, call)
        except Refused as refused:
            if refused.status == 401:
                self._source.refused(credentials)
            raise api_error(call, Status(code=refused.status, message=refused.message)) from None

    # Asking

    async def _ask(self, request: Request, *, is_repeatable: bool = True) -> bytes:
        failures = 0
        while True:
            try:
                return await self._ask_as_current(request)
            except KubeError as error:
                failures += 1
                may_repeat = error.may_pass and (is_repeatable or not error.may_have_happened)
                asked_s = error.retry_after_s or 0.0
                if not may_repeat or failures >= self._retries.attempts:
                    raise
                if asked_s > self._retries.longest_asked_s:
                    raise
                pause_s = max(asked_s, self._retries.pauses.pause_s(failures, random.random()))
            await asyncio.sleep(pause_s)

    async def _ask_as_current(self, request: Request) -> bytes:
        credentials = await self._source.current()
        answer = await self._fetch(request, credentials)
        if answer.status == 401:
            self._source.refused(credentials)
            fresh = await self._source.current()
            if fresh is not credentials:
                answer = await self._fetch(request, fresh)
        if answer.status >= 300:
            raise _refusal(request.call, answer)
        return answer.body

    async def _fetch(self, request: Request, credentials: Credentials) -> Answer:
        turn = self._connections.free if self._waits_its_turn else nullcontext()
        async with turn:
            return await self._connections.fetch(request, credentials, self._timeout, self._may_send)

    def _object(self, resource: Resource[T], answer: bytes, call: Call) -> T:
        try:
            return self._decoder(resource).object(answer)
        except msgspec.DecodeError as error:
            raise BadAnswer(call, str(error)) from None

    def _decoder(self, resource: Resource[T]) -> ObjectDecoder[T]:
        decoder = self._decoders.get(resource.type)
        if decoder is None:
            decoder = self._decoders[resource.type] = ObjectDecoder(resource.type)
        return decoder


async def _next_chunk(response: aiohttp.ClientResponse, call: Call) -> bytes:
    """Empty: that was all."""
    try:
        return await response.content.readany()
    except aiohttp.SocketTimeoutError:
        raise Silent(call, "nothing has come for a while") from None


def _call(verb: str, resource: Resource[T], namespace: str, name: str = "") -> Call:
    return Call(verb, resource.name, resource.group, namespace, name)


def _patch(
    resource: Resource[T], name: str, namespace: str, subresource: str, change: Body, kind: PatchKind
) -> Request:
    what = f"{resource.name}/{subresource}" if subresource else resource.name
    call = Call("patch", what, resource.group, namespace, name)
    return Request(call, "PATCH", resource.path(namespace, name, subresource), _encode(change), kind.value)


def _refusal(call: Call, answer: Answer) -> ApiError:
    status = status_in(answer.body, answer.status)
    asked = answer.headers.get("Retry-After", "")
    retry_after_s = float(asked) if asked.isdecimal() else None
    if retry_after_s is None and status.details is not None and status.details.retry_after_seconds:
        retry_after_s = float(status.details.retry_after_seconds)
    return api_error(call, status, retry_after_s)
