"""Updates the metrics with what happens in a live cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rota.api.cluster import NodeDocument
from rota.control.transactor import Transactor
from rota.lifecycle.instructions import Instruction
from rota.loop.desk.nodes import node_documents
from rota.loop.telemetry.metrics import Metrics
from rota.model.ids import QueueName
from rota.store.writing.batch import Batch


class Measuring:
    """Follows the transactor."""

    def __init__(self, metrics: Metrics, transactor: Transactor) -> None:
        self._metrics = metrics
        self._transactor = transactor
        self._memory = transactor.memory
        metrics.before_scrape(self._look)

    def kept(self, batch: Batch, instructions: Sequence[Instruction]) -> None:
        self._metrics.observe_commit(self._transactor.last_commit_s)
        for kind, count in Counter(event.kind for event in batch.events).items():
            self._metrics.count_event(kind, count)
        for queue, waited_ms in _first_starts(batch):
            self._metrics.observe_queue_wait(queue, waited_ms / 1000)
            self._metrics.observe_scheduled(waited_ms / 1000)
        for told in batch.estimates:
            if told.started_ms is not None:
                estimate = told.estimate
                late_s = (told.started_ms - estimate.expected_ms) / 1000
                self._metrics.observe_estimate(late_s, told.started_ms <= estimate.bound_ms)

    def _look(self) -> None:
        self._metrics.set_pending({str(queue): count for queue, count in self._memory.pending.items()})
        self._metrics.set_utilisation(
            {node.name: _shares(node) for node in node_documents(self._memory, healths={})}
        )


def _first_starts(batch: Batch) -> Iterator[tuple[QueueName, int]]:
    """The queues of jobs that ran for the first time, and how long they had waited. A short job may have
    ended in the same batch."""
    starts = {(event.subject, event.at_ms) for event in batch.events if event.kind == "job.Started"}
    for state in batch.jobs:
        if state.started_ms is not None and (state.id, state.started_ms) in starts:
            yield state.spec.template.queue, max(0, state.started_ms - state.submitted_ms)


def _shares(node: NodeDocument) -> dict[str, float]:
    amounts = {name: node.used.get(name, 0) / amount for name, amount in node.capacity.items() if amount}
    return {**amounts, "gpu": node.gpus_used / node.gpus} if node.gpus else amounts
