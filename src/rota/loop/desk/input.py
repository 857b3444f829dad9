"""What users send to their jobs: passed on to the backend that runs them, which keeps it from then on."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

from rota.backends.backend import BackendUnavailable, Fed, InputPiece, TaskRef
from rota.backends.registry import Registry
from rota.control.errors import Conflict, Unavailable
from rota.control.memory import Memory
from rota.lifecycle.state import JobState, LiveTask
from rota.model.ids import JobId

WITHIN_S = 10.0
"""A task that reads no more is waited for so long; then its client is told how far it is."""


class InputDesk:
    """Nothing of it is kept here: what is answered as taken is in the keeper of the task's machine."""

    def __init__(self, memory: Memory, backends: Registry, within_s: float = WITHIN_S) -> None:
        self._memory = memory
        self._backends = backends
        self._within_s = within_s
        self._senders: WeakValueDictionary[JobId, asyncio.Lock] = WeakValueDictionary()

    async def feed(self, state: JobState, piece: InputPiece) -> Fed:
        """What was taken. Raises Conflict for a job that takes nothing, or not now."""
        if not state.spec.run.takes_input:
            raise Conflict(
                f"job {state.id} takes no input", "submit it with `stdin: pipe`, as `rota run -i` does"
            )
        # One at a time: who sends the same twice would else see one of them refused.
        async with self._senders.setdefault(state.id, asyncio.Lock()):
            fed = await self._feed(self._memory.jobs.get(state.id) or state, piece)
        if fed.is_open and fed.taken_bytes < piece.offset_bytes:
            raise Conflict(
                f"the {piece.offset_bytes - fed.taken_bytes:,} bytes before these never came",
                f"send what comes after the first {fed.taken_bytes:,}",
            )
        return fed

    async def _feed(self, state: JobState, piece: InputPiece) -> Fed:
        task = _running(state)
        node = self._memory.node(task.node)
        if node is None or node.spec.backend not in self._backends:
            raise Unavailable(f"{task.node}, which job {state.id} runs on, isn't here", "try again")
        backend = self._backends.get(node.spec.backend)
        try:
            async with asyncio.timeout(self._within_s):
                return await backend.feed(TaskRef(state.id, task.rank, task.fence), piece)
        except TimeoutError:
            return Fed(piece.offset_bytes)
        except BackendUnavailable as error:
            raise Unavailable(
                f"{task.node} can't be reached at the moment", "try again", str(error)
            ) from error


def _running(state: JobState) -> LiveTask:
    for task in state.live:
        if task.started_ms is not None:
            return task
    if state.phase.is_terminal:
        raise Conflict(f"job {state.id} is over, and reads nothing any more")
    raise Conflict(f"job {state.id} doesn't run yet", "wait until it does, and send it then")
