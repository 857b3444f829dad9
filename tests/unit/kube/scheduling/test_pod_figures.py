"""What kube-scheduler's users read of its metrics, they read of ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rota.kube.mirror.reasons import AwaitsVictims, GangIncomplete, Hold
from rota.kube.scheduling.cycle import Scheduling
from rota.kube.scheduling.pod_figures import PodFigures
from rota.kube.scheduling.run import default_policy
from rota.kube_objects.times import as_ms
from rota.loop.telemetry.metrics import Metrics
from rota.model.ids import JobId, NodeName, TaskName
from rota.model.plan import Eviction, EvictionCause, Plan, PluginFault
from tests.kit.waiting import eventually
from tests.unit.kube.pods import SCHEDULER, Told, node, pod
from tests.unit.kube.scheduling.bench import Bench

pytestmark = pytest.mark.covers("kube-10", "kube-7")

P, Q = TaskName("default/p"), TaskName("default/q")
N = NodeName("n")


class Figures:
    """With a clock that the test sets."""

    def __init__(self) -> None:
        self.told = Told()
        self.told.mirror.node_changed(None, node("n", cpu="2"))
        self.metrics = Metrics()
        self.now_ms = as_ms(pod("p").metadata.creation_timestamp)
        self.pods = PodFigures(self.metrics, SCHEDULER, self.told.mirror, lambda: self.now_ms)

    def value(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)

    def attempts(self, result: str) -> float | None:
        return self.value("scheduler_schedule_attempts_total", result=result, profile=SCHEDULER)

    def incoming(self, queue: str, event: str) -> float | None:
        return self.value("scheduler_queue_incoming_pods_total", queue=queue, event=event)

    def pending(self) -> dict[str, float | None]:
        self.pods.look(is_leading=True)
        queues = ("active", "backoff", "unschedulable", "gated")
        return {queue: self.value("scheduler_pending_pods", queue=queue) for queue in queues}


@pytest.fixture
def figures() -> Figures:
    return Figures()


def test_a_pod_that_is_bound_at_once(figures: Figures) -> None:
    figures.now_ms += 3_000
    figures.pods.bound(P, pod("p"), 0.25)
    assert figures.attempts("scheduled") == 1
    labels = {"result": "scheduled", "profile": SCHEDULER}
    assert figures.value("scheduler_scheduling_attempt_duration_seconds_sum", **labels) == 0.25
    assert figures.value("scheduler_pod_scheduling_sli_duration_seconds_sum", attempts="1") == 3
    assert figures.value("scheduler_pod_scheduling_attempts_bucket", le="1.0") == 1
    assert figures.value("rota_queue_wait_seconds_sum", queue="default") == 3
    assert figures.incoming("active", "UnschedulablePodAdd") == 1


def test_attempts_are_counted_by_pod(figures: Figures) -> None:
    for _ in range(20):
        figures.pods.refused([P, Q], 0.01)
    figures.pods.bound(P, pod("p"), 0.1)
    assert figures.attempts("unschedulable") == 40
    assert figures.value("scheduler_pod_scheduling_sli_duration_seconds_count", attempts="15+") == 1
    assert figures.value("scheduler_pod_scheduling_attempts_sum") == 21
    assert figures.incoming("unschedulable", "ScheduleAttemptFailure") == 2
    labels = {"result": "unschedulable", "profile": SCHEDULER}
    assert figures.value("scheduler_scheduling_attempt_duration_seconds_count", **labels) == 40
    figures.pods.forget(Q)
    figures.pods.bound(Q, pod("q"), 0.1)
    assert figures.value("scheduler_pod_scheduling_sli_duration_seconds_count", attempts="1") == 1


def test_one_that_could_not_be_bound_rests(figures: Figures) -> None:
    figures.pods.failed(P, 0.5)
    assert figures.attempts("error") == 1
    assert figures.incoming("backoff", "ScheduleAttemptFailure") == 1
    figures.pods.bound(P, pod("p"), 0.1)
    assert figures.incoming("active", "BackoffComplete") == 1


def test_where_pods_wait(figures: Figures) -> None:
    told = figures.told
    told.add(
        pod("p"),
        pod("refused"),
        pod("gated", schedulingGates=[{"name": "g"}]),
        pod("lonely", gang="g", least="2"),
    )
    told.add(pod("runs", node="n"), pod("another's", scheduler="another", node="n"))
    told.mirror.settle(0.0)
    figures.pods.held(told.mirror.holds)
    figures.pods.refused([TaskName("default/refused")], 0.1)
    assert figures.pending() == {"active": 1, "backoff": 0, "unschedulable": 1, "gated": 2}
    assert figures.value("scheduler_cache_size", type="nodes") == 1
    assert figures.value("scheduler_cache_size", type="pods") == 6
    figures.pods.look(is_leading=False)
    assert figures.value("scheduler_pending_pods", queue="active") == 0


def test_a_pod_that_is_held_comes_in_once(figures: Figures) -> None:
    holds: dict[TaskName, Hold] = {P: GangIncomplete("g", 1, 2), Q: AwaitsVictims(N)}
    figures.pods.held(holds)
    figures.pods.held(holds)
    assert figures.incoming("unschedulable", "UnschedulablePodAdd") == 1
    figures.pods.bound(P, pod("p"), 0.1)
    assert figures.incoming("active", "UnschedulablePodUpdate") == 1


def test_preemption_and_faults_of_plugins(figures: Figures) -> None:
    victims = [Eviction(JobId(f"v{rank}"), 0, N, EvictionCause.PREEMPTED, JobId(P)) for rank in range(3)]
    faults = (PluginFault("quiet", "filter", "ValueError: no", JobId(P)),)
    figures.pods.decided(Plan(evictions=tuple(victims), faults=faults), 0.02)
    assert figures.value("scheduler_preemption_attempts_total") == 1
    assert figures.value("scheduler_preemption_victims_sum") == 3
    assert figures.value("scheduler_scheduling_algorithm_duration_seconds_sum") == 0.02
    assert figures.value("rota_kube_plugin_faults_total", plugin="quiet", call="filter") == 1


def test_utilisation_of_each_node(figures: Figures) -> None:
    figures.told.add(pod("runs", node="n", cpu="500m"))
    figures.told.mirror.settle(0.0)
    figures.pods.look(is_leading=True)
    text = figures.metrics.exposition().decode()
    assert 'rota_worker_utilisation{node="n",resource="cpu"} 0.25' in text
    assert 'rota_worker_utilisation{node="n",resource="pods"} 0.1' in text
    assert 'resource="shares"' not in text
    figures.pods.look(is_leading=False)
    assert "rota_worker_utilisation{" not in figures.metrics.exposition().decode()


async def test_a_cycle_counts_what_it_does() -> None:
    bench = Bench()
    bench.told.add(pod("too-large", cpu="8"))
    metrics = Metrics()
    figures = PodFigures(metrics, SCHEDULER, bench.mirror)
    bench.binder._figures = figures
    policy: Any = default_policy(SCHEDULER)
    scheduling = Scheduling(bench.mirror, bench.binder, bench.recorder, policy, metrics, figures=figures)
    running = asyncio.create_task(scheduling.run())

    def attempts(result: str) -> float | None:
        labels = {"result": result, "profile": SCHEDULER}
        return metrics.registry.get_sample_value("scheduler_schedule_attempts_total", labels)

    await eventually(lambda: attempts("scheduled") == 1 and (attempts("unschedulable") or 0) >= 1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert (metrics.registry.get_sample_value("scheduler_preemption_attempts_total") or 0) >= 1
