"""Schedules over time, replayed by the simulator: `make bench-sim [CASES="swf kueue"]`.

- knavigator, kueue: makespans beside the ideal and the lower bounds that come with the traces.
- swf: conservative backfill with learnt run times beside EASY and FIFO with the users' limits, at the load
  of the trace and compressed; with a tenth of the jobs interactive, how many promises were kept.
- estimates: the starts that users are told, online, on the trace and on two with careless limits, beside
  what the users' limits alone would have told.
- speed: 100,000 jobs on 1,000 nodes, and where the time goes.
"""

from __future__ import annotations

import cProfile
import json
import os
import pstats
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from bench.harness import Result, report
from rota.engine.plugin import Plugins
from rota.forecast.estimator import Estimator
from rota.forecast.planned import Planner
from rota.intake.traces.files import TraceOptions, read_workload
from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.node import Node, NodeSpec
from rota.model.policy import (
    Backfill,
    Durations,
    FairShare,
    Policy,
    Preemption,
    QueuePolicy,
    QueueStrategy,
    Reclaim,
    SchedulerPolicy,
)
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.model.workload import SimJob, Workload
from rota.plugins import FILTERS, SCORES
from rota.simulate.metrics import Metrics, metrics_of
from rota.simulate.result import JobResult, SimResult
from rota.simulate.run import simulate
from rota.simulate.workloads import Carelessness, at_load, with_careless_limits, with_interactive

R = TypeVar("R")


class Map(Protocol):
    """Calls a function with each of the arguments, on all cores."""

    def __call__(self, function: Callable[..., R], arguments: Sequence[tuple[object, ...]]) -> list[R]: ...


TRACES = Path(os.environ.get("TRACES", Path(__file__).parents[2] / "shared" / "traces"))
PLUGINS = Plugins(FILTERS, SCORES)
SEED = 1
LOADS = (0.0, 1.0, 1.1)
"""Of the SWF trace; 0: as it is."""

LIVE = QueuePolicy("interactive", QueueStrategy.FIFO, interactive=True, order=-1)
FIFO = QueuePolicy(strategy=QueueStrategy.FIFO, strict=True, backfill=Backfill.NONE)
EASY = QueuePolicy(strategy=QueueStrategy.FIFO, backfill=Backfill.EASY)
OURS = QueuePolicy(strategy=QueueStrategy.SMALLEST, durations=Durations.LEARNT)
"""Conservative backfill with learnt run times, the least work first."""
QUEUES = {"conservative, learnt": OURS, "easy": EASY, "fifo": FIFO}


def policy(queue: QueuePolicy, fair_share: FairShare | None = None) -> Policy:
    """Nobody is evicted: what was begun is not thrown away."""
    scheduler = SchedulerPolicy(queues=(queue, LIVE), preemption=Preemption(enabled=False))
    quotas = replace(fair_share, reclaim=Reclaim.NEVER) if fair_share else FairShare()
    return Policy((scheduler,), quotas)


def replayed(
    workload: Workload, queue: QueuePolicy, estimator: Estimator | None, every_ms: int = 0
) -> SimResult:
    name = next((name for name, one in QUEUES.items() if one is queue), "")
    return simulate(
        workload,
        ClusterRecords(nodes=workload.nodes),
        policy(queue, workload.fair_share),
        PLUGINS,
        name=name,
        seed=SEED,
        every_ms=every_ms,
        estimator=estimator,
    )


# -- makespans


def makespan_s(path: str, which: str | None = None) -> float:
    workload = read_workload(TRACES / path, options=TraceOptions(workload=which))
    result = replayed(workload, QueuePolicy(backfill=Backfill.NONE), None)
    assert all(job.end_ms is not None for job in result.jobs), "a job never ran"
    return max(job.end_ms or 0 for job in result.jobs) / 1000


def makespans(map_: Map) -> Iterator[Result]:
    bounds = json.loads((TRACES / "kueue-baseline" / "bounds.json").read_text())["configs"]
    lower = {"knavigator gang": 1080.0}
    files = {"knavigator gang": ("knavigator-gang/gang.json", None)}
    for config in ("baseline", "large-scale", "tas"):
        files[f"kueue {config}"] = (f"kueue-baseline/{config}-generator.yaml", None)
        lower[f"kueue {config}"] = bounds[config]["bound"]["makespan_lower_bound_with_release_times_s"]
    found = map_(makespan_s, [(path, which) for path, which in files.values()])
    for case, seconds in zip(files, found, strict=True):
        most = "≤ 1.05 ×" if case.startswith("kna") else "≤ 1.1 ×"
        yield Result(case, "makespan, s", False, seconds, lower[case], "lower bound", most)


# -- waits


def swf(load: float, interactive: float = 0.0, limits: Carelessness | None = None) -> Workload:
    options = TraceOptions(tasks="whole", processors_per_node=256)
    workload = read_workload(TRACES / "swf" / "rota_synth_256.swf.gz", options=options)
    if limits is not None:
        workload = with_careless_limits(workload, SEED, limits)
    if load:
        workload = at_load(workload, load)
    return with_interactive(workload, interactive, SEED) if interactive else workload


def waits_of(load: float, queue: str, interactive: float) -> Metrics:
    # Waits don't depend on what users are told: nobody is told anything.
    return metrics_of(replayed(swf(load, interactive), QUEUES[queue], Estimator(None)))


def waits(map_: Map) -> Iterator[Result]:
    ours = "conservative, learnt"
    wanted = [(load, queue, 0.0) for load in LOADS for queue in QUEUES]
    wanted += [(load, ours, 0.1) for load in LOADS]
    found = dict(zip(wanted, map_(waits_of, wanted), strict=True))
    for load in LOADS:
        case = f"swf, load {load or 'as it is'}"
        for peer in ("easy", "fifo"):
            for metric, scale in (("mean_wait_ms", 1000), ("mean_bounded_slowdown", 1)):
                words = "mean wait, s" if scale == 1000 else "mean bounded slowdown"
                mine, theirs = (getattr(found[load, queue, 0.0], metric) / scale for queue in (ours, peer))
                yield Result(case, words, False, mine, theirs, peer, "better")
        mixed = found[load, ours, 0.1]
        kept = 100 * (mixed.promises_kept or 0) / max(1, mixed.promises_given)
        words = f"promises kept, % of {mixed.promises_given}"
        yield Result(f"{case}, a tenth interactive", words, True, kept, 100, "all", "all")


# -- estimates


class Told(NamedTuple):
    """How true it was what batch jobs were told when they came in. Interactive ones have a promise."""

    held: float
    """Of the bounds."""
    worst_held: float
    """Of the bounds, in the class of size and queue where fewest did."""
    within_10_min: float
    within_1_min: float
    by_limits_within_10_min: float
    by_limits_within_1_min: float


SIZES = (1, 4, 16, 64)
"""Processors; the largest jobs have more."""


LOOKED_AT = 200
"""Waiting jobs of each queue that are planned for, as the server does; those behind them are told by what
came of others like them."""


def told(load: float, limits: Carelessness | None) -> Told:
    result = replayed(swf(load, 0.1, limits), OURS, Estimator(Planner(PLUGINS, LOOKED_AT)))
    jobs = [job for job in result.jobs if job.estimates and job.start_ms and job.promised_ms is None]
    classes: dict[tuple[str, int], list[JobResult]] = {}
    for job in jobs:
        classes.setdefault((job.queue, bisect_left(SIZES, job.cpu_milli // 1000)), []).append(job)
    waited = [job for job in jobs if _start_ms(job) - job.arrival_ms > 60_000]
    found = Told(
        held=_share(jobs, _is_held),
        worst_held=min(_share(some, _is_held) for some in classes.values()),
        within_10_min=_share(waited, lambda job: _error_ms(job, job.estimates[0].expected_ms) <= 600_000),
        within_1_min=_share(waited, lambda job: _error_ms(job, job.estimates[0].expected_ms) <= 60_000),
        by_limits_within_10_min=_share(
            waited, lambda job: _error_ms(job, job.estimates[0].latest_ms) <= 600_000
        ),
        by_limits_within_1_min=_share(
            waited, lambda job: _error_ms(job, job.estimates[0].latest_ms) <= 60_000
        ),
    )
    print(f"estimates with {limits or 'the trace'}'s limits: {found}", file=sys.stderr, flush=True)
    return found


def _start_ms(job: JobResult) -> int:
    assert job.start_ms is not None
    return job.start_ms


def _is_held(job: JobResult) -> bool:
    return _start_ms(job) <= job.estimates[0].bound_ms


def _error_ms(job: JobResult, told_ms: int | None) -> float:
    return float("inf") if told_ms is None else abs(_start_ms(job) - told_ms)


def _share(jobs: Sequence[JobResult], has: Callable[[JobResult], bool]) -> float:
    """Percent."""
    return 100 * sum(map(has, jobs)) / max(1, len(jobs))


def estimates(map_: Map) -> Iterator[Result]:
    cases: dict[str, tuple[float, Carelessness | None]] = {
        "swf": (0.0, None),
        "swf, rounded limits": (0.0, Carelessness.ROUND),
        "swf, habitual limits": (0.0, Carelessness.HABIT),
    }
    for case, found in zip(cases, map_(told, list(cases.values())), strict=True):
        held = "90 % bound held, %"
        yield Result(case, held, True, found.held, 90, "nominal", "88 to 92")
        yield Result(case, f"{held}, worst class", True, found.worst_held, 85, "goal", "≥ 85")
        near, by_limits = found.within_10_min, found.by_limits_within_10_min
        yield Result(case, "start within ± 10 min, %", True, near, 85, "goal", "≥ 85")
        yield Result(case, "start within ± 10 min, %", True, near, by_limits, "limits alone", "better")
        near, by_limits = found.within_1_min, found.by_limits_within_1_min
        yield Result(case, "start within ± 1 min, %", True, near, by_limits, "limits alone", "≥ 3.8 ×")


# -- speed


def large_workload(jobs: int, nodes: int) -> Workload:
    """A busy cluster: jobs of 1 to 64 CPUs for minutes to hours, as many as keep nine tenths of it."""
    chance = Random(SEED)
    machine = NodeSpec(Resources(cpu_milli=64_000, memory_bytes=256 << 30))
    shapes = [
        JobTemplate(
            groups=(
                TaskGroup(
                    TaskSpec(requests=Resources(cpu_milli=1000 * cpus, memory_bytes=cpus << 31)), tasks
                ),
            ),
            user=f"user{user}",
            time_limit_ms=hours * 3_600_000,
        )
        for user in range(10)
        for cpus, tasks in ((1, 1), (4, 1), (16, 1), (64, 1), (16, 4), (64, 8))
        for hours in (1, 4, 12)
    ]
    drawn = [chance.choice(shapes) for _ in range(jobs)]
    runs = [round((one.time_limit_ms or 0) * min(1.0, chance.lognormvariate(-1.5, 0.8))) for one in drawn]
    cpus = [sum(group.count * group.spec.requests.cpu_milli for group in one.groups) for one in drawn]
    work = sum(run * amount for run, amount in zip(runs, cpus, strict=True))
    gap_ms = work / (0.9 * nodes * 64_000) / jobs
    arrival = 0.0
    listed = []
    for number, (template, run_ms) in enumerate(zip(drawn, runs, strict=True)):
        arrival += chance.expovariate(1 / gap_ms)
        job = Job(JobId(f"j{number}"), template, submitted_ms=int(arrival))
        listed.append(SimJob(job, int(arrival), max(1000, run_ms)))
    return Workload("large", tuple(listed), tuple(Node(NodeName(f"n{n:04}"), machine) for n in range(nodes)))


def large(jobs: int, nodes: int, with_profile: bool) -> tuple[float, int, list[tuple[str, float]]]:
    """CPU time (one thread, on a shared machine), cycles, and the share of the time that parts take."""
    workload = large_workload(jobs, nodes)
    profile = cProfile.Profile()
    start_s = time.process_time()
    if with_profile:
        profile.enable()
    result = replayed(workload, QueuePolicy(depth=20), None, every_ms=10_000)
    profile.disable()
    seconds = time.process_time() - start_s
    return seconds, result.cycles, _parts(profile) if with_profile else []


PARTS = {
    "decide": "decide.py:decide",
    "of that placing and refusing": "decide.py:_place_run",
    "of that planning ahead": "decide.py:_plan_ahead",
    "snapshot": "virtual.py:snapshot",
    "carrying out plans": "virtual.py:carry_out",
}


def _parts(profile: cProfile.Profile) -> list[tuple[str, float]]:
    stats = pstats.Stats(profile)
    total = stats.total_tt  # type: ignore[attr-defined]
    spent: dict[str, float] = {}
    for (file, _, function), (_, _, _, cumulative, _) in stats.stats.items():  # type: ignore[attr-defined]
        spent[f"{Path(file).name}:{function}"] = cumulative
    return [(part, spent.get(place, 0.0) / total) for part, place in PARTS.items()]


def speed(map_: Map) -> Iterator[Result]:
    (seconds, cycles, _), (_, _, parts) = map_(large, [(100_000, 1000, False), (5_000, 1000, True)])
    case = f"100,000 jobs on 1,000 nodes, {cycles:,} cycles"
    yield Result(case, "minutes of CPU", False, seconds / 60, 60, "an hour", "minutes")
    for part, share in parts:
        yield Result(
            "5,000 jobs on 1,000 nodes, profiled", f"time in {part}, %", False, 100 * share, 100, "all", ""
        )


# -- all of it

CASES: dict[str, Callable[[Map], Iterator[Result]]] = {
    "makespans": makespans,
    "waits": waits,
    "estimates": estimates,
    "speed": speed,
}


class SideBySide:
    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    def __call__(self, function: Callable[..., R], arguments: Sequence[tuple[object, ...]]) -> list[R]:
        return list(self._pool.map(function, *zip(*arguments, strict=True)))


def main() -> None:
    """Each case is kept in a file of its own: all of them take a while."""
    wanted = os.environ.get("CASES", "").split() or list(CASES)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for case in wanted:
            start = time.perf_counter()
            rows = list(CASES[case](SideBySide(pool)))
            print(f"{case}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
            report(f"sim-{case}", rows, {"seed": str(SEED)})


if __name__ == "__main__":
    main()
