"""The server's end of the connection to the keeper."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import TypeAlias

from rota.backends.backend import BackendUnavailable, TaskReport
from rota.backends.process.folders import Folders
from rota.backends.process.frames import (
    PROTOCOL,
    Answer,
    BadFrame,
    Description,
    Done,
    Hello,
    Inbox,
    Reports,
    Request,
    Taken,
    frame,
    read_answer,
)

_READ_BYTES = 1 << 18

Reply: TypeAlias = Done | Description | Taken


class Link:
    """One connection; once it is lost, it stays so."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_reports: Callable[[Sequence[TaskReport]], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._on_reports = on_reports
        self.features: tuple[str, ...] = ()
        """What the keeper can do that one of before couldn't."""
        self._calls: dict[int, asyncio.Future[Reply]] = {}
        self._numbers = count(1)
        self.pid = 0
        """Of the keeper."""
        self._hello: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, folders: Folders, on_reports: Callable[[Sequence[TaskReport]], None]) -> Link:
        """Raises ConnectionError or FileNotFoundError if there is no keeper."""
        folder = os.open(folders.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            path = f"/proc/self/fd/{folder}/{folders.socket.name}"
            reader, writer = await asyncio.open_unix_connection(path)
        finally:
            os.close(folder)
        return await cls.over(reader, writer, on_reports)

    @classmethod
    async def over(
        cls,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_reports: Callable[[Sequence[TaskReport]], None],
    ) -> Link:
        """A connection that is there. Raises ConnectionError if it breaks before the keeper's first word."""
        link = cls(reader, writer, on_reports)
        hello = await link._hello
        if hello.protocol != PROTOCOL:
            await link.close()
            raise BackendUnavailable(
                f"the keeper (pid {hello.pid}) has another version of Rota; "
                "it exits once its tasks have ended and their server has noticed"
            )
        link.features = hello.features
        link.pid = hello.pid
        return link

    async def call(self, make: Callable[[int], Request]) -> Reply:
        """Raises BackendUnavailable if the connection was lost before the answer came."""
        number = next(self._numbers)
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        if self._reading.done():
            raise BackendUnavailable(_LOST)
        self._calls[number] = answer
        self._writer.write(frame(make(number)))
        try:
            await self._writer.drain()
            return await answer
        except ConnectionError as error:
            raise BackendUnavailable(_LOST) from error
        finally:
            self._calls.pop(number, None)

    async def lost(self) -> None:
        """Returns when it is."""
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    async def _read(self) -> None:
        inbox = Inbox()
        try:
            while data := await self._reader.read(_READ_BYTES):
                for body in inbox.feed(data):
                    self._heard(read_answer(body))
        except (ConnectionError, BadFrame):
            pass
        finally:
            error = ConnectionResetError(_LOST)
            for waiting in self._calls.values():
                if not waiting.done():
                    waiting.set_exception(error)
            if not self._hello.done():
                self._hello.set_exception(error)

    def _heard(self, answer: Answer) -> None:
        match answer:
            case Hello():
                if not self._hello.done():
                    self._hello.set_result(answer)
            case Reports(reports):
                self._on_reports(reports)
            case Done(call) | Description(call) | Taken(call):
                waiting = self._calls.get(call)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)


_LOST = "the keeper has exited; another one is started"
