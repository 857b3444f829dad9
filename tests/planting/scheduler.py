"""Bugs of `rota scheduler`, which keeps nothing itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from rota.backends.agents.task import AgentTask
from rota.lifecycle.instructions import Instruction, StartTask
from rota.model.ids import JobId
from rota.stateless_scheduler.actions import Action
from rota.stateless_scheduler.directing import Directing
from rota.stateless_scheduler.notifying import Notifier


@contextmanager
def actions_start_before_they_are_recorded() -> Iterator[None]:
    without_unrecorded = Notifier._without_unrecorded

    def hasty(
        self: Notifier, instructions: Sequence[Instruction], former: Collection[JobId]
    ) -> list[Instruction]:
        others = without_unrecorded(self, instructions, former)
        starts = (one for one in instructions if isinstance(one, StartTask) and one.job in self._book.jobs)
        self.recorded([(self._book.jobs[one.job], one.fence) for one in starts])
        return others

    with patch.object(Notifier, "_without_unrecorded", hasty):
        yield


@contextmanager
def ends_are_told_without_what_is_lost() -> Iterator[None]:
    """Of an agent that is gone before a controller that was away has all that its action wrote."""

    def told_all_the_same(self: Directing, action: Action) -> None:
        self._notifier.tell_end(action)

    with patch.object(Directing, "_run_anew", told_all_the_same):
        yield


@contextmanager
def results_overtake_output() -> Iterator[None]:
    async def at_once(self: AgentTask, output_bytes: int) -> None:
        pass

    with patch.object(AgentTask, "has_written", at_once):
        yield
