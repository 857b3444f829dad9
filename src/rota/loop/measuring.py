"""What happens in a live cluster, told to the metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rota.api.documents import NodeDocument
from rota.control.memory import Memory
from rota.lifecycle.instructions import Instruction
from rota.loop.metrics import CycleResult, Metrics
from rota.loop.nodes import node_documents
from rota.model.plan import Plan
from rota.store.batch import Batch


def measure_cycle(metrics: Metrics, seconds: float, plan: Plan) -> None:
    waiting = sum(len(entry.jobs) for entry in plan.waiting)
    metrics.observe_cycle(seconds, CycleResult.SCHEDULED if plan.bindings else CycleResult.UNSCHEDULABLE)
    if plan.bindings:
        metrics.count_attempts(CycleResult.SCHEDULED, len({binding.job for binding in plan.bindings}))
    if waiting:
        metrics.count_attempts(CycleResult.UNSCHEDULABLE, waiting)
    victims = Counter(eviction.preemptor for eviction in plan.evictions if eviction.preemptor)
    for count in victims.values():
        metrics.observe_preemption(count)


class Measuring:
    """Follows the controller."""

    def __init__(self, metrics: Metrics, memory: Memory) -> None:
        self._metrics = metrics
        self._memory = memory

    def kept(self, batch: Batch, instructions: Sequence[Instruction]) -> None:
        for kind, count in Counter(event.kind for event in batch.events).items():
            self._metrics.count_event(kind, count)
        for attempt in batch.attempts:
            state = self._memory.job(attempt.job)
            if state is None or attempt.started_ms is None or attempt.ended_ms is not None:
                continue
            if state.started_ms == attempt.started_ms:
                waited_s = max(0, attempt.started_ms - state.submitted_ms) / 1000
                self._metrics.observe_queue_wait(state.spec.template.queue, waited_s)
                self._metrics.observe_scheduled(waited_s)
        for told in batch.estimates:
            if told.started_ms is not None:
                estimate = told.estimate
                late_s = (told.started_ms - estimate.expected_ms) / 1000
                self._metrics.observe_estimate(late_s, told.started_ms <= estimate.bound_ms)

    def look(self) -> None:
        """What isn't told by any change, every few seconds."""
        self._metrics.set_pending({str(queue): count for queue, count in self._memory.pending.items()})
        self._metrics.set_utilisation(
            {node.name: _shares(node) for node in node_documents(self._memory, healths={})}
        )


def _shares(node: NodeDocument) -> dict[str, float]:
    amounts = {name: node.used.get(name, 0) / amount for name, amount in node.capacity.items() if amount}
    return {**amounts, "gpu": node.gpus_used / node.gpus} if node.gpus else amounts
