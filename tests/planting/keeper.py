"""Bugs of the process that keeps an agent's tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from rota.backends.process.keeper.custody import Custody
from rota.backends.process.keeper.processes.trees import Trees
from rota.backends.process.keeper.task import KeptTask, Stage


@contextmanager
def agents_forget_their_tasks_at_a_restart() -> Iterator[None]:
    """Those that it kept run on, and it knows nothing of them."""
    recover = Custody.recover

    def forgetful(self: Custody, unfinished: Any, finished: Any) -> None:
        recover(self, (), ())

    with patch.object(Custody, "recover", forgetful):
        yield


@contextmanager
def keepers_ignore_their_leases() -> Iterator[None]:
    with patch.object(Custody, "end_by", lambda self, task, by_ms: None):
        yield


@contextmanager
def only_the_first_process_of_a_task_is_ended() -> Iterator[None]:
    def kill_none(self: Trees, kept: Iterable[KeptTask]) -> list[KeptTask]:
        return [task for task in kept if task.stage is not Stage.RUNNING]

    with patch.object(Trees, "kill_rest", kill_none):
        yield
