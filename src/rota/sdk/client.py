"""The client for programs that wait for answers. Threads may share one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from rota.api.jobs import JobDocument
from rota.api.service import EventDocument
from rota.sdk.audit_calls import AuditCalls
from rota.sdk.call import Call, Waiting, onward
from rota.sdk.connection import connection
from rota.sdk.errors import RotaError, Silence, Unreachable
from rota.sdk.http import Answer, Distrusted, Http, Lost, Silent
from rota.sdk.job_calls import JobCalls, LogChunk, one_job
from rota.sdk.operator_calls import OperatorCalls
from rota.sdk.patience import ANSWER_S, CALLS, CONNECT_S, STREAMS, Breaker, Retries
from rota.sdk.people_calls import PeopleCalls
from rota.sdk.problems import reported
from rota.sdk.sign_in_calls import SignInCalls
from rota.sdk.streams import SILENCE_S, EventPosition, LogPosition
from rota.sdk.wording import ended_badly, not_over, reason_of, silence, unreachable, untrusted

T = TypeVar("T")


class Client(JobCalls, OperatorCalls, PeopleCalls, SignInCalls, AuditCalls, Waiting):
    """Finds its server by its arguments, ROTA_URL and ROTA_TOKEN, a context, or the files of a server on
    this machine, in this order. Calls that get lost are sent again, and none is carried out twice."""

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
        self._http = Http(self.connection.url, self.connection.tls(), CONNECT_S)

    def run(self, *command: str, check: bool = True, **fields: object) -> JobDocument:
        """Submit a command as a job and wait until it is over. `fields` are those of a job file. A job
        that doesn't succeed raises JobFailed, unless `check` is False."""
        [job] = self.submit(one_job(command, fields)).jobs
        ended = self.wait(job.id)
        if check and not ended.succeeded:
            raise ended_badly(ended)
        return ended

    def wait(self, job: str, *, timeout_s: float | None = None) -> JobDocument:
        """The job, once it has ended. Raises WaitTimeout if that takes too long; the job goes on."""
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        for _ in self._watch(EventPosition(subject=job), until_s):
            document = self.job(job).job
            if document.is_over:
                return document
        assert timeout_s is not None
        raise not_over(job, timeout_s)

    def events(
        self,
        *,
        follow: bool = False,
        after: int | None = None,
        last: int | None = None,
        kind: str | None = None,
        subject: str | None = None,
        project: str | None = None,
    ) -> Iterator[EventDocument]:
        """Events after number `after`, or the `last` ones. With `follow`, new events follow without end.
        Without `after` and `last`, the first event is the oldest one, or with `follow` the next one."""
        if follow:
            for event in self._watch(EventPosition(after, last, kind, subject, project)):
                if event is not None:
                    yield event
            return
        cursor: int | str | None = after
        while True:
            page = self.event_page(after=cursor, last=last, kind=kind, subject=subject, project=project)
            yield from page.items
            if page.next is None:
                return
            cursor = onward(page.next, cursor)

    def logs(
        self,
        job: str,
        *,
        ranks: Sequence[int] = (),
        since: datetime | None = None,
        follow: bool = False,
        tail: int | None = None,
    ) -> Iterator[LogChunk]:
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
                is_complete = not follow or self.job(job).job.is_over
                with self._exchange(position.call(), SILENCE_S if follow else ANSWER_S) as response:
                    read = position.reader()
                    for piece in response.stream():
                        for chunk in read(piece):
                            failures = 0
                            yield chunk
            except RotaError as failure:
                is_complete = False
                if follow and isinstance(failure, Silence):
                    continue  # tasks may write nothing for hours
                failures += 1
                self._pause(retries, failures, failure)

    def send(self, call: Call[T]) -> T:
        """Send a call, again if need be."""
        failures = 0
        while True:
            try:
                with self._exchange(call, ANSWER_S) as response:
                    body = response.read()
                return call.read(body)
            except RotaError as failure:
                failures += 1
                self._pause(self._retries, failures, failure)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _watch(self, position: EventPosition, until_s: float | None = None) -> Iterator[EventDocument | None]:
        """Events as they come, and None each time the stream is restarted: events may be missing before it.
        Ends only at `until_s`."""
        failures = 0
        while (left_s := _left_s(until_s)) > 0:
            try:
                with self._exchange(position.call(), min(SILENCE_S, left_s)) as response:
                    yield None
                    read = position.reader()
                    for piece in response.stream():
                        failures = 0
                        yield from read(piece)
                        if _left_s(until_s) <= 0:
                            return
                failure: RotaError = Unreachable("the server ended the stream")
            except RotaError as error:
                failure = error
            if _left_s(until_s) > 0:
                failures += 1
                self._pause(self._stream_retries, failures, failure, _left_s(until_s))

    @contextmanager
    def _exchange(self, call: Call[T], silence_s: float) -> Iterator[Answer]:
        """An answer that is no error. What fails on the way, also while it is read, is Unreachable."""
        self._breaker.admit()
        url = self.connection.url
        headers = {"Authorization": f"Bearer {self.connection.token}", **dict(call.headers)}
        try:
            answer = self._http.ask(call.method, f"/v1{call.target}", headers, call.body, silence_s)
            self._breaker.succeeded()
            try:
                if answer.status >= 300:
                    raise reported(answer.status, answer.headers.get("retry-after"), answer.read())
                yield answer
            finally:
                answer.close()
        except Distrusted as error:
            raise untrusted(url, str(error)) from None
        except Silent:
            self._breaker.failed()
            raise silence(url, silence_s) from None
        except Lost as error:
            self._breaker.failed()
            raise unreachable(url, reason_of(error.error) or str(error)) from None

    def _pause(
        self, retries: Retries, failures: int, failure: RotaError, at_most_s: float = float("inf")
    ) -> None:
        """Before the next try; raises the failure if there is none."""
        # Only after a failure: most clients never need it.
        from random import random

        pause_s = retries.pause_s(failures, failure, random())
        if pause_s is None:
            raise failure
        time.sleep(min(pause_s, at_most_s))


def _left_s(until_s: float | None) -> float:
    return float("inf") if until_s is None else until_s - time.monotonic()
