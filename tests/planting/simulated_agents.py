"""Bugs of agents and their leases, as the simulation has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from rota.faults import wire
from rota.faults.agent import Agent


@contextmanager
def leases_last_as_long_as_nodes_are_waited_for() -> Iterator[None]:
    """And not a little less: off by one beat."""
    with patch.object(wire, "KILLS_AFTER_S", wire.LOST_AFTER_S + wire.BEAT_S):
        yield


@contextmanager
def leases_are_renewed_by_beats_without_answers() -> Iterator[None]:
    say = Agent._say

    def hopeful(self: Agent, message: Any) -> None:
        if isinstance(message, wire.Beat | wire.Hello):
            self._renew_lease(message.sent_s)
        say(self, message)

    with patch.object(Agent, "_say", hopeful):
        yield


@contextmanager
def agents_forget_their_tasks_at_a_restart() -> Iterator[None]:
    go_down = Agent.go_down

    def forgetful(self: Agent, power_is_lost: bool = False, is_wiped: bool = False) -> None:
        go_down(self, power_is_lost, is_wiped)
        self._tasks = {}

    with patch.object(Agent, "go_down", forgetful):
        yield
