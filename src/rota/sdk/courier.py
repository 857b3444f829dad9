"""Takes an executor's calls to the server and brings their outcomes back: an event loop in a thread.

    take ──► waiting ──► files and arrays, one submission after the other ──► jobs
                                                                               │
    futures ◄── result.pkl, or how the job ended ◄── one stream of events ◄────┘

While the server is away it waits: the jobs go on there, and nothing is submitted twice.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any, get_args

from rota.api.jobs import Submitted as SubmittedDocument
from rota.lifecycle.events import (
    Bound,
    Held,
    JobEvent,
    LimitChanged,
    Promised,
    Released,
    Started,
    Submitted,
)
from rota.lifecycle.state import TERMINAL
from rota.sdk import payload
from rota.sdk.async_client import AsyncClient
from rota.sdk.connection import Connection
from rota.sdk.errors import BadAnswer, ExecutorClosed, NotFound, RotaError, TooLarge
from rota.sdk.job_calls import JobForm
from rota.sdk.orders import JobFuture, Order, Parcel, first_batch, parcels
from rota.sdk.patience import STREAMS, Retries
from rota.sdk.streams import EventPosition
from rota.sdk.wording import ended_badly, too_large

RESULTS_AT_ONCE = 8
LAST_WORDS_BYTES = 2000
FOREVER = Retries(attempts=sys.maxsize, longest_s=STREAMS.longest_s)

STARTED = "job.Started"
NEVER_THE_END = (Submitted, Held, Released, Bound, Started, Promised, LimitChanged)
KINDS = (STARTED, *(f"job.{kind.__name__}" for kind in get_args(JobEvent) if kind not in NEVER_THE_END))
"""Events that say something of a call: it runs, or it may be over."""


class Courier:
    """`take`, `close` and `join` are for any thread; all else happens in the courier's own."""

    def __init__(self, connection: Connection, form: Mapping[str, object]) -> None:
        self._connection = connection
        self._form = form
        self._waiting: list[Order] = []
        self._jobs: dict[str, JobFuture[Any]] = {}
        """Submitted and, as far as known, unfinished."""
        self._to_cancel: list[str] = []
        self._under_way: list[JobFuture[Any]] = []
        """Of the submission that is being made."""
        self._ended_unknown: set[str] = set()
        """Jobs that ended while a submission was under way: its answer may name them."""
        self._asking: dict[str, bool] = {}
        """Jobs whose result is being fetched; True: to be fetched again, because an event came meanwhile."""
        self._questions: set[asyncio.Task[None]] = set()
        self._is_closing = False
        self._failure: BaseException | None = None
        """It has given up, because of this."""
        self._gate = threading.Lock()
        self._is_over = False
        self._loop = asyncio.new_event_loop()
        self._changed = asyncio.Event()
        self._is_listening = asyncio.Event()
        self._streams_begun = 0
        self._at_once = asyncio.Semaphore(RESULTS_AT_ONCE)
        self._thread = threading.Thread(target=self._main, name="rota-executor", daemon=True)
        self._thread.start()

    def take(self, order: Order) -> None:
        order.future.on_cancel = lambda: self._soon(self._cancelled, order.future)
        if not self._soon(self._accept, order):
            raise ExecutorClosed("the executor has lost its server", help="make a new one")

    def close(self, *, cancel_waiting: bool) -> None:
        self._soon(self._close, cancel_waiting)

    def join(self) -> None:
        self._thread.join()

    def _soon(self, do: Callable[..., None], *args: object) -> bool:
        with self._gate:
            if not self._is_over:
                self._loop.call_soon_threadsafe(do, *args)
            return not self._is_over

    # From here on: in the courier's thread.

    def _accept(self, order: Order) -> None:
        if self._failure is not None:
            order.future.fail(self._failure)
        self._waiting.append(order)
        self._changed.set()

    def _close(self, cancel_waiting: bool) -> None:
        self._is_closing = True
        if cancel_waiting:
            for future in self._unfinished():
                if not future.running():
                    future.cancel()
        self._changed.set()

    def _cancelled(self, future: JobFuture[Any]) -> None:
        if future.job_id is not None and self._jobs.pop(future.job_id, None) is not None:
            self._to_cancel.append(future.job_id)
        self._changed.set()

    def _main(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            with self._gate:
                self._is_over = True
            # Calls that were submitted before still get their answers.
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()

    async def _serve(self) -> None:
        connection = self._connection
        async with AsyncClient(
            connection.url, connection.token, ca=connection.ca, retries=FOREVER, stream_retries=FOREVER
        ) as client:
            duties = {
                asyncio.create_task(self._listen(client)),
                asyncio.create_task(self._deliver(client)),
            }
            finished, unfinished = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
            for task in [*unfinished, *self._questions]:
                task.cancel()
            await asyncio.gather(*unfinished, *self._questions, return_exceptions=True)
            for task in finished:
                if error := task.exception():
                    self._give_up(error)

    def _give_up(self, error: BaseException) -> None:
        """Of an error that doesn't pass, such as a token that has expired."""
        self._failure = error
        for future in self._unfinished():
            future.fail(error)

    def _unfinished(self) -> list[JobFuture[Any]]:
        return [*(order.future for order in self._waiting), *self._under_way, *self._jobs.values()]

    async def _deliver(self, client: AsyncClient) -> None:
        """Submits and cancels, until all is done and no more will come."""
        await self._is_listening.wait()
        while True:
            self._changed.clear()
            while self._waiting:
                count = first_batch(self._waiting)
                batch = [order for order in self._waiting[:count] if not order.future.cancelled()]
                del self._waiting[:count]
                await self._submit(client, parcels(batch))
            while self._to_cancel:
                jobs, self._to_cancel = self._to_cancel, []
                await self._cancel(client, jobs)
            if self._is_closing and not (self._waiting or self._jobs or self._to_cancel or self._asking):
                return
            await self._changed.wait()

    async def _submit(self, client: AsyncClient, batch: list[Parcel]) -> None:
        if not batch:
            return
        streams_begun = self._streams_begun
        futures = self._under_way = [order.future for parcel in batch for order in parcel.orders]
        try:
            forms = await asyncio.gather(*(self._staged(client, parcel) for parcel in batch))
            submitted = await client.submit(*forms)
            ids = _ids(submitted)
            if len(ids) != len(futures):
                raise BadAnswer(f"{len(futures)} jobs were submitted, {len(ids)} came back")
        except RotaError as error:
            for future in futures:
                future.fail(error)
            submitted = None
        self._under_way = []
        ended, self._ended_unknown = self._ended_unknown, set()
        if submitted is None:
            return
        for future, job_id in zip(futures, ids, strict=True):
            future.job_id = job_id
            if future.cancelled():
                self._to_cancel.append(job_id)
                continue
            self._jobs[job_id] = future
            # A stream that was restarted meanwhile may have missed its end.
            if job_id in ended or streams_begun != self._streams_begun:
                self._ask(client, job_id)

    async def _staged(self, client: AsyncClient, parcel: Parcel) -> JobForm:
        """The form of the job, or array, once its files are there."""
        calls = payload.packed([order.arguments for order in parcel.orders], sys.path)
        name = parcel.function.name
        contents = {payload.FUNCTION_FILE: parcel.function.data, payload.CALLS_FILE: calls}
        digests = await asyncio.gather(
            _uploaded(client, parcel.function.data, f"the function {name}, with what it refers to"),
            _uploaded(client, calls, f"the arguments of {name}"),
        )
        files = [
            {"path": path, "sha256": digest, "size": len(content)}
            for (path, content), digest in zip(contents.items(), digests, strict=True)
        ]
        form = {"name": name, **self._form, "files": files, "outputs": [payload.RESULT_FILE]}
        if len(parcel.orders) > 1:
            form["array"] = len(parcel.orders)
        return form

    async def _cancel(self, client: AsyncClient, jobs: list[str]) -> None:
        """Arrays of which nothing else is left are cancelled as a whole."""
        needed = {_array(job) for job in self._jobs}
        wholes = dict.fromkeys(job if _array(job) in needed else _array(job) for job in jobs)
        for job in wholes:
            try:
                await client.cancel(job, message="its future was cancelled")
            except RotaError:
                # It has ended already, or isn't ours to cancel any more: its future is cancelled anyway.
                continue

    async def _listen(self, client: AsyncClient) -> None:
        project = self._form.get("project")
        position = EventPosition(kind=",".join(KINDS), project=None if project is None else str(project))
        async for event in client.watch(position):
            if event is None:
                self._is_listening.set()
                self._streams_begun += 1
                await self._catch_up(client)
            elif event.kind != STARTED:
                self._ask(client, event.subject)
            elif event.subject in self._jobs:
                self._jobs[event.subject].is_started = True

    async def _catch_up(self, client: AsyncClient) -> None:
        """Catches up on events that the stream missed."""
        for array in {_array(job) for job in self._jobs if _array(job) != job}:
            async for job in client.jobs(array=array, phases=tuple(TERMINAL), limit=1000):
                self._ask(client, job.id)
        for job_id in [job for job in self._jobs if _array(job) == job]:
            self._ask(client, job_id)

    def _ask(self, client: AsyncClient, job: str) -> None:
        if job not in self._jobs:
            if self._under_way:
                self._ended_unknown.add(job)
        elif job in self._asking:
            self._asking[job] = True
        else:
            self._asking[job] = False
            question = asyncio.create_task(self._settle(client, job))
            self._questions.add(question)
            question.add_done_callback(self._questions.discard)

    async def _settle(self, client: AsyncClient, job: str) -> None:
        """Brings the outcome, if the job is over."""
        future = self._jobs[job]
        try:
            async with self._at_once:
                while not await _bring_outcome(client, job, future):
                    if not self._asking[job]:
                        return
                    self._asking[job] = False
        except Exception as error:
            future.fail(error)
        finally:
            del self._asking[job]
            if future.done():
                self._jobs.pop(job, None)
            self._changed.set()


async def _uploaded(client: AsyncClient, content: bytes, what: str) -> str:
    try:
        return await client.upload(content)
    except TooLarge as error:
        raise too_large(what, len(content), error) from None


async def _bring_outcome(client: AsyncClient, job: str, future: JobFuture[Any]) -> bool:
    """False: the job isn't over."""
    try:
        data = await client.output(job, payload.RESULT_FILE)
    except NotFound:
        document = (await client.job(job)).job
        if not document.is_over:
            return False
        future.fail(ended_badly(document, await _last_words(client, job)))
        return True
    try:
        value = payload.outcome_of(data)
    except BaseException as error:
        future.fail(error)
    else:
        future.fulfil(value)
    return True


async def _last_words(client: AsyncClient, job: str) -> str:
    try:
        pieces = [chunk.data async for chunk in client.logs(job, tail=LAST_WORDS_BYTES)]
    except RotaError:
        return ""
    return b"".join(pieces).decode("utf-8", "replace").strip()


def _ids(submitted: SubmittedDocument) -> list[str]:
    """Arrays of this executor begin at 0, and leave nothing out."""
    return [
        f"{entry.id}.{index}" if entry.is_array else entry.id
        for entry in submitted.entries
        for index in range(entry.count)
    ]


def _array(job: str) -> str:
    return job.partition(".")[0]
