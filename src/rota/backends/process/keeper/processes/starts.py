"""Tasks between their fork and their program: whatever of a user's can hang, hangs here, and only there."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial

from rota.backends.process.keeper.processes.kernel import Kernel
from rota.backends.process.keeper.task import KeptTask, Stage
from rota.backends.process.keeper.watch import Watch
from rota.clock import since_boot_ms
from rota.launch.starting import read_word

_GIVEN_UP_AFTER_MS = 2_000
"""So long after SIGKILL, a process that hasn't executed its program is left to the kernel."""


class Starts:
    def __init__(
        self, watch: Watch, kernel: Kernel, within_ms: int, on_started: Callable[[KeptTask], None]
    ) -> None:
        self._watch = watch
        self._kernel = kernel
        self._within_ms = within_ms
        self._on_started = on_started

    def begin(self, task: KeptTask, word: int, at_ms: int) -> None:
        task.stage, task.word = Stage.STARTING, word
        task.start_by_ms = at_ms + self._within_ms
        self._watch.add(word, partial(self.listen, task))

    def listen(self, task: KeptTask) -> None:
        """To what its process has to say, if it has said it."""
        if task.word is None or (said := read_word(task.word)) is None:
            return
        self.leave(task)
        if said:
            task.unstarted = said
        elif task.told_to is None:
            self._on_started(task)

    def leave(self, task: KeptTask) -> None:
        if task.word is not None:
            self._watch.remove(task.word)
            os.close(task.word)
            task.word = None

    def kill(self, task: KeptTask) -> None:
        assert task.began is not None
        # It may not have a group of its own yet. Nothing of the job's runs that would need a grace.
        self._kernel.kill(task.began.pid, signal.SIGKILL)
        task.kill_at_ms = since_boot_ms() + _GIVEN_UP_AFTER_MS


def too_late(task: KeptTask) -> str:
    assert task.began is not None
    waited_s = (since_boot_ms() - task.began.since_boot_ms) // 1000
    where = task.start.run.directory or "its program"
    return f"it couldn't be started within {waited_s} s: {where} may be on a file system that doesn't answer"
