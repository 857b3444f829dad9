"""Passes standard input on to a job that runs, in a thread of its own.

    standard input ──► piece, with its offset ──► server: so much is taken ──► the next piece
    nothing to read ──► every few seconds an empty piece: somebody is here

The server answers when the job has taken a piece, so no more is read here than the job reads.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

from rota.cli.client.connection import Server
from rota.cli.jobs.input_choice import window
from rota.cli.output import talk
from rota.cli.terminal.raw import raw_terminal
from rota.model.run import Stdin
from rota.sdk.errors import Conflict, RotaError

PIECE_BYTES = 1 << 20
"""The most that a server takes at once."""
DETACH_KEY = b"\x1d"
"""Ctrl-], as in telnet: at a job's terminal all other keys are the job's, Ctrl-C too."""
_STILL_HERE_S = 20.0
_GIVEN_UP_AFTER_S = 110.0
"""Of calls that fail: a little later the job's input ends anyway."""
_AGAIN_S = 1.0
_LOOK_S = 0.1


class JobInput:
    """Of one job. `live` is entered while its output is followed: only then standard input is read."""

    def __init__(self, server: Server, job: str, kind: Stdin) -> None:
        self._server = server
        self._job = job
        self._kind = kind
        self._fd = sys.stdin.fileno() if kind is not Stdin.NONE else -1
        self._offset = 0
        self._is_live = threading.Event()
        self._is_left = False
        self._resized = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def is_any(self) -> bool:
        return self._kind is not Stdin.NONE

    @contextmanager
    def live(self) -> Iterator[None]:
        if self._kind is Stdin.NONE:
            yield
            return
        with self._terminal():
            if self._thread is None:
                self._thread = threading.Thread(target=self._pass_on, daemon=True)
                self._thread.start()
            self._is_live.set()
            try:
                yield
            finally:
                self._is_live.clear()

    def leave(self) -> None:
        """The job goes on, and gets no more to read."""
        self._is_left = True
        if self._thread is not None:
            self._thread.join(_AGAIN_S)
            with suppress(RotaError):
                self._server.send_input(self._job, offset=self._offset, end=True)

    def _terminal(self) -> AbstractContextManager[None]:
        if self._kind is not Stdin.TERMINAL:
            return nullcontext()
        return raw_terminal(self._fd, on_resize=self._resized.set)

    def _pass_on(self) -> None:
        try:
            self._pump()
        except Conflict:
            # It is over, or starts again without what it was sent: its end is told by who follows it.
            return
        except RotaError as error:
            if not self._is_left:
                talk(f"what job {self._job} reads was cut off: {error}")

    def _pump(self) -> None:
        heard_s = 0.0
        while not self._is_left:
            data, ends = self._read()
            has_news = bool(data) or ends or self._resized.is_set()
            if not has_news and time.monotonic() - heard_s < _STILL_HERE_S:
                continue
            if not self._send(data, ends=ends) or ends:
                return
            heard_s = time.monotonic()

    def _read(self) -> tuple[bytes, bool]:
        """What is there within a moment, and whether that is the end."""
        if not self._is_live.wait(_LOOK_S):
            return b"", False
        ready, _, _ = select.select([self._fd], [], [], _LOOK_S)
        if not ready or not self._is_live.is_set():
            return b"", False
        data = os.read(self._fd, PIECE_BYTES)
        if self._kind is Stdin.TERMINAL and DETACH_KEY in data:
            data, _, _ = data.partition(DETACH_KEY)
            self._is_live.clear()
            # As Ctrl-C does elsewhere: whoever follows the job asks what is to be done.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            return data, False
        return data, not data

    def _send(self, data: bytes, *, ends: bool) -> bool:
        """False: the job takes no more."""
        until_s = time.monotonic() + _GIVEN_UP_AFTER_S
        end = self._offset + len(data)
        while not self._is_left:
            size = window() if self._resized.is_set() else None
            self._resized.clear()
            left = data[len(data) - (end - self._offset) :]
            try:
                answer = self._server.send_input(self._job, left, offset=self._offset, end=ends, window=size)
            except RotaError as error:
                if not error.may_pass or time.monotonic() > until_s:
                    raise
                if size is not None:
                    self._resized.set()
                time.sleep(_AGAIN_S)
                continue
            if not answer.open:
                return False
            until_s = time.monotonic() + _GIVEN_UP_AFTER_S
            self._offset = max(self._offset, answer.taken)
            if self._offset >= end:
                return True
        return False
