"""A store that keeps nothing: control and loop run on it as they do in the server.

What must be kept is kept by the controllers, each its own, before anything is done about it: `notifying.py`.
"""

from __future__ import annotations

from rota.lifecycle.state import JobState
from rota.model.ids import JobId
from rota.store.reading.load import Loaded
from rota.store.writing.batch import Batch


class NothingKept:
    """As much of `rota.store.store.Store` as a controller asks for that never has to read anything again."""

    def __init__(self) -> None:
        self._last_seq = 0

    def commit(self, batch: Batch) -> int:
        self._last_seq += len(batch.events)
        return self._last_seq

    def job(self, job: JobId) -> JobState | None:
        return None

    def load(self) -> Loaded:
        return Loaded([], [], [], [], [], [], [], [], [], [], None, self._last_seq)
