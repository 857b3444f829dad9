"""What agents may ask of the REST interface, and only for the tasks that they have: files, and results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import BinaryIO, Protocol

import structlog

from rota.backends.agents.agent import Session
from rota.backends.agents.backend import AgentsBackend
from rota.backends.agents.notices import Notice, Notices
from rota.backends.agents.pool import NotTheirs
from rota.backends.agents.task import AgentTask
from rota.backends.backend import TaskEnded, TaskRef
from rota.control.access import SYSTEM
from rota.control.draft import Draft
from rota.control.errors import ControlError
from rota.control.transactor import Transactor
from rota.server.http.problems import ProblemError, not_found

log = structlog.get_logger()

KEPT_WITHIN_S = 2.0
_PIECE_BYTES = 1 << 18


class Files(Protocol):
    """Input files of tasks, by their content."""

    def find(self, sha256: str) -> object | None: ...

    def open(self, sha256: str) -> BinaryIO: ...


class AgentCalls:
    def __init__(self, backend: AgentsBackend, files: Files) -> None:
        self.backend = backend
        self._files = files

    def session(self, authorization: str | None) -> Session:
        """The secret is the one that the agent was welcomed with, and lasts as long as its connection."""
        scheme, _, secret = (authorization or "").partition(" ")
        session = self.backend.session_of(secret) if scheme.lower() == "bearer" else None
        if session is None:
            raise ProblemError(
                HTTPStatus.UNAUTHORIZED,
                "unauthorised",
                "only connected agents may do this",
                help="connect with `rota agent`",
                headers=(("www-authenticate", 'Bearer realm="rota"'),),
            )
        return session

    def task(self, session: Session, ref: TaskRef) -> AgentTask:
        try:
            return self.backend.task_of(session, ref)
        except NotTheirs as error:
            raise ProblemError(
                HTTPStatus.CONFLICT, "conflict", str(error), help="stop it; it counts as lost"
            ) from None

    def file(self, session: Session, sha256: str) -> AsyncIterator[bytes]:
        """One that a task of the agent needs."""
        needed = {
            file.sha256
            for task in session.agent.tasks.values()
            if task.start is not None
            for file in task.start.run.files
        }
        if sha256 not in needed or self._files.find(sha256) is None:
            raise not_found("file", sha256)
        return self._pieces(sha256)

    async def _pieces(self, sha256: str) -> AsyncIterator[bytes]:
        with self._files.open(sha256) as file:
            while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
                yield piece

    async def result(self, session: Session, task: AgentTask, ended: TaskEnded, output_bytes: int) -> bool:
        """Whether it is committed by now. It is handled like every report, once all output has arrived; the
        first report counts. If the agent has to send everything again by then, this report is dropped,
        because files may be missing."""
        stream = task.stream

        async def told_and_kept() -> None:
            await task.has_written(output_bytes)
            if stream is task.stream and not (stream and stream.is_broken):
                self.backend.hear_of(task, ended)
            await task.settled.wait()

        waiting = [asyncio.create_task(each) for each in (told_and_kept(), session.closed.wait())]
        await asyncio.wait(waiting, timeout=KEPT_WITHIN_S, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return task.settled.is_set()


async def keep_notices(notices: Notices, transactor: Transactor) -> None:
    """As events, so that operators see who comes, goes, and is refused."""
    async for notice in notices:
        log.info(notice.kind.lower(), agent=notice.agent, **notice.data)
        try:
            await transactor.do(_event(notice))
        except ControlError as error:
            log.warning("agent.event_unwritten", agent=notice.agent, why=str(error))


def _event(notice: Notice) -> Callable[[Draft], None]:
    return lambda draft: draft.note(notice.kind, notice.agent, SYSTEM, notice.data)
