"""What tasks read: taken as fast as they read it, and no faster.

    Feed ──► Inlet: at most MOST_WAITING_BYTES that the task hasn't read ──► its pipe, or its terminal
    Fed  ◄── so much is taken; once there is room, if there is none now

Pieces say where they begin, so one that comes twice counts once. What is taken is in this process alone: if
the keeper ends before its task has read it, the task is ended by the next one, and counts as lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from rota.backends.backend import Fed, InputPiece, TaskRef
from rota.backends.process.keeper.streams.ends import set_window
from rota.backends.process.keeper.task import KeptTask
from rota.backends.process.keeper.watch import Watch
from rota.clock import since_boot_ms

MOST_WAITING_BYTES = 256 << 10
"""Of one task. A piece is taken as a whole while less than this waits."""
SILENT_MS = 120_000
"""A client that has said nothing for so long is gone: what it sends ends here."""

Answer = Callable[[Fed], None]


class Inlet:
    """Of one task that runs."""

    def __init__(self, task: KeptTask, fd: int, slave: int | None = None) -> None:
        """`slave`: the task's side of a terminal, open as long as the task is there: without it, the terminal
        would seem to be gone whenever nobody has it open."""
        self.task = task
        self.fd: int | None = fd
        self.slave = slave
        self.taken_bytes = 0
        self.waiting = bytearray()
        self.has_ended = False
        """No more comes, or nobody reads it."""
        self.heard_ms = since_boot_ms()
        self.refused: tuple[InputPiece, Answer] | None = None
        """There was no room for it: it is tried again once there is."""

    @property
    def is_terminal(self) -> bool:
        return self.slave is not None

    @property
    def fed(self) -> Fed:
        return Fed(self.taken_bytes, is_open=not self.has_ended)


class Inlets:
    def __init__(
        self,
        watch: Watch,
        on_over: Callable[[KeptTask], None],
        hang_up: Callable[[KeptTask], None],
        silent_ms: int = SILENT_MS,
    ) -> None:
        """`on_over`: the task has all that it will get. `hang_up`: nobody is at its terminal any more."""
        self._watch = watch
        self._on_over = on_over
        self._hang_up = hang_up
        self._silent_ms = silent_ms
        self._open: dict[TaskRef, Inlet] = {}

    def open(self, task: KeptTask, fd: int, slave: int | None = None) -> None:
        inlet = self._open[task.ref] = Inlet(task, fd, slave)
        self._watch.add_writing(fd, partial(self._nobody_reads, inlet))

    def feed(self, ref: TaskRef, piece: InputPiece, answer: Answer) -> None:
        """It is answered at once, or when there is room."""
        inlet = self._open.get(ref)
        if inlet is None:
            answer(Fed(0, is_open=False))
            return
        inlet.heard_ms = since_boot_ms()
        if piece.window is not None:
            self._resize(inlet, piece.window)
        self._answer_refused(inlet)
        self._take(inlet, piece, answer)

    def close(self, task: KeptTask) -> None:
        """It has ended. Whoever still sends is told that nobody reads it."""
        inlet = self._open.pop(task.ref, None)
        if inlet is None:
            return
        inlet.has_ended = True
        inlet.waiting.clear()
        self._shut(inlet)
        if inlet.slave is not None:
            os.close(inlet.slave)
        self._answer_refused(inlet)

    def let_go(self) -> None:
        for inlet in self._open.values():
            for fd in (inlet.fd, inlet.slave):
                if fd is not None:
                    with suppress(OSError):
                        os.close(fd)

    def next_due_ms(self) -> int | None:
        return min((inlet.heard_ms + self._silent_ms for inlet in self._listening()), default=None)

    def do_what_is_due(self) -> None:
        silent_ms = since_boot_ms() - self._silent_ms
        for inlet in [one for one in self._listening() if one.heard_ms <= silent_ms]:
            self._end(inlet)
            if inlet.is_terminal:
                self._hang_up(inlet.task)

    def _listening(self) -> Iterator[Inlet]:
        return (inlet for inlet in self._open.values() if not inlet.has_ended)

    def _take(self, inlet: Inlet, piece: InputPiece, answer: Answer) -> None:
        new = piece.data[inlet.taken_bytes - piece.offset_bytes :]
        if inlet.has_ended or piece.offset_bytes > inlet.taken_bytes:
            # The latter is of somebody who knows of an earlier start: the answer says where this one is.
            answer(inlet.fed)
            return
        if new and len(inlet.waiting) >= MOST_WAITING_BYTES:
            inlet.refused = piece, answer
            return
        inlet.waiting += new
        inlet.taken_bytes += len(new)
        if piece.ends:
            self._end(inlet)
        else:
            self._write(inlet)
        answer(inlet.fed)

    def _end(self, inlet: Inlet) -> None:
        inlet.has_ended = True
        self._write(inlet)

    def _write(self, inlet: Inlet) -> None:
        if inlet.fd is None:
            return
        try:
            while inlet.waiting:
                del inlet.waiting[: os.write(inlet.fd, inlet.waiting)]
        except BlockingIOError:
            self._watch.until_writable(inlet.fd, partial(self._writable, inlet))
            return
        except OSError:
            self._nobody_reads(inlet)
            return
        self._watch.until_writable(inlet.fd, None)
        if inlet.has_ended and not inlet.is_terminal:
            self._shut(inlet)
            self._on_over(inlet.task)

    def _writable(self, inlet: Inlet) -> None:
        self._write(inlet)
        if len(inlet.waiting) < MOST_WAITING_BYTES:
            self._answer_refused(inlet)

    def _nobody_reads(self, inlet: Inlet) -> None:
        """As of a pipe whose reader is gone: what comes is of no use."""
        inlet.has_ended = True
        inlet.waiting.clear()
        self._shut(inlet)
        self._on_over(inlet.task)
        self._answer_refused(inlet)

    def _answer_refused(self, inlet: Inlet) -> None:
        if inlet.refused is not None:
            (piece, answer), inlet.refused = inlet.refused, None
            if len(inlet.waiting) < MOST_WAITING_BYTES:
                self._take(inlet, piece, answer)
            else:
                answer(inlet.fed)

    def _shut(self, inlet: Inlet) -> None:
        if inlet.fd is not None:
            self._watch.remove(inlet.fd)
            os.close(inlet.fd)
            inlet.fd = None

    def _resize(self, inlet: Inlet, window: tuple[int, int]) -> None:
        if inlet.slave is not None:
            set_window(inlet.slave, window)
