"""Rota and kube-scheduler on the same API server, with the same nodes and pods: `make bench-kube`.

Of each case all pods wait when a scheduler is started; the time counts from when it says that it is ready,
that is, when it knows the cluster, until the last pod is seen on a node. CPU is that of its process, from its
start. `CASES="plain spread"` for some of them; the best of `RUNS` for each, who takes turns.

Nodes run nothing. kube-scheduler has no limit on its calls. "null" binds pairs that it is told with our
client: the most that this API server takes on this machine.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from statistics import quantiles
from typing import Any, NamedTuple

from bench.harness import Result, report
from bench.kube_contestants import Contestant, KubeScheduler, NullBinder, Rota, kubernetes_version
from bench.kube_stage import ZONE, Stage
from rota.kube.api.client import Client
from rota.kube_objects.pods import DEFAULT_GANG_KEYS
from tests.real.kube.control_plane import ControlPlane
from tests.real.kube.population import plain_pod

RUNS = int(os.environ.get("RUNS", "2"))
PEER = "kube-scheduler"
GANG_SIZE = 50
RATE = 100
"""Pods a second, in the steady case."""
STEADY_S = 30
CHURNED_S = 0.05
"""In the case of churn, one that can't be placed comes so often, and one goes."""

PodOf = Callable[[int], dict[str, Any]]


class Case(NamedTuple):
    words: str
    nodes: int
    pods: int
    pod: PodOf
    goal: str
    is_placeable: Callable[[int], bool] = lambda number: True
    is_churned: bool = False


class Run(NamedTuple):
    pods_per_s: float
    cpu_s_per_1000: float


# -- pods


def plain(number: int) -> dict[str, Any]:
    return plain_pod(f"pod-{number:05}")


def apart(number: int) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": "test"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return plain_pod(f"pod-{number:05}", affinity=affinity)


def together(number: int) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": "test"}}, "topologyKey": ZONE}
    preferred = [{"weight": 1, "podAffinityTerm": term}]
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return plain_pod(f"pod-{number:05}", affinity=affinity)


def spread(number: int) -> dict[str, Any]:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "test"}},
    }
    return plain_pod(f"pod-{number:05}", topologySpreadConstraints=[constraint])


def every_other_too_large(number: int) -> dict[str, Any]:
    return plain(number) if number % 2 else too_large(f"pod-{number:05}")


def too_large(name: str) -> dict[str, Any]:
    pod = plain_pod(name)
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1000"
    return pod


def in_gangs(number: int) -> dict[str, Any]:
    pod = plain(number)
    pod["metadata"]["labels"][DEFAULT_GANG_KEYS.label] = f"gang-{number // GANG_SIZE}"
    pod["metadata"]["annotations"] = {DEFAULT_GANG_KEYS.annotation: str(GANG_SIZE)}
    return pod


CASES: Mapping[str, Case] = {
    "plain": Case("plain", 1000, 5000, plain, "≥ 2"),
    "apart": Case("anti-affinity by host", 1000, 1000, apart, "≥ 3"),
    "together": Case("preferred affinity by zone", 1000, 2000, together, "≥ 3"),
    "spread": Case("spread over zones", 1000, 2000, spread, "≥ 3"),
    "churn": Case(
        "half of the pods can't be placed",
        1000,
        4000,
        every_other_too_large,
        "≥ 2",
        lambda number: bool(number % 2),
        True,
    ),
    "large": Case("plain", 5000, 10_000, plain, "≥ 2"),
}


# -- runs


async def run(stage: Stage, case: Case, who: Contestant) -> Run:
    names = [case.pod(number)["metadata"]["name"] for number in range(case.pods) if case.is_placeable(number)]
    pods = (_scheduled_by(case.pod(number), who.name) for number in range(case.pods))
    async with stage.crowd(pods) as crowd, _churned(crowd, who.name if case.is_churned else ""):
        began_s = await who.begin(stage, crowd)
        try:
            ended_s = await crowd.all_bound(names)
            cpu_s = who.cpu_s()
        finally:
            who.end()
    found = Run(len(names) / (ended_s - began_s), 1000 * cpu_s / len(names))
    print(f"{case.words}, {case.nodes} nodes, {type(who).__name__}: {found}", file=sys.stderr, flush=True)
    return found


def _scheduled_by(pod: dict[str, Any], scheduler: str) -> dict[str, Any]:
    pod["spec"]["schedulerName"] = scheduler
    return pod


@asynccontextmanager
async def _churned(crowd: Any, scheduler: str) -> AsyncIterator[None]:
    """Pods that can't be placed come and go meanwhile."""

    async def churn() -> None:
        number = 0
        while True:
            await crowd.add(_scheduled_by(too_large(f"churned-{number:05}"), scheduler))
            if number >= 20:
                await crowd.remove(f"churned-{number - 20:05}")
            number += 1
            await asyncio.sleep(CHURNED_S)

    task = asyncio.create_task(churn()) if scheduler else None
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def best(stage: Stage, case: Case, *contestants: Contestant) -> list[Run]:
    """Of each; they take turns, so that a bad moment of the machine is nobody's."""
    await stage.has_nodes(case.nodes)
    rounds = [[await run(stage, case, who) for who in contestants] for _ in range(RUNS)]
    return [
        Run(max(one.pods_per_s for one in runs), min(one.cpu_s_per_1000 for one in runs))
        for runs in zip(*rounds, strict=True)
    ]


async def rates(stage: Stage, case: Case) -> AsyncIterator[Result]:
    words = f"{case.words}: {case.pods:,} pods on {case.nodes:,} nodes"
    theirs, ours = await best(stage, case, KubeScheduler(), Rota())
    yield Result(words, "pods/s", True, ours.pods_per_s, theirs.pods_per_s, PEER, case.goal)
    yield Result(
        words, "CPU s per 1,000 pods", False, ours.cpu_s_per_1000, theirs.cpu_s_per_1000, PEER, "> 1"
    )


async def plain_rates(stage: Stage) -> AsyncIterator[Result]:
    case = CASES["plain"]
    words = f"plain: {case.pods:,} pods on {case.nodes:,} nodes"
    gangs = case._replace(words="gangs", pod=in_gangs)
    null, theirs, ours = await best(stage, case, NullBinder(case.nodes), KubeScheduler(), Rota())
    [ganged] = await best(stage, gangs, Rota())
    yield Result(words, "pods/s", True, ours.pods_per_s, theirs.pods_per_s, PEER, case.goal)
    yield Result(words, "pods/s", True, ours.pods_per_s, null.pods_per_s, "null binder", "≥ 0.85")
    yield Result(
        words, "CPU s per 1,000 pods", False, ours.cpu_s_per_1000, theirs.cpu_s_per_1000, PEER, "> 1"
    )
    words = f"{case.pods // GANG_SIZE} gangs of {GANG_SIZE} on {case.nodes:,} nodes"
    yield Result(words, "pods/s", True, ganged.pods_per_s, ours.pods_per_s, "our plain pods", "≥ 0.8")


async def steady(stage: Stage) -> AsyncIterator[Result]:
    await stage.has_nodes(1000)
    theirs, ours = [
        [await _latencies_ms(stage, who) for _ in range(RUNS)] for who in (KubeScheduler(), Rota())
    ]
    words = f"{RATE} pods/s for {STEADY_S} s on 1,000 nodes"
    for metric, at in (("ms from created to bound, p99", 98), ("ms from created to bound, median", 49)):
        mine, peer = (min(quantiles(one, n=100)[at] for one in runs) for runs in (ours, theirs))
        yield Result(words, metric, False, mine, peer, PEER, "> 1" if at == 98 else "")


async def _latencies_ms(stage: Stage, who: Contestant) -> list[float]:
    """From when its creation is asked for until it is seen on a node."""
    asked_s: dict[str, float] = {}
    async with stage.crowd(()) as crowd:
        await who.begin(stage, crowd)
        try:
            await crowd.add(_scheduled_by(plain_pod("first"), who.name))
            await crowd.all_bound(["first"])
            async with asyncio.TaskGroup() as adding:
                began_s = time.monotonic()
                for number in range(RATE * STEADY_S):
                    await asyncio.sleep(max(0.0, began_s + number / RATE - time.monotonic()))
                    pod = _scheduled_by(plain(number), who.name)
                    asked_s[pod["metadata"]["name"]] = time.monotonic()
                    adding.create_task(crowd.add(pod))
            await crowd.all_bound(asked_s)
        finally:
            who.end()
        found = [1000 * (crowd.bound_s[name] - at_s) for name, at_s in asked_s.items()]
    print(f"steady, {type(who).__name__}: {quantiles(found, n=100)[98]:.1f} ms", file=sys.stderr, flush=True)
    return found


ORDER = ("plain", "apart", "together", "spread", "churn", "steady", "large")
"""The largest last: nodes stay."""


def measured(stage: Stage, case: str) -> AsyncIterator[Result]:
    match case:
        case "plain":
            return plain_rates(stage)
        case "steady":
            return steady(stage)
        case _:
            return rates(stage, CASES[case])


async def main() -> None:
    """Each case is kept in a file of its own: all of them take a while."""
    wanted = os.environ.get("CASES", "").split() or ORDER
    version = kubernetes_version()
    with ControlPlane() as plane:
        async with Client(plane.cluster.access()) as client:
            stage = Stage(plane, client)
            for case in sorted(wanted, key=ORDER.index):
                start_s = time.perf_counter()
                rows = [row async for row in measured(stage, case)]
                print(f"{case}: {time.perf_counter() - start_s:.0f} s", file=sys.stderr, flush=True)
                report(f"kube-{case}", rows, {"kubernetes": version})


if __name__ == "__main__":
    asyncio.run(main())
