"""Jobs that don't start in the time that their queue or scheduler gives them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rota.control.draft import Draft
from rota.lifecycle.state import Phase
from rota.loop.live.runtime import Runtime
from rota.model.causes import Cause
from rota.model.policy import Policy, QueuePolicy, SchedulerPolicy
from rota.model.run import Dependency
from rota.store.store import open_store
from tests.kit.live import no_files, now_ms, spec, submit, until
from tests.obedient import ObedientBackend, node

pytestmark = [pytest.mark.virtual_time, pytest.mark.covers("decide-17")]

MINUTE_MS = 60_000


def policy(scheduler_ms: int | None = None, queue_ms: int | None = None) -> Policy:
    queue = QueuePolicy(timeout_ms=queue_ms)
    return Policy((SchedulerPolicy(queues=(queue,), timeout_ms=scheduler_ms),))


@asynccontextmanager
async def cluster(path: Path, rules: Policy) -> AsyncIterator[tuple[Runtime, ObedientBackend]]:
    backend = ObedientBackend(node("n1", cpus=2))
    with open_store(f"sqlite:///{path}/rota.db") as store:
        runtime = Runtime(store, rules, [backend], now_ms, lambda: 0.5, no_files)
        await runtime.start()
        try:
            yield runtime, backend
        finally:
            await runtime.stop()


@pytest.mark.parametrize("rules", [policy(MINUTE_MS), policy(None, MINUTE_MS), policy(1, MINUTE_MS)])
async def test_who_waits_too_long_fails_with_a_cause_of_its_own(tmp_path: Path, rules: Policy) -> None:
    async with cluster(tmp_path, rules) as (runtime, _):
        runs, waits = await submit(runtime.desks, spec(cpus=2), spec(cpus=2))
        await until(runtime.desks, runs, Phase.RUNNING)
        await asyncio.sleep(59)
        assert (await until(runtime.desks, waits, Phase.PENDING)).cause is None
        await asyncio.sleep(2)
        failed = await until(runtime.desks, waits, Phase.FAILED)
        assert failed.cause is Cause.START_TIMEOUT
        assert (await until(runtime.desks, runs, Phase.RUNNING)).ended_ms is None


async def test_its_own_start_within_goes_first(tmp_path: Path) -> None:
    async with cluster(tmp_path, policy(MINUTE_MS)) as (runtime, _):
        runs, waits = await submit(runtime.desks, spec(cpus=2), spec(cpus=2, start_within_ms=10 * MINUTE_MS))
        await until(runtime.desks, runs, Phase.RUNNING)
        await asyncio.sleep(120)
        waiting = await until(runtime.desks, waits, Phase.PENDING)
        assert runtime.desks.jobs.start_by(waiting) == (waits.submitted_ms + 10 * MINUTE_MS, "job")


async def test_time_in_which_it_waits_for_others_does_not_count(tmp_path: Path) -> None:
    async with cluster(tmp_path, policy(MINUTE_MS)) as (runtime, backend):
        [first] = await submit(runtime.desks, spec())
        [after] = await submit(runtime.desks, spec(cpus=2, depends_on=(Dependency(first.id),)))
        await until(runtime.desks, first, Phase.RUNNING)
        await asyncio.sleep(300)
        [other] = await submit(runtime.desks, spec())
        await until(runtime.desks, other, Phase.RUNNING)
        backend.end_job(first.id)
        waiting = await until(runtime.desks, after, Phase.PENDING)
        await asyncio.sleep(50)
        assert (await until(runtime.desks, after, Phase.PENDING)).cause is None
        due_ms, whose = runtime.desks.jobs.start_by(waiting)
        assert (due_ms, whose) == (waiting.changed_ms + MINUTE_MS, "scheduler rota")
        await asyncio.sleep(11)
        await until(runtime.desks, after, Phase.FAILED)


async def test_who_has_run_before_may_wait_for_ever(tmp_path: Path) -> None:
    async with cluster(tmp_path, policy(MINUTE_MS)) as (runtime, _):
        [job] = await submit(runtime.desks, spec())
        running = await until(runtime.desks, job, Phase.RUNNING)
        assert runtime.desks.jobs.start_by(running) == (None, "")


async def test_another_policy_counts_for_those_who_wait_already(tmp_path: Path) -> None:
    async with cluster(tmp_path, policy()) as (runtime, _):
        runs, waits = await submit(runtime.desks, spec(cpus=2), spec(cpus=2))
        await until(runtime.desks, runs, Phase.RUNNING)
        await asyncio.sleep(120)

        def note(draft: Draft) -> None:
            draft.note("server.Reloaded", "server", "ada", {})

        await runtime.set_policy(policy(MINUTE_MS), note, 5)
        await until(runtime.desks, waits, Phase.FAILED)


async def test_queues_show_it(tmp_path: Path) -> None:
    async with cluster(tmp_path, policy(MINUTE_MS, 5000)) as (runtime, _):
        [queue] = await runtime.desks.queues.queues()
        assert queue.timeout_s == 5
    async with cluster(tmp_path, policy(MINUTE_MS)) as (runtime, _):
        [queue] = await runtime.desks.queues.queues()
        assert queue.timeout_s == 60
