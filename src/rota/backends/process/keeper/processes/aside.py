"""Work that takes its time, in a process of its own, so that the keeper goes on meanwhile.

A fork is enough: the keeper has one thread. Whoever does the work ends with the keeper.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable

from rota.backends.process.keeper.processes.proc_files import end_with_parent

_MOST_TEXT_BYTES = 4096
"""Fits into a pipe: whoever writes it never waits for somebody to read it."""
_RESULT = 3
_MOST_MEMORY_BYTES = 256 << 20
"""Beyond what the keeper has: files are read and written in small pieces."""


class ForkedAside:
    """Implements Aside."""

    def __init__(self, work: Callable[[], str | None]) -> None:
        keeper = os.getpid()
        self._result, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _do(work, writing, keeper)
        os.close(writing)
        self.text = ""
        self.failure = ""

    def ended(self, status: int) -> None:
        with os.fdopen(self._result, "rb") as pipe:
            text = pipe.read().decode(errors="replace")
        if os.WIFSIGNALED(status):
            self.failure = f"it was ended by signal {os.WTERMSIG(status)}"
        elif status != 0:
            self.failure = text
        else:
            self.text = text


def _do(work: Callable[[], str | None], writing: int, keeper: int) -> None:
    code, text = 1, ""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        end_with_parent()
        _bound_memory()
        # The keeper's lock and connections must not live on in here.
        os.dup2(writing, _RESULT)
        os.closerange(_RESULT + 1, os.sysconf("SC_OPEN_MAX"))
        if os.getppid() == keeper:
            text = work() or ""
            code = 0
    except BaseException as error:
        text = str(error) or type(error).__name__
    try:
        os.write(_RESULT, text.encode(errors="replace")[:_MOST_TEXT_BYTES])
    finally:
        os._exit(code)


def _bound_memory() -> None:
    """Whatever is in the files that it reads, the machine's memory is for tasks."""
    with open("/proc/self/statm", "rb") as file:
        has_bytes = int(file.read().split()[0]) * resource.getpagesize()
    _, most_bytes = resource.getrlimit(resource.RLIMIT_AS)
    bound_bytes = has_bytes + _MOST_MEMORY_BYTES
    if most_bytes == resource.RLIM_INFINITY or bound_bytes < most_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (bound_bytes, most_bytes))
