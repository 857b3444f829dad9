"""What a batch has bound, for those who are told of it. It is read from the events: so nothing counts that
isn't committed, and nothing that was bound before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import json

from rota.lifecycle.events import Bound
from rota.lifecycle.state import JobState
from rota.loop.hosting.plugin_news import News
from rota.model.ids import JobId
from rota.model.job import Job
from rota.model.plan import Binding
from rota.store.writing.batch import Batch

_BOUND = f"job.{Bound.__name__}"
_read = json.Decoder(Bound).decode


def bound_by(batch: Batch) -> Iterator[News]:
    """One for each event that bound tasks of a job, standbys included: a node was chosen for them."""
    bound = [event for event in batch.events if event.kind == _BOUND]
    if not bound:
        return
    states = {state.id: state for state in batch.jobs}
    for event in bound:
        state = states.get(JobId(event.subject))
        if state is not None:
            yield _News(state, event.data)


class _News:
    def __init__(self, state: JobState, data: bytes) -> None:
        self._state = state
        self._data = data

    def __call__(self) -> tuple[Job, Sequence[Binding]]:
        seats = _read(self._data).seats
        return self._state.job(), [
            Binding(self._state.id, seat.rank, seat.node, seat.gpu_devices) for seat in seats
        ]
