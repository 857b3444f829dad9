"""The production keeper, as a process of a simulated machine: it takes its turns in the loop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import Context
from typing import cast

from rota.backends.backend import TaskRef, TaskReport
from rota.backends.process.client.link import Link
from rota.backends.process.folders import Folders
from rota.backends.process.keeper.cgroups.groups import Cgroups
from rota.backends.process.keeper.keeper import Keeper
from rota.backends.process.options import KeeperOptions
from tests.faults.event_loop import Life, VirtualLoop, context_of
from tests.faults.kernel import Kernel, Killed

_READ_BYTES = 1 << 18
_NO_CGROUPS = Cgroups((), 2, ())
_OPTIONS = KeeperOptions(idle_ms=3_000, is_leased=True)


class KeeperProcess:
    def __init__(
        self,
        life: Life,
        folders: Folders,
        kernel: Kernel,
        loop: VirtualLoop,
        on_ended: Callable[[KeeperProcess], None],
    ) -> None:
        self.life = life
        self._folders = folders
        self._kernel = kernel
        self._loop = loop
        self._on_ended = on_ended
        self._context: Context = context_of(life)
        self._lines: list[Line] = []
        self._is_awake = False
        self._timer: asyncio.TimerHandle | None = None
        self._signals, self._signalling = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._keeper: Keeper | None = None
        kernel.of_keeper(kernel.new_pid(), lambda: self._signal(signal.SIGCHLD))
        self._context.run(self._begin)

    def _begin(self) -> None:
        self._keeper = Keeper(self._folders, _OPTIONS, self._kernel, _NO_CGROUPS, self._signals)
        self.wake()

    @property
    def unsettled(self) -> Sequence[TaskRef]:
        return [] if self._keeper is None else self._keeper.unsettled

    # -- its turns

    def wake(self) -> None:
        if not self._is_awake and not self.life.is_over:
            self._is_awake = True
            self._loop.call_soon(self._turn, context=self._context)

    def _turn(self) -> None:
        self._is_awake = False
        if self.life.is_over or self._keeper is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        try:
            self._keeper.turn(0)
        except Killed:
            self.kill()
            return
        for line in list(self._lines):
            line.hear()
        if self._keeper.may_leave():
            self._keeper.close()
            self._keeper = None
            self.kill()
            return
        timeout_s = self._keeper.timeout_s()
        if timeout_s is not None:
            self._timer = self._loop.call_later(timeout_s, self.wake, context=self._context)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(BlockingIOError):
            os.write(self._signalling, bytes([number]))
        self.wake()

    # -- its end

    def kill(self) -> None:
        """What it had open is closed, and nothing else is done."""
        if self.life.is_over:
            return
        self.life.is_over = True
        self._kernel.keeper_ended()
        for fd in (self._signals, self._signalling):
            os.close(fd)
        if self._keeper is not None:
            self._keeper.let_go()
        for line in list(self._lines):
            line.hear()
        self._on_ended(self)

    # -- who is connected

    def connect(self) -> Line:
        line = Line(self._folders, self.wake, self._forget)
        self._lines.append(line)
        self.wake()
        return line

    def _forget(self, line: Line) -> None:
        if line in self._lines:
            self._lines.remove(line)


class Line:
    """The other end of a connection to it, as a pair of streams for the loop."""

    def __init__(self, folders: Folders, wake: Callable[[], None], forget: Callable[[Line], None]) -> None:
        self._wake = wake
        self._forget = forget
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder = os.open(folders.root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._socket.connect(f"/proc/self/fd/{folder}/{folders.socket.name}")
        finally:
            os.close(folder)
        self._socket.setblocking(False)
        self._reader = asyncio.StreamReader()

    async def link(self, on_reports: Callable[[Sequence[TaskReport]], None]) -> Link:
        return await Link.over(self._reader, cast(asyncio.StreamWriter, self), on_reports)

    def hear(self) -> None:
        """What the keeper has said."""
        try:
            while data := self._socket.recv(_READ_BYTES):
                self._reader.feed_data(data)
        except BlockingIOError:
            return
        except OSError:
            pass
        self._forget(self)
        if not self._reader.at_eof():
            self._reader.feed_eof()

    # As much of asyncio.StreamWriter as a link uses

    def write(self, data: bytes) -> None:
        with suppress(OSError):
            self._socket.sendall(data)
        self._wake()

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def close(self) -> None:
        self._socket.close()
        self._wake()

    async def wait_closed(self) -> None:
        pass
