"""The scheduler's cycle: things change while it decides, and the lease is renewed meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from msgspec.structs import replace

from rota.engine.decide import decide
from rota.kube.api.errors import KubeError
from rota.kube.scheduling import cycle as module
from rota.kube.scheduling.cycle import Scheduling
from rota.kube.scheduling.run import default_policy
from rota.loop.hosting.plugin_host import GROUP, PluginHost
from rota.loop.telemetry.metrics import Metrics
from rota.model.plan import Plan
from rota.model.policy import PluginConfig, Policy
from tests.kit.waiting import eventually
from tests.unit.kube.pods import SCHEDULER, Told, node, pod
from tests.unit.kube.scheduling.bench import Bench
from tests.unit.loop import plugins_for_tests as strangers

pytestmark = pytest.mark.covers("trust-1")


class Deciding:
    """Decisions that take as long as the test says."""

    def __init__(self) -> None:
        self.count = 0
        self.may_end = threading.Event()

    def __call__(self, *args: Any) -> Plan:
        plan = decide(*args)
        self.count += 1
        assert self.may_end.wait(30)
        return plan


@pytest.fixture
def deciding(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deciding]:
    slow = Deciding()
    monkeypatch.setattr(module, "decide", slow)
    yield slow
    slow.may_end.set()


def nothing(told: Told) -> None:
    pass


def cordoned(told: Told) -> None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    told.mirror.node_changed(node("n"), node("n", taints=[taint]))


def gone(told: Told) -> None:
    told.mirror.node_changed(node("n"), None)


def smaller(told: Told) -> None:
    told.mirror.node_changed(node("n"), node("n", cpu="500m"))


def taken(told: Told) -> None:
    told.add(pod("q", node="n", cpu="1500m", scheduler="another"))


def deleted(told: Told) -> None:
    told.mirror.pod_changed(pod("p"), None)


def bound_by_another(told: Told) -> None:
    told.mirror.pod_changed(pod("p"), pod("p", node="n"))


@pytest.mark.parametrize(
    ("happens", "is_bound"),
    [
        (nothing, True),
        (cordoned, False),
        (gone, False),
        (smaller, False),
        (taken, False),
        (deleted, False),
        (bound_by_another, False),
    ],
)
async def test_what_changes_while_it_decides_counts(
    happens: Callable[[Told], None], is_bound: bool, deciding: Deciding
) -> None:
    bench = Bench()
    scheduling = Scheduling(bench.mirror, bench.binder, bench.recorder, default_policy(SCHEDULER), Metrics())
    running = asyncio.create_task(scheduling.run())
    await eventually(lambda: deciding.count == 1)
    # The loop goes on: here others renew the lease.
    for _ in range(5):
        await asyncio.sleep(0)
    happens(bench.told)
    deciding.may_end.set()
    await eventually(lambda: scheduling.cycles >= 1)
    scheduling.look_again()
    await eventually(lambda: scheduling.cycles >= 2)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert bench.server.binds == ([("p", "n")] if is_bound else [])


async def test_a_decision_that_takes_for_ever_keeps_nobody_from_stopping(deciding: Deciding) -> None:
    bench = Bench()
    scheduling = Scheduling(bench.mirror, bench.binder, bench.recorder, default_policy(SCHEDULER), Metrics())
    running = asyncio.create_task(scheduling.run())
    await eventually(lambda: deciding.count == 1)
    running.cancel()
    async with asyncio.timeout(20):
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.covers("decide-18")
async def test_plugins_are_told_once_the_api_server_has_it() -> None:
    """Not when it is decided, nor for what can't be bound."""
    told = strangers.told
    told.clear()
    refusal = KubeError("no")
    for bench, expected in ((Bench(refusal), []), (Bench(), [("default/p", 1)])):
        policy = Policy((replace(default_policy(SCHEDULER).schedulers[0], plugins=(PluginConfig("p"),)),))
        host = PluginHost([EntryPoint("p", f"{strangers.__name__}:Listener", GROUP)])
        scheduling = Scheduling(bench.mirror, bench.binder, bench.recorder, policy, Metrics(), host=host)
        running = asyncio.create_task(scheduling.run())
        await eventually(lambda: bool(bench.server.binds))  # noqa: B023
        if expected:
            await eventually(lambda: bool(told))
        else:
            await eventually(lambda: bench.binder.failed > 0)  # noqa: B023
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert told == expected
    told.clear()


@pytest.mark.covers("decide-18")
async def test_a_fault_of_a_plugin_is_an_event_of_the_pod() -> None:
    bench, metrics = Bench(), Metrics()
    policy = Policy((replace(default_policy(SCHEDULER).schedulers[0], plugins=(PluginConfig("p"),)),))
    host = PluginHost([EntryPoint("p", f"{strangers.__name__}:Raising", GROUP)])
    events: list[tuple[str, str]] = []
    bench.recorder.event = lambda pod, kind, reason, action, note: events.append((reason, note))  # type: ignore[method-assign]
    scheduling = Scheduling(bench.mirror, bench.binder, bench.recorder, policy, metrics, host=host)
    running = asyncio.create_task(scheduling.run())
    await eventually(lambda: any(reason == "PluginFailed" for reason, _ in events))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    [note] = [note for reason, note in events if reason == "PluginFailed"]
    assert note == "plugin p failed in filter, and was left out: ValueError: no idea"
    assert b'rota_plugin_faults_total{call="filter",plugin="p"} 1.0' in metrics.exposition()
