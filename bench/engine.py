"""`make bench-engine`: the engine, with all built-in plugins on, beside a bare scan of the nodes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np

from bench import workloads
from bench.bare_scan import BareScan
from bench.harness import Result, report, seconds
from rota.engine import decide
from rota.engine.order import BY_PRIORITY, Cursor, Merged
from rota.engine.plugin import Plugins
from rota.model.job import Job, JobRecord
from rota.model.node import Node
from rota.model.plan import Plan
from rota.model.policy import Policy, Promotion
from rota.plugins import FILTERS, SCORES
from rota.snapshot import ClusterState, Snapshot
from rota.snapshot.waiting import LaneKey, WaitingJobs

BARE = "bare scan"
NOW_MS = 3_600_000
NODES = 5000


def plan(snapshot: Snapshot) -> Plan:
    return decide(snapshot, Policy(), NOW_MS, Plugins(FILTERS, SCORES))


def rate(cluster: list[Node], jobs: list[Job], tasks: int) -> float:
    snapshot = workloads.state_with(cluster, jobs).snapshot()
    placed = len(plan(snapshot).bindings)
    if placed != tasks:
        raise SystemExit(f"{placed} of {tasks} tasks placed: the benchmark isn't what it says")
    return tasks / seconds(lambda: plan(snapshot))


def bare_rate(cluster: list[Node], requests: list[tuple[int, int]]) -> float:
    cpu = np.array([node.spec.capacity.cpu_milli for node in cluster], dtype=np.int64)
    memory = np.array([node.spec.capacity.memory_bytes for node in cluster], dtype=np.int64)
    sample = requests[:10_000]
    return len(sample) / seconds(lambda: BareScan(cpu, memory).place(sample))


def placing() -> list[Result]:
    cluster = workloads.nodes(NODES)
    cases: list[tuple[str, list[Job], int, str]] = [
        ("50,000 equal jobs", workloads.equal_jobs(50_000), 50_000, "≥ 10"),
        ("one job of 50,000 tasks", workloads.one_wide_job(50_000), 50_000, "≥ 10"),
        ("50,000 jobs of 200 shapes", workloads.mixed_jobs(50_000), 50_000, "≥ 1"),
        ("5,000 apart by host", workloads.apart_by_host(5000), 5000, "≥ 0.5"),
        ("5,000 near by zone", workloads.near_by_zone(5000), 5000, "≥ 0.5"),
        ("5,000 spread by zone", workloads.spread_by_zone(5000), 5000, "≥ 0.5"),
    ]
    results = []
    for name, jobs, tasks, goal in cases:
        bare = bare_rate(cluster, workloads.requests_of(jobs))
        ours = rate(cluster, jobs, tasks)
        results.append(Result(name, f"tasks/s at {NODES:,} nodes", True, ours, bare, BARE, goal))
    return results


def growth() -> list[Result]:
    """Time per task at 10,000 nodes against 1,000."""
    jobs = workloads.mixed_jobs(10_000)
    small, large = workloads.nodes(1000), workloads.nodes(10_000)
    ours = rate(small, jobs, len(jobs)) / rate(large, jobs, len(jobs))
    requests = workloads.requests_of(jobs)
    bare = bare_rate(small, requests) / bare_rate(large, requests)
    return [Result("1,000 → 10,000 nodes", "time per task grows ×", False, ours, bare, BARE, "ours ≤ 4")]


def queue_cost(count: int) -> tuple[float, float]:
    """Seconds to enqueue a job, and to find the next one and take it out, while `count` wait."""
    records = [JobRecord(job) for job in workloads.mixed_jobs(count + 5000)]
    waiting = WaitingJobs()
    for record in records[:count]:
        waiting.add(record)

    def enqueue() -> None:
        for record in records[count:]:
            waiting.add(record)

    def dequeue() -> None:
        taken: list[tuple[Job, LaneKey]] = []
        while len(taken) < 5000 and (stretch := order.next()) is not None:
            taken.append((stretch.head, stretch.cursor.lane.key))
            order.served(stretch, 1)
        for job, key in taken:
            waiting.discard(job, key)

    added = seconds(enqueue, repeats=1)
    cursors = [Cursor(lane, *lane.view(), NOW_MS, Promotion(), BY_PRIORITY) for lane in waiting.lanes()]
    order = Merged(cursors)
    return added / 5000, seconds(dequeue, repeats=1) / 5000


def queue() -> list[Result]:
    few = min(queue_cost(10_000) for _ in range(3))
    many = min(queue_cost(1_000_000) for _ in range(2))
    return [
        Result(f"{what} with 1,000,000 waiting", "µs", False, ours * 1e6, peer * 1e6, "with 10,000", "≥ 0.5")
        for what, ours, peer in zip(("enqueue", "dequeue"), many, few, strict=True)
    ]


def memory() -> list[Result]:
    """Peak memory of a process that holds 10,000 nodes and 1,000,000 waiting jobs and plans."""
    script = (
        "import resource; from bench.engine import crowd, plan;"
        "snapshot = crowd().snapshot(); plan(snapshot);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    used = int(done.stdout) / workloads.GIB
    case = "10,000 nodes, 1,000,000 jobs"
    return [Result(case, "GiB at the peak, one plan made", False, used, 3.0, "the limit", "≥ 1")]


def crowd() -> ClusterState:
    return workloads.state_with(workloads.nodes(10_000), workloads.mixed_jobs(1_000_000))


def gang() -> list[Result]:
    cluster = workloads.plain_nodes(NODES)
    empty = workloads.state_with(cluster, workloads.jobs_of(workloads.GANG, 1)).snapshot()
    full = workloads.full_cluster(cluster, 50_000).snapshot()
    victims = len(plan(full).evictions)
    if len(plan(full).bindings) != 512:
        raise SystemExit("the gang wasn't placed: the benchmark isn't what it says")
    on_empty, by_preemption = seconds(lambda: plan(empty)), seconds(lambda: plan(full))
    case = f"gang of 512 evicts {victims} of 50,000"
    metric = "one cycle, × the time on an empty cluster"
    return [Result(case, metric, False, by_preemption / on_empty, 50.0, "the limit", "≥ 1")]


PARTS: dict[str, Callable[[], list[Result]]] = {
    "placing": placing,
    "growth": growth,
    "queue": queue,
    "memory": memory,
    "gang": gang,
}


def main() -> None:
    results: list[Result] = []
    for name, part in PARTS.items():
        print(f"{name} …", file=sys.stderr, flush=True)
        results += part()
    report("engine", results, {})


if __name__ == "__main__":
    main()
