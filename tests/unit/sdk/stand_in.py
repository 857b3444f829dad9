"""A server that follows the REST interface as far as the SDK's tests go: real HTTP, real processes.

It runs every job at once, in a folder of its own. `misbehave` makes the next answers bad, and
`break_streams` cuts off whoever listens.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import os
import ssl
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from rota.api.documents import ChangeDocument, Page, Problem
from rota.api.jobs import JobDetail, JobDocument
from rota.api.people import MeDocument, Role
from rota.api.service import EventDocument
from rota.lifecycle.state import Phase
from tests.unit.answers import submitted

TOKEN = "stand-in-token"


class StandIn:
    def __init__(self, processes: int = 4, tls: ssl.SSLContext | None = None) -> None:
        self.jobs: dict[str, JobDocument] = {}
        self.requests: list[str] = []
        self.keys: list[str] = []
        self.most_file_bytes = 64 << 20
        self._forms: dict[str, dict[str, Any]] = {}
        self._answers: dict[str, bytes] = {}
        self._files: dict[str, bytes] = {}
        self._outputs: dict[tuple[str, str], bytes] = {}
        self._logs: dict[str, list[dict[str, object]]] = {}
        self._events: list[EventDocument] = []
        self._numbers = itertools.count(1)
        self._faults: list[Fault] = []
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._streams: set[web.StreamResponse] = set()
        self._processes = processes
        self._port = 0
        self._tls = tls
        self._token = TOKEN
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._main)

    def __enter__(self) -> StandIn:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._port}"

    def misbehave(self, *faults: Fault) -> None:
        """Towards the next requests, one each."""
        self._faults.extend(faults)

    def break_streams(self) -> None:
        self._loop.call_soon_threadsafe(self._break_streams)

    def note(self, kind: str, subject: str) -> None:
        """An event, from another thread."""
        self._loop.call_soon_threadsafe(self._note, kind, subject)

    def finish(self, job: str, phase: Phase) -> None:
        """A job ends without ever having run."""
        self._loop.call_soon_threadsafe(self._end, job, phase, None)

    def end_silently(self, job: str, phase: Phase) -> None:
        """Nobody is told: as if the event had been missed."""
        self._loop.call_soon_threadsafe(lambda: self._set(job, phase=phase))

    def revoke_token(self) -> None:
        self._token = ""

    # In the server's thread.

    def _main(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        self._changed = asyncio.Event()
        self._room = asyncio.Semaphore(self._processes)
        app = web.Application(middlewares=[self._guard], client_max_size=64 << 20)
        app.add_routes(
            [
                web.get("/v1/me", self._me),
                web.put("/v1/files/{digest}", self._put_file),
                web.post("/v1/jobs", self._submit),
                web.get("/v1/jobs", self._list),
                web.get("/v1/jobs/{job}", self._show),
                web.post("/v1/jobs/{job}/cancel", self._cancel),
                web.get("/v1/jobs/{job}/outputs/{path:.+}", self._output),
                web.get("/v1/jobs/{job}/logs", self._log),
                web.get("/v1/events", self._event_page),
                web.get("/v1/events/stream", self._event_stream),
            ]
        )
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self._port, ssl_context=self._tls)
        await site.start()
        assert runner.addresses
        self._port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        self._break_streams()
        for process in self._running.values():
            process.kill()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await runner.cleanup()

    @web.middleware
    async def _guard(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path_qs.removeprefix('/v1')}")
        fault = self._faults.pop(0) if self._faults else None
        if fault is not None and not fault.after_the_deed:
            return fault.answer(request)
        if request.headers.get("Authorization") != f"Bearer {self._token}":
            return problem(request, 401, "unauthorised", "the token isn't known", help="make a new one")
        key = request.headers.get("Idempotency-Key")
        if key is not None:
            self.keys.append(key)
        if key in self._answers:
            return web.Response(body=self._answers[key], content_type="application/json")
        answer = await handler(request)
        if key is not None and isinstance(answer, web.Response) and isinstance(answer.body, bytes):
            self._answers[key] = answer.body
        return answer if fault is None else fault.answer(request)

    async def _me(self, request: web.Request) -> web.Response:
        return document(MeDocument(user="ada", role=Role.SUBMITTER, projects=None))

    async def _put_file(self, request: web.Request) -> web.Response:
        body = await request.read()
        digest = request.match_info["digest"]
        if hashlib.sha256(body).hexdigest() != digest:
            return problem(request, 422, "bad-input", "the content has another hash", field="sha256")
        if len(body) > self.most_file_bytes:
            return problem(
                request, 413, "too-large", f"the body has more than {self.most_file_bytes:,} bytes"
            )
        self._files[digest] = body
        return web.Response(status=201)

    async def _submit(self, request: web.Request) -> web.Response:
        forms = msgspec.json.decode(await request.read())["jobs"]
        for index, form in enumerate(forms):
            if not form.get("command"):
                return problem(
                    request,
                    422,
                    "bad-input",
                    "names no program",
                    field=f"jobs[{index}].command",
                    help="give one",
                )
            if (form.get("resources") or {}).get("cpu") == "many":
                return problem(
                    request, 422, "bad-input", "is not an amount", field=f"jobs[{index}].resources.cpu"
                )
        documents = []
        for form in forms:
            number = str(next(self._numbers))
            count = form.get("array")
            for index in range(count or 1):
                job = f"{number}.{index}" if count else number
                self.jobs[job] = self._document(job, form, number if count else None)
                self._forms[job] = form
                self._logs[job] = []
                self._note("job.Submitted", job)
                if not form.get("hold"):
                    task = asyncio.create_task(self._run(job, form, index if count else None))
                    self._tasks.add(task)
                documents.append(self.jobs[job])
        return document(submitted(documents), 201)

    def _document(self, job: str, form: dict[str, Any], array: str | None) -> JobDocument:
        return JobDocument(
            id=job,
            name=form.get("name", ""),
            project=form.get("project", "default"),
            user="ada",
            queue=form.get("queue", "default"),
            phase=Phase.PENDING,
            cause=None,
            message="",
            priority=0,
            labels={},
            array=array,
            tasks=1,
            tasks_running=0,
            tasks_done=0,
            tasks_failed=0,
            nodes=[],
            attempt=1,
            submitted=datetime.now(UTC),
            started=None,
            ended=None,
            time_limit_s=None,
            promised=None,
            exit_code=None,
            command=" ".join(form["command"]),
        )

    async def _run(self, job: str, form: dict[str, Any], index: int | None) -> None:
        async with self._room:
            if self.jobs[job].is_over or self._stop.is_set():
                return
            with tempfile.TemporaryDirectory() as folder:
                for file in form.get("files", ()):
                    Path(folder, file["path"]).write_bytes(self._files[file["sha256"]])
                environment = {**os.environ, **form.get("environment", {}), "ROTA_JOB_ID": job}
                if index is not None:
                    environment["ROTA_ARRAY_INDEX"] = str(index)
                process = await asyncio.create_subprocess_exec(
                    *form["command"],
                    cwd=folder,
                    env=environment,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.STDOUT,
                )
                self._running[job] = process
                self._set(job, phase=Phase.RUNNING, started=datetime.now(UTC))
                self._note("job.Started", job)
                assert process.stdout is not None
                async for line in process.stdout:
                    self._log_line(job, line)
                status = await process.wait()
                del self._running[job]
                for path in form.get("outputs", ()):
                    with suppress(FileNotFoundError):
                        self._outputs[job, path] = Path(folder, path).read_bytes()
        if not self.jobs[job].is_over:
            self._end(job, Phase.FAILED if status else Phase.SUCCEEDED, status)

    def _end(self, job: str, phase: Phase, status: int | None) -> None:
        self._set(job, phase=phase, ended=datetime.now(UTC), exit_code=status)
        self._note("job.Ended", job)

    def _set(self, job: str, **changes: object) -> None:
        self.jobs[job] = msgspec.structs.replace(self.jobs[job], **changes)

    def _note(self, kind: str, subject: str) -> None:
        self._events.append(
            EventDocument(
                seq=len(self._events) + 1,
                at=datetime.now(UTC),
                kind=kind,
                subject=subject,
                project=self.jobs[subject].project if subject in self.jobs else None,
                by="ada",
                data={},
            )
        )
        self._wake()

    def _log_line(self, job: str, line: bytes) -> None:
        self._logs[job].append(
            {"rank": 0, "stream": "stdout", "at": datetime.now(UTC), "data": line, "fence": 1}
        )
        self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _break_streams(self) -> None:
        for stream in list(self._streams):
            stream.force_close()
            transport = stream._req.transport if stream._req is not None else None
            if transport is not None:
                transport.abort()

    async def _list(self, request: web.Request) -> web.Response:
        query = request.query
        phases = {Phase(phase) for phase in query["phase"].split(",")} if "phase" in query else set(Phase)
        found = [
            job
            for job in reversed(self.jobs.values())
            if job.phase in phases and query.get("array") in (None, job.array)
        ]
        begin = int(query.get("after", "0"))
        end = begin + int(query.get("limit", "100"))
        return document(Page(items=found[begin:end], next=str(end) if end < len(found) else None))

    async def _show(self, request: web.Request) -> web.Response:
        job = self.jobs.get(request.match_info["job"])
        if job is None:
            return problem(request, 404, "not-found", f"there is no job {request.match_info['job']}")
        return document(JobDetail(job=job, spec={}, attempts=[], depends_on=[], estimate=None))

    async def _cancel(self, request: web.Request) -> web.Response:
        name = request.match_info["job"]
        meant = [job for job in self.jobs.values() if name in (job.id, job.array) and not job.is_over]
        if not meant:
            return problem(request, 409, "conflict", "it is over already")
        for job in meant:
            self._note("job.CancelAsked", job.id)
            self._end(job.id, Phase.CANCELLED, None)
            if job.id in self._running:
                self._running[job.id].kill()
        return document(ChangeDocument(dry_run=False, changed=[job.id for job in meant]))

    async def _output(self, request: web.Request) -> web.Response:
        content = self._outputs.get((request.match_info["job"], request.match_info["path"]))
        if content is None:
            return problem(request, 404, "not-found", "there is no such file")
        return web.Response(body=content)

    async def _log(self, request: web.Request) -> web.StreamResponse:
        job = request.match_info["job"]
        assert request.query["form"] == "chunks"
        since = datetime.fromisoformat(request.query.get("since", "2000-01-01T00:00:00+00:00"))
        lines = self._logs[job]

        async def pieces() -> AsyncIterator[bytes]:
            sent = 0
            while True:
                changed = self._changed
                for line in lines[sent:]:
                    if line["at"] >= since:  # type: ignore[operator]
                        yield msgspec.json.encode(line) + b"\n"
                sent = len(lines)
                if "follow" not in request.query or self.jobs[job].is_over:
                    return
                await changed.wait()

        return await self._stream(request, "application/x-ndjson", pieces())

    async def _event_page(self, request: web.Request) -> web.Response:
        if "last" in request.query:
            return document(Page(items=self._events[-int(request.query["last"]) :]))
        begin = int(request.query.get("after", "0"))
        end = begin + int(request.query.get("limit", "100"))
        items = self._events[begin:end]
        return document(Page(items=items, next=str(end) if end < len(self._events) else None))

    async def _event_stream(self, request: web.Request) -> web.StreamResponse:
        known = len(self._events)
        begin = request.query.get("after") or known - int(request.query.get("last", "0"))
        after = request.headers.get("Last-Event-ID") or begin
        subject, project = request.query.get("subject"), request.query.get("project")
        kinds = request.query["kind"].split(",") if "kind" in request.query else None

        async def pieces() -> AsyncIterator[bytes]:
            sent = int(after)
            yield b": here you are\n\n"
            while True:
                changed = self._changed
                for event in self._events[sent:]:
                    if (
                        subject in (None, event.subject)
                        and project in (None, event.project)
                        and (kinds is None or event.kind in kinds)
                    ):
                        yield b"id: %d\ndata: %b\n\n" % (event.seq, msgspec.json.encode(event))
                sent = len(self._events)
                await changed.wait()

        return await self._stream(request, "text/event-stream", pieces())

    async def _stream(
        self, request: web.Request, media_type: str, pieces: AsyncIterator[bytes]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": media_type})
        await response.prepare(request)
        self._streams.add(response)
        try:
            async for piece in pieces:
                await response.write(piece)
            await response.write_eof()
        except ConnectionError:
            pass
        finally:
            self._streams.discard(response)
        return response


class Fault(msgspec.Struct, frozen=True):
    """An answer that isn't the right one. Status 0: none at all, the connection is cut."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    after_the_deed: bool = False
    """What was asked for is done, but nobody hears of it."""

    def answer(self, request: web.Request) -> web.Response:
        if self.status == 0:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return web.Response(status=self.status, headers=dict(self.headers), body=self.body)


def document(content: object, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(content), status=status, content_type="application/json")


def problem(
    request: web.Request,
    status: int,
    kind: str,
    detail: str,
    *,
    field: str | None = None,
    help: str | None = None,
) -> web.Response:
    content = Problem(
        type=f"/problems/{kind}",
        title=kind,
        status=status,
        detail=detail,
        instance=request.path,
        field=field,
        help=help,
    )
    return web.Response(
        body=msgspec.json.encode(content), status=status, content_type="application/problem+json"
    )
