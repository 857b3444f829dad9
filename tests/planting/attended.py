"""Bugs of a server that agents attend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from rota.backends.agents.agent import Session
from rota.backends.agents.backend import AgentsBackend
from rota.backends.agents.clock import Clock
from rota.backends.agents.pool import AgentPool
from rota.backends.agents.task import AgentTask
from rota.backends.agents.terms import Terms
from rota.backends.backend import TaskRef, TaskReport
from tests.planting import lifecycle


@contextmanager
def fences_are_not_checked() -> Iterator[None]:
    """Neither when an agent says more of what was given up, nor when that is to change a job."""

    async def whatever_it_has(self: AgentPool, session: Session, ref: TaskRef, *, is_kept: bool) -> Any:
        task = await wanted(self, session, ref, is_kept=is_kept)
        if task is None and is_kept:
            task = AgentTask(ref, session.agent.name)
            self._add(session.agent, task)
        return task

    wanted = AgentPool.wanted
    with lifecycle.fences_are_not_checked(), patch.object(AgentPool, "wanted", whatever_it_has):
        yield


@contextmanager
def clocks_of_nodes_are_believed() -> Iterator[None]:
    """Neither measured, nor held to what is known to have happened before."""

    def as_told(self: AgentTask, report: TaskReport) -> TaskReport | None:
        taken = takes(self, report)
        return None if taken is None else report

    takes = AgentTask.takes
    with (
        patch.object(AgentTask, "takes", as_told),
        patch.object(Clock, "server_ahead_ms", property(lambda self: 0)),
        patch("rota.control.reports._believed_ms", lambda report, state, now_ms: min(report.at_ms, now_ms)),
    ):
        yield


@contextmanager
def leases_last_as_long_as_nodes_are_waited_for() -> Iterator[None]:
    """And not a little less: off by one beat."""

    def lease_ms(terms: Terms) -> int:
        return terms.given_up_after_ms + terms.heartbeat_ms

    with patch.object(Terms, "lease_ms", property(lease_ms)):
        yield


@contextmanager
def agents_are_not_waited_for_after_a_restart() -> Iterator[None]:
    """Who hasn't dialled yet when the server looks for its tasks has lost them."""
    take_up = AgentsBackend.take_up

    async def hasty(self: AgentsBackend, tasks: Any) -> Any:
        self._was_taken_up = True
        return await take_up(self, tasks)

    with patch.object(AgentsBackend, "take_up", hasty):
        yield
