"""Bugs on the way between control and backends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from rota.backends.backend import TaskEnded, TaskReturned
from rota.dispatch.dispatcher import Dispatcher
from rota.lifecycle.instructions import StartTask, StopTask


@contextmanager
def reports_are_settled_before_they_are_kept() -> Iterator[None]:
    init = Dispatcher.__init__

    def hasty(self: Dispatcher, backends: Any, jobs: Any, keep: Any) -> None:
        async def settle_and_keep(reports: Sequence[Any]) -> Any:
            over = [one.ref for one in reports if isinstance(one, TaskEnded | TaskReturned)]
            for backend in backends:
                await backend.settle(over)
            return await keep(reports)

        init(self, backends, jobs, settle_and_keep)

    with patch.object(Dispatcher, "__init__", hasty):
        yield


@contextmanager
def starts_are_lost_at_a_restart() -> Iterator[None]:
    reconcile, carry_out = Dispatcher.reconcile, Dispatcher.carry_out

    async def forgetful(self: Dispatcher) -> list[Any]:
        def some(instructions: Any) -> None:
            carry_out(self, [one for one in instructions if not isinstance(one, StartTask)])

        with patch.object(self, "carry_out", some):
            return await reconcile(self)

    with patch.object(Dispatcher, "reconcile", forgetful):
        yield


@contextmanager
def unreachable_backends_lose_stops() -> Iterator[None]:
    send = Dispatcher._send

    async def careless(self: Dispatcher, backend: Any, instructions: Any, settled: Any) -> None:
        await send(self, backend, instructions, settled)
        left = self._to_do.get(backend.name, [])
        self._to_do[backend.name] = [one for one in left if not isinstance(one, StopTask)]

    with patch.object(Dispatcher, "_send", careless):
        yield


@contextmanager
def unreachable_backends_lose_instructions() -> Iterator[None]:
    send = Dispatcher._send

    async def careless(self: Dispatcher, backend: Any, instructions: Any, settled: Any) -> None:
        await send(self, backend, instructions, settled)
        self._to_do.pop(backend.name, None)

    with patch.object(Dispatcher, "_send", careless):
        yield
