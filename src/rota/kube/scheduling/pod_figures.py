"""What is done with pods, in figures: under kube-scheduler's names where it has them, with its labels and
buckets and in its sense; and ours, of what it has no name for."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Collection, Mapping
from enum import Enum

import numpy as np
from prometheus_client import Counter, Gauge

from rota.clock import now_ms
from rota.kube.mirror.mirror import Mirror
from rota.kube.mirror.reasons import AwaitsVictims, Hold
from rota.kube.scheduling.latency import Latency
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.pods import PodState
from rota.kube_objects.times import as_ms
from rota.loop.telemetry.bulk_histogram import BulkHistogram, doubling
from rota.loop.telemetry.metrics import CycleResult, Metrics
from rota.model.ids import TaskName
from rota.model.plan import Plan
from rota.snapshot import rows
from rota.snapshot.rows import is_amount

_MOST_ATTEMPTS = 15
"""From here on they are one value of the label, as in kube-scheduler."""
_DERIVED = (rows.SHARES, rows.GPU_IDLE, rows.GPU_BEST)
_NAMES = {"slots": "pods", "storage": "ephemeral-storage"}


class Queue(Enum):
    """Of kube-scheduler, as far as pods here are in the same state."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"


class Incoming(Enum):
    """By what a pod came into a queue, in kube-scheduler's words."""

    ADDED = "UnschedulablePodAdd"
    UPDATED = "UnschedulablePodUpdate"
    FAILED = "ScheduleAttemptFailure"
    RESTED = "BackoffComplete"


class PodFigures:
    """Only of a replica that leads: the others do nothing with pods."""

    def __init__(
        self, metrics: Metrics, profile: str, mirror: Mirror, clock_ms: Callable[[], int] = now_ms
    ) -> None:
        """`profile`: the scheduler's name, as kube-scheduler calls a profile."""
        self._metrics = metrics
        self._profile = profile
        self._mirror = mirror
        self._clock_ms = clock_ms
        self._latency = Latency(metrics, clock_ms)
        self._queue: dict[TaskName, Queue] = {}
        """Where each pod was last that was dealt with and isn't bound."""
        self._attempts: Counts[TaskName] = Counts()
        self._utilisation: dict[str, dict[str, float]] = {}
        registry = metrics.registry
        self._scheduled = Counter(
            "scheduler_schedule_attempts",
            "Attempts to schedule pods, by their result.",
            ["result", "profile"],
            registry=registry,
        )
        self._attempt_seconds = BulkHistogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "How long it took to decide about a pod and to bind it.",
            ["result", "profile"],
            buckets=doubling(0.001, 15),
            registry=registry,
        )
        self._decision_seconds = BulkHistogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "How long decisions took. One decision is about all pods that wait.",
            buckets=doubling(0.001, 15),
            registry=registry,
        )
        self._sli_seconds = BulkHistogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From when a pod could be scheduled until it was bound, by the number of attempts.",
            ["attempts"],
            buckets=doubling(0.01, 20),
            registry=registry,
        )
        self._attempts_needed = BulkHistogram(
            "scheduler_pod_scheduling_attempts",
            "Attempts that it took to schedule a pod.",
            buckets=doubling(1, 5),
            registry=registry,
        )
        self._preemptions = Counter(
            "scheduler_preemption_attempts",
            "Attempts to find room for a pod by ending others.",
            registry=registry,
        )
        self._victims = BulkHistogram(
            "scheduler_preemption_victims",
            "Pods that were chosen to end for another one.",
            buckets=doubling(1, 7),
            registry=registry,
        )
        self._pending = Gauge(
            "scheduler_pending_pods", "Pods that wait, by the kind of queue.", ["queue"], registry=registry
        )
        self._incoming = Counter(
            "scheduler_queue_incoming_pods",
            "Pods that came into a queue, by its kind and by what happened.",
            ["queue", "event"],
            registry=registry,
        )
        self._cached = Gauge(
            "scheduler_cache_size", "Nodes and pods that are known.", ["type"], registry=registry
        )
        self._faults = Counter(
            "rota_kube_plugin_faults",
            "Questions that a plugin didn't answer: it raised, or took too long.",
            ["plugin", "call"],
            registry=registry,
        )
        # Looked up once: this is done for each pod.
        self._by_result = {result: self._scheduled.labels(result.value, profile) for result in CycleResult}
        self._by_event: dict[tuple[Queue, Incoming], Counter] = {}
        metrics.before_scrape(self._show_utilisation)

    # -- told by the scheduler

    def decided(self, plan: Plan, seconds: float) -> None:
        self._decision_seconds.observe((), seconds)
        victims = Counts(eviction.preemptor for eviction in plan.evictions if eviction.preemptor)
        self._preemptions.inc(len(victims))
        for count in victims.values():
            self._victims.observe((), count)
        for fault in plan.faults:
            self._faults.labels(fault.plugin, fault.call).inc()

    def held(self, holds: Mapping[TaskName, Hold]) -> None:
        """Now, by something that must happen before they are decided about."""
        self._latency.held(holds, self._mirror.pod)
        for name, hold in holds.items():
            if isinstance(hold, AwaitsVictims):
                self._queue.setdefault(name, Queue.UNSCHEDULABLE)
            elif self._queue.get(name) is not Queue.GATED:
                event = Incoming.UPDATED if name in self._queue else Incoming.ADDED
                # In kube-scheduler gated pods are among those that can't be scheduled.
                self._came(Queue.UNSCHEDULABLE, event)
                self._queue[name] = Queue.GATED

    def refused(self, names: Collection[TaskName], seconds: float) -> None:
        """By one decision: each for now, and no room could be made for it."""
        for name in names:
            self._attempts[name] += 1
            if self._queue.get(name) is not Queue.UNSCHEDULABLE:
                self._became_active(name)
                self._came(Queue.UNSCHEDULABLE, Incoming.FAILED)
                self._queue[name] = Queue.UNSCHEDULABLE
        self._preemptions.inc(len(names))
        self._attempted(CycleResult.UNSCHEDULABLE, seconds, len(names))

    def bound(self, name: TaskName, pod: Pod, seconds: float) -> None:
        """After so long for the decision and the binding."""
        self._became_active(name)
        self._queue.pop(name, None)
        attempts = self._attempts.pop(name, 0) + 1
        self._attempted(CycleResult.SCHEDULED, seconds)
        self._attempts_needed.observe((), attempts)
        many = f"{_MOST_ATTEMPTS}+" if attempts >= _MOST_ATTEMPTS else str(attempts)
        self._sli_seconds.observe((many,), self._latency.bound(name, pod))
        waited_ms = self._clock_ms() - as_ms(pod.metadata.creation_timestamp)
        task = self._mirror.task(name)
        queue = task.template.queue if task is not None else "default"
        self._metrics.observe_queue_wait(queue, max(0, waited_ms) / 1000)

    def failed(self, name: TaskName, seconds: float) -> None:
        """It was decided, and couldn't be bound."""
        self._became_active(name)
        self._attempts[name] += 1
        self._came(Queue.BACKOFF, Incoming.FAILED)
        self._queue[name] = Queue.BACKOFF
        self._attempted(CycleResult.ERROR, seconds)

    def forget(self, name: TaskName) -> None:
        """It is gone, or bound."""
        self._queue.pop(name, None)
        self._attempts.pop(name, None)

    # -- asked by whoever scrapes

    def look(self, is_leading: bool) -> None:
        """Sets what is so at this moment. Cheap: the text is made later, and elsewhere."""
        pending = self._pending_now() if is_leading else Counts()
        for queue in Queue:
            self._pending.labels(queue.value).set(pending[queue])
        sizes = {"nodes": self._mirror.node_count, **self._mirror.pod_counts()}
        for kind, size in sizes.items():
            self._cached.labels(kind).set(size)
        self._utilisation = self._utilisation_now() if is_leading else {}

    def _pending_now(self) -> Counts[Queue]:
        holds = self._mirror.holds
        counts = Counts(
            Queue.UNSCHEDULABLE if isinstance(hold, AwaitsVictims) else Queue.GATED for hold in holds.values()
        )
        for name, state in self._mirror.pending():
            if name not in holds:
                counts[Queue.GATED if state is PodState.GATED else self._queue.get(name, Queue.ACTIVE)] += 1
        return counts

    def _utilisation_now(self) -> dict[str, dict[str, float]]:
        occupancy = self._mirror.state.occupancy()
        nodes, capacity = occupancy.nodes, occupancy.nodes.capacity
        share = np.zeros(capacity.shape)
        np.divide(capacity - occupancy.free, capacity, out=share, where=capacity > 0)
        shown = [
            (_NAMES.get(name, name), (capacity[row] > 0).tolist(), share[row].tolist())
            for row, name in enumerate(nodes.index.names)
            if row not in _DERIVED and is_amount(name)
        ]
        return {
            node: {name: shares[at] for name, has_any, shares in shown if has_any[at]}
            for at, node in enumerate(nodes.names)
        }

    def _show_utilisation(self) -> None:
        self._metrics.set_utilisation(self._utilisation)

    # -- counting

    def _attempted(self, result: CycleResult, seconds: float, count: int = 1) -> None:
        self._by_result[result].inc(count)
        if count:
            self._attempt_seconds.observe((result.value, self._profile), seconds, count)

    def _became_active(self, name: TaskName) -> None:
        match self._queue.get(name):
            case None:
                self._came(Queue.ACTIVE, Incoming.ADDED)
            case Queue.GATED:
                self._came(Queue.ACTIVE, Incoming.UPDATED)
            case Queue.BACKOFF:
                self._came(Queue.ACTIVE, Incoming.RESTED)

    def _came(self, queue: Queue, event: Incoming) -> None:
        counter = self._by_event.get((queue, event))
        if counter is None:
            counter = self._by_event[queue, event] = self._incoming.labels(queue.value, event.value)
        counter.inc()
