"""The client for programs that run an event loop: the same methods as the other, to be awaited."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime
from io import BytesIO
from types import TracebackType
from typing import Self, TypeVar

import aiohttp
from yarl import URL

from rota.api.jobs import JobDocument
from rota.api.service import EventDocument
from rota.sdk.audit_calls import AuditCalls
from rota.sdk.call import Awaiting, Call, onward
from rota.sdk.connection import Connection, connection
from rota.sdk.errors import RotaError, Silence, Unreachable
from rota.sdk.job_calls import JobCalls, LogChunk, one_job
from rota.sdk.operator_calls import OperatorCalls
from rota.sdk.patience import ANSWER_S, CALLS, CONNECT_S, STREAMS, Breaker, Retries
from rota.sdk.people_calls import PeopleCalls
from rota.sdk.problems import reported
from rota.sdk.sign_in_calls import SignInCalls
from rota.sdk.streams import SILENCE_S, EventPosition, LogPosition
from rota.sdk.wording import ended_badly, not_over, reason_of, silence, unreachable, untrusted

T = TypeVar("T")

LARGE_BYTES = 1 << 20


class AsyncClient(JobCalls, OperatorCalls, PeopleCalls, SignInCalls, AuditCalls, Awaiting):
    """Finds its server as `Client` does. To be used, and closed, in one event loop:
    `async with AsyncClient() as client: …`."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        context: str | None = None,
        ca: str | None = None,
        *,
        retries: Retries = CALLS,
        stream_retries: Retries = STREAMS,
    ) -> None:
        self.connection = connection(url, token, context, ca)
        self._retries = retries
        self._stream_retries = stream_retries
        self._breaker = Breaker()
        self._session: aiohttp.ClientSession | None = None

    async def run(self, *command: str, check: bool = True, **fields: object) -> JobDocument:
        """Submit a command as a job and wait until it is over. `fields` are those of a job file. A job
        that doesn't succeed raises JobFailed, unless `check` is False."""
        [job] = (await self.submit(one_job(command, fields))).jobs
        ended = await self.wait(job.id)
        if check and not ended.succeeded:
            raise ended_badly(ended)
        return ended

    async def wait(self, job: str, *, timeout_s: float | None = None) -> JobDocument:
        """The job, once it has ended. Raises WaitTimeout if that takes too long; the job goes on."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._over(job)
        except TimeoutError:
            assert timeout_s is not None
            raise not_over(job, timeout_s) from None

    async def events(
        self,
        *,
        follow: bool = False,
        after: int | None = None,
        last: int | None = None,
        kind: str | None = None,
        subject: str | None = None,
        project: str | None = None,
    ) -> AsyncIterator[EventDocument]:
        """Events after number `after`, or the `last` ones. With `follow`, new events follow without end.
        Without `after` and `last`, the first event is the oldest one, or with `follow` the next one."""
        if follow:
            async with aclosing(self.watch(EventPosition(after, last, kind, subject, project))) as stream:
                async for one in stream:
                    if one is not None:
                        yield one
            return
        cursor: int | str | None = after
        while True:
            page = await self.event_page(after=cursor, last=last, kind=kind, subject=subject, project=project)
            for event in page.items:
                yield event
            if page.next is None:
                return
            cursor = onward(page.next, cursor)

    async def logs(
        self,
        job: str,
        *,
        ranks: Sequence[int] = (),
        since: datetime | None = None,
        follow: bool = False,
        tail: int | None = None,
    ) -> AsyncIterator[LogChunk]:
        """The output of a job's tasks: of all, or of `ranks`. `tail`: only this many bytes from the end. With
        `follow`, until the job has ended."""
        position = LogPosition(job, ranks=ranks, since=since, follow=follow, tail=tail)
        # Whoever follows outlasts a restart of the server. Who only looks wants to know that it is gone.
        retries = self._stream_retries if follow else self._retries
        failures = 0
        is_complete = False
        while not is_complete:
            try:
                # A stream may end because the server does: only one that began after the job was over
                # has brought all.
                is_complete = not follow or (await self.job(job)).job.is_over
                async with self._exchange(position.call(), SILENCE_S if follow else ANSWER_S) as response:
                    read = position.reader()
                    async for piece in response.content.iter_any():
                        for chunk in read(piece):
                            failures = 0
                            yield chunk
            except RotaError as failure:
                is_complete = False
                if follow and isinstance(failure, Silence):
                    continue  # tasks may write nothing for hours
                failures += 1
                await _pause(retries, failures, failure)

    async def watch(self, position: EventPosition) -> AsyncGenerator[EventDocument | None, None]:
        """Events as they come, and None each time the stream is restarted: events may be missing before
        it."""
        failures = 0
        while True:
            try:
                async with self._exchange(position.call(), SILENCE_S) as response:
                    yield None
                    read = position.reader()
                    async for piece in response.content.iter_any():
                        failures = 0
                        for event in read(piece):
                            yield event
                failure: RotaError = Unreachable("the server ended the stream")
            except RotaError as error:
                failure = error
            failures += 1
            await _pause(self._stream_retries, failures, failure)

    async def send(self, call: Call[T]) -> T:
        """Send a call, again if need be."""
        failures = 0
        while True:
            try:
                async with self._exchange(call, ANSWER_S) as response:
                    body = await response.read()
                return call.read(body)
            except RotaError as failure:
                failures += 1
                await _pause(self._retries, failures, failure)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _over(self, job: str) -> JobDocument:
        async with aclosing(self.watch(EventPosition(subject=job))) as stream:
            async for _ in stream:
                document = (await self.job(job)).job
                if document.is_over:
                    return document
        raise AssertionError("a stream of events never ends by itself")

    @asynccontextmanager
    async def _exchange(self, call: Call[T], silence_s: float) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer that is no error. What fails on the way, also while it is read, is Unreachable."""
        self._breaker.admit()
        url = self.connection.url
        if self._session is None:
            self._session = _session(self.connection)
        try:
            async with self._session.request(
                call.method,
                URL(f"{url}/v1{call.target}", encoded=True),
                data=_in_parts(call.body),
                headers=call.headers,
                timeout=aiohttp.ClientTimeout(sock_connect=CONNECT_S, sock_read=silence_s),
                allow_redirects=False,
            ) as response:
                self._breaker.succeeded()
                if response.status >= 300:
                    raise reported(
                        response.status, response.headers.get("Retry-After"), await response.read()
                    )
                yield response
        except aiohttp.ClientSSLError as error:
            raise untrusted(url, str(error)) from None
        except aiohttp.SocketTimeoutError:
            self._breaker.failed()
            raise silence(url, silence_s) from None
        except (aiohttp.ClientError, ConnectionError) as error:
            self._breaker.failed()
            system_error = getattr(error, "os_error", error)
            raise unreachable(url, reason_of(system_error) or str(error)) from None


def _session(connection: Connection) -> aiohttp.ClientSession:
    # Names are looked up once: an executor still needs its server while the interpreter shuts down,
    # and threads to look names up in can't be started then.
    connector = aiohttp.TCPConnector(ssl=connection.tls() or True, ttl_dns_cache=None)
    return aiohttp.ClientSession(
        connector=connector, headers={"Authorization": f"Bearer {connection.token}"}, auto_decompress=True
    )


async def _pause(retries: Retries, failures: int, failure: RotaError) -> None:
    """Before the next try; raises the failure if there is none."""
    pause_s = retries.pause_s(failures, failure, random.random())
    if pause_s is None:
        raise failure
    await asyncio.sleep(pause_s)


def _in_parts(body: bytes | None) -> bytes | BytesIO | None:
    """A large one is sent bit by bit, so that all else goes on meanwhile."""
    return body if body is None or len(body) < LARGE_BYTES else BytesIO(body)
