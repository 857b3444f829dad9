"""The server, asked over REST from other processes: `make bench-server [CASES="array submit"]`.

- array: 5,000 × /bin/true as one array, from the request until the last has ended and that is kept; beside
  HyperQueue, a bare posix_spawn loop and Slurm.
- submit: durable submission, in batches of 1,000 and one by one from 8 clients; the jobs are held.
- latency: from the request until the process of an idle server's job has done its first thing.
- crowd: 100,000 jobs wait; how long questions take, and a restart; the same with 1,000,000 that are over.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from msgspec import json

from bench.finished import FINISHED, finished_database
from bench.harness import Result, report
from bench.rota_server import PROFILE, RotaServer, running
from bench.short_tasks import CORES, HYPERQUEUE, bare_rate, hyperqueue_rate
from bench.slurm import slurm_rate
from bench.wire import Wire

REPEATS = int(os.environ.get("REPEATS", "3"))
"""Of what takes seconds; the best counts, since others on the machine only ever make it slower."""
GOAL = "goal"

# -- an array of short tasks

TASKS = 5_000
SLURM_JOBS = 300


def array() -> Iterator[Result]:
    case = f"{TASKS:,} × /bin/true, {CORES} at a time"
    ours, cpu_ms = 0.0, 0.0
    bare, hyperqueue = 0.0, 0.0
    for _ in range(REPEATS):
        rate, used_ms = array_rate()
        if rate > ours:
            ours, cpu_ms = rate, used_ms
        bare = max(bare, bare_rate(TASKS))
        hyperqueue = max(hyperqueue, hyperqueue_rate(TASKS))
    metric = "tasks/s"
    yield Result(case, metric, True, ours, hyperqueue, f"HyperQueue {HYPERQUEUE}", "≥ 1")
    yield Result(case, metric, True, ours, bare, "bare posix_spawn", "≥ 0.7")
    yield Result(case, "ms of the server's CPU a task", False, cpu_ms, 1000 * CORES / bare, "a bare task", "")
    slurm = slurm_rate(SLURM_JOBS)
    if slurm is None:
        print("Slurm is missing, and can't be installed: left out", file=sys.stderr)
    else:
        yield Result(case, metric, True, ours, slurm, f"Slurm, {SLURM_JOBS} of them", "better")


def array_rate() -> tuple[float, float]:
    """Tasks a second, and the server's own CPU a task."""
    with running("array") as server, server.wire() as wire:
        used_s = server.cpu_s()
        start = time.perf_counter()
        wire.post("/v1/jobs", {"jobs": [_job("/bin/true") | {"array": f"0-{TASKS - 1}"}]})
        while wire.get("/v1/stats")["finished"] < TASKS:
            # Not often: answering is work that is taken from the tasks.
            time.sleep(0.1)
        seconds = time.perf_counter() - start
        cpu_ms = 1000 * (server.cpu_s() - used_s) / TASKS
        failed = wire.get("/v1/jobs?phase=failed,cancelled,timed-out&limit=1")["items"]
        if failed:
            raise SystemExit(f"a task failed: {failed[0]}")
    return TASKS / seconds, cpu_ms


def _job(*command: str) -> dict[str, Any]:
    return {"command": list(command), "resources": {"cpu": 1, "memory": 0}}


# -- submission

BATCHES = 20
BATCH = 1_000
CLIENTS = 8
EACH = 250


def submit() -> Iterator[Result]:
    batched, single = 0.0, 0.0
    for _ in range(REPEATS):
        with running("submit-batches") as server:
            batched = max(batched, batch_rate(server))
        with running("submit-one-by-one") as server:
            single = max(single, single_rate(server))
    yield Result(f"submit, {BATCH:,} a request", "jobs/s, kept", True, batched, 5_000, GOAL, "≥ 1")
    yield Result(f"submit one by one, {CLIENTS} clients", "jobs/s, kept", True, single, 500, GOAL, "≥ 1")


def batch_rate(server: RotaServer) -> float:
    body = json.encode({"jobs": [_job("./step", str(number)) | {"hold": True} for number in range(BATCH)]})
    with server.wire() as wire:
        wire.call("POST", "/v1/jobs", body)
        start = time.perf_counter()
        for _ in range(BATCHES):
            wire.call("POST", "/v1/jobs", body)
        return BATCHES * BATCH / (time.perf_counter() - start)


def single_rate(server: RotaServer) -> float:
    context = get_context("spawn")
    ready = context.Barrier(CLIENTS + 1, timeout=120)
    clients = [
        context.Process(target=submit_each, args=(server.port, server.token, ready)) for _ in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    ready.wait()
    start = time.perf_counter()
    ready.wait()
    seconds = time.perf_counter() - start
    for client in clients:
        client.join()
    return CLIENTS * EACH / seconds


def submit_each(port: int, token: str, ready: Barrier) -> None:
    body = json.encode({"jobs": [_job("./step") | {"hold": True}]})
    with Wire(port, token) as wire:
        wire.call("POST", "/v1/jobs", body)
        ready.wait()
        for _ in range(EACH):
            wire.call("POST", "/v1/jobs", body)
        ready.wait()


# -- from submit to start

JOBS_AFTER_EACH_OTHER = 200


def latency() -> Iterator[Result]:
    """The job opens a named pipe and writes to it: what is measured includes the start of a shell."""
    case = "one job on an idle server"
    waits_ms = start_waits_ms(JOBS_AFTER_EACH_OTHER)
    yield Result(case, "ms from submit to start, median", False, median(waits_ms), 25, GOAL, "≥ 1")
    yield Result(case, "ms from submit to start, p95", False, _p95(waits_ms), 25, GOAL, "")


def start_waits_ms(count: int) -> list[float]:
    waits_ms = []
    with running("latency") as server, server.wire() as wire:
        pipe_path = server.folder / "started"
        os.mkfifo(pipe_path)
        # For writing too: it stays open when a job closes its end.
        pipe = os.open(pipe_path, os.O_RDWR)
        body = json.encode({"jobs": [_job("/bin/sh", "-c", f"echo > {pipe_path}")]})
        try:
            for _ in range(count):
                start = time.perf_counter()
                wire.call("POST", "/v1/jobs", body)
                os.read(pipe, 1)
                waits_ms.append(1000 * (time.perf_counter() - start))
                time.sleep(0.1)
        finally:
            os.close(pipe)
    return waits_ms


def _p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20)[-1]


# -- a crowd

WAITING = 100_000
SHAPES = 50
CALLS = 50
QUESTIONS = ("ls", "show", "why", "eta")


def crowd() -> Iterator[Result]:
    case = f"{WAITING:,} waiting"
    few_p95, few_ready_s = crowd_figures("crowd", None)
    many_p95, many_ready_s = crowd_figures("crowd-with-history", finished_database())
    for question in QUESTIONS:
        yield Result(case, f"{question}, ms, p95", False, few_p95[question], 200, GOAL, "≥ 1")
    yield Result(case, "restart until ready, s", False, few_ready_s, 5, GOAL, "≥ 1")
    case = f"{WAITING:,} waiting, {FINISHED:,} over"
    for question in QUESTIONS:
        ours, peer = many_p95[question], few_p95[question]
        yield Result(case, f"{question}, ms, p95", False, ours, peer, "none over", "≥ 0.83")
    yield Result(case, "restart until ready, s", False, many_ready_s, few_ready_s, "none over", "≥ 0.83")


def crowd_figures(name: str, database: Path | None) -> tuple[dict[str, float], float]:
    """By question the 95th percentile in ms; and the seconds that a restart takes."""
    with running(name, database) as server:
        with server.wire() as wire:
            sleepers = [_job("sleep", "3600") | {"time_limit": "2h"} for _ in range(CORES)]
            wire.post("/v1/jobs", {"jobs": sleepers})
            ids = list(_fill(wire))
        _rest(server)
        with server.wire() as wire:
            p95 = {question: _p95(_calls_ms(wire, question, ids)) for question in QUESTIONS}
        server.stop()
        ready_s = server.start()
    return p95, ready_s


def _fill(wire: Wire) -> Iterator[str]:
    """They ask for all cores, so none finds room beside those that sleep."""
    jobs = [
        {
            "command": ["./step", str(shape)],
            "name": f"step{shape}",
            "user": f"user{shape % 10}",
            "resources": {"cpu": CORES, "memory": f"{64 + shape}Mi"},
            "time_limit": f"{10 + shape}m",
        }
        for shape in range(SHAPES)
    ]
    body = {"jobs": jobs * (BATCH // SHAPES)}
    for _ in range(WAITING // BATCH):
        yield from (job["id"] for job in wire.post("/v1/jobs", body)["jobs"])


def _rest(server: RotaServer) -> None:
    """Until the server has done all that follows from what came in."""
    quiet, used_s = 0, server.cpu_s()
    for _ in range(60):
        time.sleep(1)
        before, used_s = used_s, server.cpu_s()
        quiet = quiet + 1 if used_s - before < 0.2 else 0
        if quiet == 3:
            return


def _calls_ms(wire: Wire, question: str, ids: Sequence[str]) -> list[float]:
    taken_ms = []
    for number in range(CALLS):
        job = ids[number * len(ids) // CALLS]
        path = "/v1/jobs" if question == "ls" else f"/v1/jobs/{job}/{question}".removesuffix("/show")
        start = time.perf_counter()
        wire.call("GET", path)
        taken_ms.append(1000 * (time.perf_counter() - start))
    return taken_ms


# -- all of it

CASES: dict[str, Callable[[], Iterator[Result]]] = {
    "array": array,
    "submit": submit,
    "latency": latency,
    "crowd": crowd,
}


def main() -> None:
    wanted = os.environ.get("CASES", "").split() or list(CASES)
    rows: list[Result] = []
    for case in wanted:
        start = time.perf_counter()
        rows += CASES[case]()
        print(f"{case}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    if PROFILE:
        print(f"profiles are in {PROFILE}; what was measured meanwhile isn't kept", file=sys.stderr)
    else:
        # Some cases are no reason to forget the others.
        report("server" if wanted == list(CASES) else f"server-{'-'.join(wanted)}", rows, {})


if __name__ == "__main__":
    main()
