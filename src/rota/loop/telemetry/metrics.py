"""Metrics for Prometheus. They have the names of kube-scheduler's metrics where they mean the same.

The loop, control and the server call the plain methods; nothing else depends on the metrics library.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from enum import Enum

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from rota.model.plan import Plan

CONTENT_TYPE = CONTENT_TYPE_LATEST

_CYCLE_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_REQUEST_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_WAIT_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600)
_OFF_SECONDS = (1, 10, 60, 300, 600, 1800, 3600, 4 * 3600, 24 * 3600)
_SILENCE_SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_VICTIMS = (1, 2, 4, 8, 16, 32, 64)


class CycleResult(Enum):
    """Of an attempt to schedule a job."""

    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self._looks: list[Callable[[], None]] = []
        self._attempts = Counter(
            "rota_schedule_attempts", "Attempts to schedule a job.", ["result"], registry=registry
        )
        self._cycle_seconds = Histogram(
            "rota_scheduling_attempt_duration_seconds",
            "How long a scheduling cycle took.",
            ["result"],
            buckets=_CYCLE_SECONDS,
            registry=registry,
        )
        self._pending = Gauge("rota_pending_jobs", "Jobs that wait.", ["queue"], registry=registry)
        self._sli_seconds = Histogram(
            "rota_job_scheduling_sli_duration_seconds",
            "Time from when a job could start until it was placed, without time held.",
            buckets=_WAIT_SECONDS,
            registry=registry,
        )
        self._preemptions = Counter(
            "rota_preemption_attempts", "Decisions to evict tasks for another job.", registry=registry
        )
        self._victims = Histogram(
            "rota_preemption_victims", "Jobs evicted by one decision.", buckets=_VICTIMS, registry=registry
        )
        self._queue_wait = Histogram(
            "rota_queue_wait_seconds",
            "From a job's submission until its first start.",
            ["queue"],
            buckets=_WAIT_SECONDS,
            registry=registry,
        )
        self._utilisation = Gauge(
            "rota_worker_utilisation",
            "Share of a node that is taken.",
            ["node", "resource"],
            registry=registry,
        )
        self._requests = Counter(
            "rota_http_requests", "Requests answered.", ["route", "method", "status"], registry=registry
        )
        self._request_seconds = Histogram(
            "rota_http_request_duration_seconds",
            "How long requests took, streams until their end.",
            ["route"],
            buckets=_REQUEST_SECONDS,
            registry=registry,
        )
        self._events = Counter("rota_events", "Events recorded.", ["kind"], registry=registry)
        self._commit_seconds = Histogram(
            "rota_store_commit_seconds",
            "How long a transaction took.",
            buckets=_CYCLE_SECONDS,
            registry=registry,
        )
        self._estimate_off = Histogram(
            "rota_estimate_error_seconds",
            "Difference between the start of a job and its estimate.",
            ["direction"],
            buckets=_OFF_SECONDS,
            registry=registry,
        )
        self._bounds = Counter(
            "rota_estimate_bounds",
            "Starts within the estimated bound, and later ones.",
            ["kept"],
            registry=registry,
        )
        self._silence = Histogram(
            "rota_loop_silence_seconds",
            "Delay of the event loop, during which it answered no request.",
            buckets=_SILENCE_SECONDS,
            registry=registry,
        )
        self._longest_silence = Gauge(
            "rota_loop_longest_silence_seconds",
            "Longest block of the event loop since the last scrape.",
            registry=registry,
        )
        self._longest_silence_s = 0.0
        self._breakers = Gauge(
            "rota_breaker_open",
            "1: it failed to answer too many times in a row, and is not asked for a while.",
            ["connection"],
            registry=registry,
        )

        self._plugin_faults = Counter(
            "rota_plugin_faults",
            "Calls of plugins that raised, took too long or answered nonsense; once a job and decision.",
            ["plugin", "call"],
            registry=registry,
        )
        self._clock_off = Gauge(
            "rota_clock_off_seconds",
            "Difference between the wall clock and Rota's clock, while a jump of the wall clock is ignored.",
            registry=registry,
        )
        self._clock_jumps = Counter(
            "rota_clock_jumps", "Jumps of the wall clock by more than a few seconds.", registry=registry
        )

    def observe_cycle(self, seconds: float, result: CycleResult) -> None:
        self._cycle_seconds.labels(result.value).observe(seconds)

    def count_attempts(self, result: CycleResult, count: int = 1) -> None:
        """Jobs that a cycle bound, or refused."""
        self._attempts.labels(result.value).inc(count)

    def set_pending(self, by_queue: Mapping[str, int]) -> None:
        """All queues; one that isn't named any more is forgotten."""
        self._pending.clear()
        for queue, count in by_queue.items():
            self._pending.labels(queue).set(count)

    def observe_scheduled(self, seconds: float) -> None:
        self._sli_seconds.observe(seconds)

    def observe_preemption(self, victims: int) -> None:
        self._preemptions.inc()
        self._victims.observe(victims)

    def observe_queue_wait(self, queue: str, seconds: float) -> None:
        self._queue_wait.labels(queue).observe(seconds)

    def set_utilisation(self, by_node: Mapping[str, Mapping[str, float]]) -> None:
        """All nodes, of each the share of every resource, 0 to 1; a node that isn't named is forgotten."""
        self._utilisation.clear()
        for node, shares in by_node.items():
            for resource, share in shares.items():
                self._utilisation.labels(node, resource).set(share)

    def observe_request(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests.labels(route, method, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def count_event(self, kind: str, count: int = 1) -> None:
        self._events.labels(kind).inc(count)

    def observe_commit(self, seconds: float) -> None:
        self._commit_seconds.observe(seconds)

    def observe_estimate(self, late_seconds: float, within_bound: bool) -> None:
        """How much later than expected a job started; negative: earlier."""
        self._estimate_off.labels("late" if late_seconds > 0 else "early").observe(abs(late_seconds))
        self._bounds.labels("yes" if within_bound else "no").inc()

    def observe_silence(self, seconds: float) -> None:
        """Of the event loop."""
        self._silence.observe(seconds)
        self._longest_silence_s = max(self._longest_silence_s, seconds)

    def set_breaker(self, connection: str, is_open: bool) -> None:
        self._breakers.labels(connection).set(is_open)

    def set_clock_off(self, seconds: float) -> None:
        """Positive: the wall clock is ahead."""
        self._clock_off.set(seconds)

    def count_clock_jump(self) -> None:
        self._clock_jumps.inc()

    def count_plugin_fault(self, plugin: str, call: str) -> None:
        self._plugin_faults.labels(plugin, call).inc()

    def before_scrape(self, look: Callable[[], None]) -> None:
        """`look` sets the values each time the metrics are read."""
        self._looks.append(look)

    def exposition(self) -> bytes:
        for look in self._looks:
            look()
        self._longest_silence.set(self._longest_silence_s)
        self._longest_silence_s = 0.0
        return generate_latest(self.registry)


def measure_cycle(metrics: Metrics, seconds: float, plan: Plan, *, scheduled: int) -> None:
    """`scheduled`: how many count as scheduled: jobs, or pods."""
    waiting = sum(len(entry.jobs) for entry in plan.waiting)
    metrics.observe_cycle(seconds, CycleResult.SCHEDULED if plan.bindings else CycleResult.UNSCHEDULABLE)
    metrics.count_attempts(CycleResult.SCHEDULED, scheduled)
    metrics.count_attempts(CycleResult.UNSCHEDULABLE, waiting)
    victims = collections.Counter(eviction.preemptor for eviction in plan.evictions if eviction.preemptor)
    for count in victims.values():
        metrics.observe_preemption(count)
