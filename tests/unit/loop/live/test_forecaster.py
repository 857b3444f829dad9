"""Estimates of a live cluster: told where something is known, withdrawn where nobody can know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rota.api.jobs import EstimateDocument
from rota.lifecycle.state import JobState, Phase
from rota.loop.live.runtime import Runtime
from rota.model.calendar import Maintenance, QueueMode, QueueState
from rota.model.estimate import NoStart
from rota.model.ids import NodeName, QueueName
from rota.model.policy import FairShare, Policy, Quota, TenantPolicy
from rota.store.store import open_store
from rota.store.writing.batch import NodeSettings
from rota.views.estimates import no_start_text
from tests.kit.live import ADA, OPERATOR, no_files, now_ms, spec, submit, until
from tests.obedient import ObedientBackend, node

pytestmark = [pytest.mark.covers("first-4"), pytest.mark.virtual_time]
HOUR_MS = 3_600_000


class _InTheLoop(Executor):
    """Looks ahead at once, in the same process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


@asynccontextmanager
async def running(path: Path, policy: Policy = Policy()) -> AsyncIterator[Runtime]:  # noqa: B008
    backend = ObedientBackend(node("n1", cpus=2))
    with open_store(f"sqlite:///{path}/rota.db") as store:
        runtime = Runtime(store, policy, [backend], now_ms, lambda: 0.5, no_files, make_pool=_InTheLoop)
        await runtime.start()
        try:
            yield runtime
        finally:
            await runtime.stop()


async def eta(runtime: Runtime, job: JobState) -> EstimateDocument:
    """As it is once the latest change was looked at."""
    await asyncio.sleep(30)
    found = await runtime.desks.questions.eta(job.id)
    why = (await runtime.desks.questions.why(job.id, None, ADA)).estimate
    assert (why is None) == (found.expected is None), "two commands say different things"
    return found


def is_silent(found: EstimateDocument, reason: NoStart) -> bool:
    return (found.expected, found.bound, found.reason) == (None, None, no_start_text(reason))


async def test_behind_a_job_with_a_limit_a_start_is_told_and_behind_one_without_none(tmp_path: Path) -> None:
    async with running(tmp_path) as runtime:
        first, second, third = await submit(
            runtime.desks,
            spec(cpus=2, time_limit_ms=HOUR_MS),
            spec(cpus=2),
            spec(cpus=2, time_limit_ms=HOUR_MS),
        )
        await until(runtime.desks, first, Phase.RUNNING)
        assert (await eta(runtime, second)).expected is not None
        assert is_silent(await eta(runtime, third), NoStart.ENDLESS)


async def test_what_was_told_is_withdrawn_when_the_only_node_is_drained(tmp_path: Path) -> None:
    async with running(tmp_path) as runtime:
        first, second = await submit(runtime.desks, spec(cpus=2, time_limit_ms=HOUR_MS), spec(cpus=2))
        await until(runtime.desks, first, Phase.RUNNING)
        assert (await eta(runtime, second)).expected is not None
        await runtime.desks.nodes.set_node(NodeSettings(NodeName("n1"), draining=True), OPERATOR)
        assert is_silent(await eta(runtime, second), NoStart.NODES)


async def test_nothing_is_told_in_a_queue_that_is_paused(tmp_path: Path) -> None:
    async with running(tmp_path) as runtime:
        await runtime.desks.queues.set_queue(QueueState(QueueName("default"), QueueMode.PAUSED), OPERATOR)
        [job] = await submit(runtime.desks, spec(time_limit_ms=HOUR_MS))
        assert is_silent(await eta(runtime, job), NoStart.QUEUE)


async def test_nothing_is_told_while_a_quota_is_used_up(tmp_path: Path) -> None:
    quota = Quota((("cpu", 1000),), borrowable=())
    policy = Policy(fair_share=FairShare(tenants=(TenantPolicy("default", quota=quota),)))
    async with running(tmp_path, policy) as runtime:
        first, second = await submit(runtime.desks, spec(), spec(time_limit_ms=HOUR_MS))
        await until(runtime.desks, first, Phase.RUNNING)
        assert is_silent(await eta(runtime, second), NoStart.QUOTA)


async def test_no_estimate_lies_within_maintenance(tmp_path: Path) -> None:
    async with running(tmp_path) as runtime:
        end_ms = now_ms() + HOUR_MS
        await runtime.desks.calendar.set_maintenance(Maintenance("disks", now_ms(), end_ms), OPERATOR)
        [job] = await submit(runtime.desks, spec(time_limit_ms=HOUR_MS))
        found = await eta(runtime, job)
        assert found.expected is not None
        assert found.bound is not None
        assert found.expected.timestamp() * 1000 >= end_ms
        assert found.bound >= found.expected
