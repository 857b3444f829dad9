"""The output of all tasks that run: read as it comes, held back while the disk takes no more."""

from __future__ import annotations

from functools import partial

from rota.backends.process.keeper.streams.log_writer import Drain
from rota.backends.process.keeper.watch import Watch
from rota.clock import since_boot_ms

_RETRY_MS = 1_000


class Outlets:
    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._stalled: dict[Drain, bool] = {}
        """With each: whether its task has ended."""
        self._reason = ""
        self._retry_at_ms = 0

    @property
    def wrong(self) -> str:
        """What keeps output from being written; empty: nothing."""
        if not self._stalled:
            return ""
        return f"output of {len(self._stalled)} tasks can't be written, and they wait: {self._reason}"

    @property
    def are_stalled(self) -> bool:
        return bool(self._stalled)

    def open(self, drain: Drain) -> None:
        for fd in drain.pipes:
            self._watch.add(fd, partial(self._readable, drain, fd))

    def finish(self, drain: Drain) -> bool:
        """All processes of its task are gone. False: not all of it could be written yet."""
        for fd in drain.pipes:
            self._watch.remove(fd)
        try:
            drain.finish()
        except OSError as error:
            self._stall(drain, error, ended=True)
            return False
        self._stalled.pop(drain, None)
        return True

    def retry(self) -> None:
        now = since_boot_ms()
        if not self._stalled or now < self._retry_at_ms:
            return
        self._retry_at_ms = now + _RETRY_MS
        for drain, ended in list(self._stalled.items()):
            if ended:
                self.finish(drain)
                continue
            try:
                drain.writer.retry()
            except OSError as error:
                self._reason = str(error.strerror)
                return
            del self._stalled[drain]
            self.open(drain)

    def _readable(self, drain: Drain, fd: int) -> None:
        try:
            if not drain.take(fd):
                self._watch.remove(fd)
                drain.shut(fd)
        except OSError as error:
            self._stall(drain, error, ended=False)

    def _stall(self, drain: Drain, error: OSError, *, ended: bool) -> None:
        self._reason = str(error.strerror)
        self._stalled[drain] = ended
        for fd in drain.pipes:
            self._watch.remove(fd)
