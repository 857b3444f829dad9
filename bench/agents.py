"""Agents and their server: `make bench-agents [CASES="logs many"]`.

- recovery: 100 agents are killed or frozen within a minute, some of them real, with and without their
  keepers: from that moment until what each ran runs elsewhere.
- busy: no agent is lost while the machine has more to do than it can, for DURATION seconds.
- many: 1,000 agents with 10,000 tasks, and what that costs the server; 10,000 agents, and whether it still
  schedules.
- logs: what one agent's task writes, on its way to the server; and how long a job of another agent takes to
  start meanwhile.
- scheduler: killed and started anew, until it places again.

CPU is the server's own, of all its threads. All else is by the clock, and needs a machine with nothing else
to do.
"""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import cycle, product
from statistics import median, quantiles

from msgspec import json

from bench.fleet import Fleet, Start
from bench.harness import Result, report
from bench.rota_agent import AgentsServer, RotaAgent, agents, taking_agents
from bench.rota_scheduler import Controller, RotaScheduler
from bench.rota_server import PATIENCE_S, PROFILE
from bench.short_tasks import CORES
from bench.wire import Wire

GOAL = "goal"
BATCH = 1_000

# -- gone, and what becomes of its work

TRIES = 100
REAL_TRIES = int(os.environ.get("REAL", "12"))
"""So many of them are real agents: each is two processes of Python."""
WITHIN_S = 60.0
LOST_AFTER_S = 60.0


def recovery() -> Iterator[Result]:
    took_s = sorted(recoveries_s())
    case = f"{TRIES} agents killed or frozen, {REAL_TRIES} of them real"
    metric = "s until its work runs elsewhere, p99"
    p99 = took_s[int(0.99 * TRIES) - 1]
    yield Result(case, metric, False, p99, LOST_AFTER_S, GOAL, "≥ 1")
    yield Result(case, metric, False, p99, 240, "Buildkite", "better")
    yield Result(case, metric, False, p99, 600, "GitHub Actions", "better")
    yield Result(case, "s, the longest", False, took_s[-1], LOST_AFTER_S, GOAL, "")
    yield Result(case, "s, the shortest", False, took_s[0], LOST_AFTER_S, GOAL, "")


def recoveries_s() -> list[float]:
    """Each agent runs one job that nothing has room beside; as many others stand idle for when it is gone."""
    with ExitStack() as stack:
        place = stack.enter_context(taking_agents("agents-recovery"))
        victims = stack.enter_context(Fleet(place.target, "victim", TRIES - REAL_TRIES, cpus=1))
        real = stack.enter_context(agents(place, REAL_TRIES, cpus=1))
        _until(lambda: victims.standing().welcome == len(victims.names), "all agents to come")
        place.has(set(victims.names))
        with place.wire() as wire:
            jobs = [job["id"] for job in wire.post("/v1/jobs", {"jobs": [_sleeper()] * TRIES})["jobs"]]
        _until(lambda: _are_running(place, jobs), "all jobs to run")
        homes = _homes(place, jobs)
        spares = stack.enter_context(Fleet(place.target, "spare", TRIES, cpus=1))
        place.has(set(spares.names))
        gone_s = _all_vanish(victims, real)
        found_s: dict[str, float] = {}

        def all_run() -> bool:
            found_s.update((homes[start.job], start.at_s) for start in spares.starts())
            return len(found_s) == TRIES

        _until(all_run, "all work to run elsewhere", 3 * LOST_AFTER_S)
        return [found_s[name] - at_s for name, at_s in gone_s.items()]


def _all_vanish(victims: Fleet, real: Sequence[RotaAgent]) -> dict[str, float]:
    """When each did. At random moments: heartbeats are as old as they happen to be."""
    calls: list[tuple[str, Callable[[], object]]] = []
    for name, is_frozen in zip(victims.names, cycle((False, True)), strict=False):
        calls.append((name, partial(victims.vanish, name, is_frozen=is_frozen)))
    ways = cycle(product((False, True), (False, True)))
    for agent, (is_frozen, with_keeper) in zip(real, ways, strict=False):
        calls.append((agent.name, partial(agent.vanish, is_frozen=is_frozen, with_keeper=with_keeper)))
    chance = random.Random(1)
    chance.shuffle(calls)
    moments_s = sorted(chance.uniform(0, WITHIN_S) for _ in calls)
    began_s = time.monotonic()
    gone_s = {}
    for (name, vanish), after_s in zip(calls, moments_s, strict=True):
        time.sleep(max(0.0, began_s + after_s - time.monotonic()))
        gone_s[name] = time.monotonic()
        vanish()
    return gone_s


def _homes(place: AgentsServer, jobs: Iterable[str]) -> dict[str, str]:
    """On which node each job runs."""
    with place.wire() as wire:
        return {job: wire.get(f"/v1/jobs/{job}")["attempts"][-1]["node"] for job in jobs}


def _are_running(place: AgentsServer, jobs: Sequence[str]) -> bool:
    with place.wire() as wire:
        attempts = (wire.get(f"/v1/jobs/{job}")["attempts"] for job in jobs)
        return all(each and each[-1]["started"] for each in attempts)


# -- busy, and not lost

DURATION_S = float(os.environ.get("DURATION", "600"))
BUSY_AGENTS = 4
LOOPS = 4 * CORES


def busy() -> Iterator[Result]:
    case = f"{DURATION_S:.0f} s at 100 % CPU, {LOOPS} loops on {CORES} cores"
    with taking_agents("agents-busy") as place, agents(place, BUSY_AGENTS, cpus=1) as made:
        with place.wire() as wire:
            jobs = wire.post("/v1/jobs", {"jobs": [_sleeper()] * BUSY_AGENTS})["jobs"]
        _until(lambda: _are_running(place, [job["id"] for job in jobs]), "all jobs to run")
        looks = unready = 0
        with _loops():
            until_s = time.monotonic() + DURATION_S
            while time.monotonic() < until_s:
                looks += 1
                unready += not {agent.name for agent in made} <= place.nodes()
                time.sleep(1)
        with place.wire() as wire:
            lost = len(wire.get("/v1/events?kind=agent.Lost")["items"])
            attempts = sum(len(wire.get(f"/v1/jobs/{job['id']}")["attempts"]) for job in jobs)
    yield Result(case, "agents not lost", True, BUSY_AGENTS - lost, BUSY_AGENTS, GOAL, "≥ 1")
    yield Result(case, "attempts of their jobs", False, attempts, BUSY_AGENTS, GOAL, "≥ 1")
    yield Result(case, "looks at which all were heard of", True, looks - unready, looks, GOAL, "")


@contextmanager
def _loops() -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


# -- many

TASKS = 10_000
STEADY_S = 60.0
STARTS = 40
FLEETS = 2
CROWD_WITHIN_S = 300.0


def many() -> Iterator[Result]:
    for count, cpus, goal in ((1_000, 11, "≥ 1"), (10_000, 2, "")):
        case = f"{count:,} agents, {TASKS:,} tasks"
        cores, joined_s, placed_s, waits_ms, memory_bytes = standing_figures(count, cpus)
        yield Result(case, "cores of the server, at rest", False, cores, 0.5, GOAL, goal)
        yield Result(case, "s until all have come", False, joined_s, 60, "a minute", "")
        yield Result(case, "s until all tasks run", False, placed_s, 60, "a minute", "")
        yield Result(case, "ms from submit to start, median", False, median(waits_ms), 1_000, "a second", "")
        yield Result(case, "ms from submit to start, p95", False, _p95(waits_ms), 1_000, "a second", "")
        yield Result(case, "MiB of the server", False, memory_bytes / (1 << 20), 4_096, "4 GiB", "")


def standing_figures(count: int, cpus: int) -> tuple[float, float, float, list[float], int]:
    """Cores at rest; seconds that they took to come, and their tasks to start; ms that single jobs took to
    start; bytes of memory."""
    with ExitStack() as stack:
        place = stack.enter_context(taking_agents(f"agents-{count}"))
        began_s = time.monotonic()
        fleets = [
            stack.enter_context(Fleet(place.target, f"fleet{number}-", count // FLEETS, cpus=cpus))
            for number in range(FLEETS)
        ]
        _until(lambda: sum(fleet.standing().welcome for fleet in fleets) >= count, "agents", CROWD_WITHIN_S)
        joined_s = time.monotonic() - began_s
        began_s = time.monotonic()
        with place.wire() as wire:
            for _ in range(TASKS // BATCH):
                wire.post("/v1/jobs", {"jobs": [_sleeper()] * BATCH})
        _until(lambda: sum(fleet.standing().tasks for fleet in fleets) >= TASKS, "tasks", CROWD_WITHIN_S)
        placed_s = time.monotonic() - began_s
        time.sleep(10)
        used_s, began_s = place.server.cpu_s(), time.monotonic()
        time.sleep(STEADY_S)
        cores = (place.server.cpu_s() - used_s) / (time.monotonic() - began_s)
        waits_ms = list(_start_waits_ms(place, fleets))
        return cores, joined_s, placed_s, waits_ms, place.server.memory_bytes()


def _start_waits_ms(place: AgentsServer, fleets: Sequence[Fleet]) -> Iterator[float]:
    for fleet in fleets:
        fleet.starts()
    with place.wire() as wire:
        for _ in range(STARTS):
            began_s = time.monotonic()
            wire.post("/v1/jobs", {"jobs": [_sleeper()]})
            starts: list[Start] = []
            while not starts and time.monotonic() < began_s + PATIENCE_S:
                time.sleep(0.002)
                starts = [start for fleet in fleets for start in fleet.starts()]
            yield 1000 * (starts[0].at_s - began_s)
            time.sleep(0.1)


# -- logs

LOG_BYTES = 2 << 30
ALL_OF_IT = "64GiB"
"""Nothing of what tasks write is dropped."""
WRITES = f"yes 'a line of a log, as programs write them, and not a short one' | head -c {LOG_BYTES}"
WRITES_ON = "yes 'and on it goes'"
GOAL_MB_PER_S = 100
JOBS_AFTER_EACH_OTHER = 100
_WRITES_STEADILY = """
import os, time
chunk = b"a line of a log, as programs write them, and not a short one" * 16_000
next_s = time.monotonic()
while True:
    os.write(1, chunk)
    next_s = max(next_s + len(chunk) / {rate}, time.monotonic() - 0.1)
    time.sleep(max(0.0, next_s - time.monotonic()))
"""


def logs() -> Iterator[Result]:
    """Others are timed beside a log as large as the goal says, and beside one that is as large as can be:
    that one takes what there is of this machine, on which all of them run."""
    case = "one agent's log to the server"
    with taking_agents("agents-logs", ALL_OF_IT) as place, agents(place, 1, cpus=1) as (agent,):
        rate, cpu_ms, agent_cpu_ms = _log_rate(place, agent)
    steadily = shlex.join([sys.executable, "-c", _WRITES_STEADILY.format(rate=GOAL_MB_PER_S * 1e6)])
    with taking_agents("agents-logs") as place, agents(place, 2, cpus=1) as (writing, other):
        alone_ms, _ = _waits_beside(place, writing, "sleep 3600", other)
        beside = [_waits_beside(place, writing, does, other) for does in (steadily, WRITES_ON)]
    yield Result(case, "MB/s", True, rate, GOAL_MB_PER_S, GOAL, "≥ 1")
    yield Result(case, "ms of the server's CPU a MB", False, cpu_ms, 10, "100 MB/s of a core", "")
    yield Result(case, "ms of the agent's CPU a MB", False, agent_cpu_ms, 10, "100 MB/s of a core", "")
    for (beside_ms, beside_rate), goal in zip(beside, ("≥ 0.5", ""), strict=True):
        for name, of in (("median", median), ("p95", _p95)):
            metric = f"ms from submit to start on another agent, {name}, at {beside_rate:.0f} MB/s"
            yield Result(case, metric, False, of(beside_ms), of(alone_ms), "without the log", goal)


def _log_rate(place: AgentsServer, agent: RotaAgent) -> tuple[float, float, float]:
    """MB/s until all is kept and the job has ended; the server's and the agent's CPU a MB, in ms."""
    used_s, agent_used_s = place.server.cpu_s(), agent.cpu_s()
    with place.wire() as wire:
        began_s = time.monotonic()
        before = wire.get("/v1/stats")["finished"]
        wire.post("/v1/jobs", {"jobs": [_shell(WRITES, agent)]})
        while wire.get("/v1/stats")["finished"] == before:
            time.sleep(0.1)
    size_mb = LOG_BYTES / 1e6
    rate = size_mb / (time.monotonic() - began_s)
    used_s, agent_used_s = place.server.cpu_s() - used_s, agent.cpu_s() - agent_used_s
    return rate, 1000 * used_s / size_mb, 1000 * agent_used_s / size_mb


def _waits_beside(
    place: AgentsServer, busy: RotaAgent, does: str, other: RotaAgent
) -> tuple[list[float], float]:
    """From the request until the process on the other agent has done its first thing; and the rate at which
    the busy one's log came meanwhile, in MB/s."""
    waits_ms = []
    pipe_path = place.server.folder / "started"
    os.mkfifo(pipe_path)
    # For writing too: it stays open when a job closes its end.
    pipe = os.open(pipe_path, os.O_RDWR)
    body = json.encode({"jobs": [_shell(f"echo > {pipe_path}", other)]})
    with place.wire() as wire:
        [beside] = wire.post("/v1/jobs", {"jobs": [_shell(does, busy)]})["jobs"]
        _until(lambda: _are_running(place, [beside["id"]]), "the other job to run")
        time.sleep(2)
        # Not by how far it is: what the agent had no room for never comes.
        began_s, before_bytes = time.monotonic(), place.server.written_bytes()
        for _ in range(JOBS_AFTER_EACH_OTHER):
            began = time.perf_counter()
            wire.call("POST", "/v1/jobs", body)
            os.read(pipe, 1)
            waits_ms.append(1000 * (time.perf_counter() - began))
            time.sleep(0.1)
        came_bytes = place.server.written_bytes() - before_bytes
        rate = came_bytes / 1e6 / (time.monotonic() - began_s)
        _cancel(wire, beside["id"])
    os.close(pipe)
    pipe_path.unlink()
    return waits_ms, rate


def _cancel(wire: Wire, job: str) -> None:
    wire.post(f"/v1/jobs/{job}/cancel", {})
    _until(lambda: wire.get(f"/v1/jobs/{job}")["job"]["phase"] == "cancelled", "the other job to end")


# -- a scheduler that keeps nothing

WAITING = 10_000
DIALLING = 1_000
LAST_S = 60.0
RESTARTS = 3


def scheduler() -> Iterator[Result]:
    case = f"the scheduler killed and started anew, {DIALLING:,} agents, {WAITING:,} actions waiting"
    again_s, all_back_s = [], []
    with ExitStack() as stack:
        place = stack.enter_context(RotaScheduler("agents-scheduler"))
        fleet = stack.enter_context(Fleet(place.target, "dialling", DIALLING, cpus=1, tasks_last_s=LAST_S))
        _until(lambda: fleet.standing().welcome == DIALLING, "all agents to come")
        # Enough of them for as many to end as will while this lasts.
        actions = DIALLING + WAITING + int(RESTARTS * 2 * DIALLING)
        stack.enter_context(Controller(place.controllers, actions))
        _until(lambda: fleet.standing().tasks == DIALLING, "all agents to be at work")
        for _ in range(RESTARTS):
            place.kill()
            fleet.starts(), fleet.welcomes_s()
            place.start()
            _until(lambda: fleet.standing().welcome == DIALLING, "all agents to come back")
            welcomes_s = fleet.welcomes_s()
            starts: list[Start] = []
            while not starts:
                time.sleep(0.05)
                starts += fleet.starts()
            again_s.append(min(start.at_s for start in starts) - min(welcomes_s))
            all_back_s.append(max(welcomes_s) - min(welcomes_s))
            time.sleep(LAST_S / 6)
    metric = "s from the first reconnection until it places again"
    yield Result(case, f"{metric}, the longest of {RESTARTS}", False, max(again_s), 5, GOAL, "≥ 1")
    yield Result(case, "s until all agents are back", False, max(all_back_s), 5, GOAL, "")


# -- all of it


def _sleeper() -> dict[str, object]:
    return {"command": ["sleep", "36000"], "resources": {"cpu": 1, "memory": 0}}


def _shell(text: str, agent: RotaAgent) -> dict[str, object]:
    return {
        "command": ["/bin/sh", "-c", text],
        "resources": {"cpu": 1, "memory": 0},
        "node_selector": {"host": agent.name},
    }


def _until(is_so: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
    until_s = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > until_s:
            raise SystemExit(f"waited {patience_s:.0f} s in vain for {what}")
        time.sleep(0.2)


def _p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20)[-1]


CASES: dict[str, Callable[[], Iterator[Result]]] = {
    "recovery": recovery,
    "busy": busy,
    "many": many,
    "logs": logs,
    "scheduler": scheduler,
}


def main() -> None:
    """Each case is kept in a file of its own: all of them take a while."""
    for case in os.environ.get("CASES", "").split() or list(CASES):
        start = time.perf_counter()
        rows = list(CASES[case]())
        print(f"{case}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        if PROFILE:
            print(f"profiles are in {PROFILE}; what was measured meanwhile isn't kept", file=sys.stderr)
        else:
            report(f"agents-{case}", rows, {})


if __name__ == "__main__":
    main()
