"""How many there are of what: counted as things change, and no otherwise than by looking at each."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rota.lifecycle.state import EndReason, Phase, TaskEnd
from rota.loop.desk.desks import LiveDesks
from rota.model.run import Retry
from tests.kit.live import live, spec, submit, until
from tests.obedient import ObedientBackend, node

pytestmark = pytest.mark.virtual_time

FAILURE = TaskEnd(EndReason.EXITED, exit_code=3)


async def counts(desk: LiveDesks) -> tuple[int, int, int]:
    stats = await desk.status.stats()
    return stats.pending, stats.running, stats.finished


async def taken(desk: LiveDesks) -> tuple[float, int]:
    [one] = await desk.nodes.nodes()
    return one.used["cpu"], one.tasks


async def queued(desk: LiveDesks) -> tuple[int, int]:
    [queue] = [one for one in await desk.queues.queues() if one.name == "default"]
    return queue.waiting, queue.running


async def test_of_jobs_that_wait_run_and_end_over_a_restart(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with live(tmp_path, backend) as desk:
        assert (await counts(desk), await taken(desk)) == ((0, 0, 0), (0, 0))
        first, second = await submit(desk, spec(cpus=2), spec(tasks=2))
        await until(desk, first, Phase.RUNNING)
        assert (await counts(desk), await taken(desk)) == ((1, 1, 0), (2, 1))
        assert await queued(desk) == (1, 1)
    async with live(tmp_path, backend) as desk:
        assert (await counts(desk), await taken(desk)) == ((1, 1, 0), (2, 1))
        backend.end_job(first.id)
        await until(desk, second, Phase.RUNNING)
        assert (await counts(desk), await taken(desk)) == ((0, 1, 1), (2, 2))
        backend.end_job(second.id)
        await until(desk, second, Phase.SUCCEEDED)
        assert (await counts(desk), await taken(desk)) == ((0, 0, 2), (0, 0))
        assert await queued(desk) == (0, 0)


async def test_a_job_between_two_tries_is_on_no_node(tmp_path: Path) -> None:
    backend = ObedientBackend()
    async with live(tmp_path, backend) as desk:
        [job] = await submit(desk, spec(retry=Retry(limit=1, backoff_ms=600_000)))
        await until(desk, job, Phase.RUNNING)
        backend.end_job(job.id, FAILURE)
        await until(desk, job, Phase.PENDING)
        assert (await counts(desk), await taken(desk)) == ((1, 0, 0), (0, 0))


async def test_a_node_tells_its_price(tmp_path: Path) -> None:
    free, dear = node("free"), node("dear")
    dear = replace(dear, spec=replace(dear.spec, price_micro_per_hour=46_400))
    async with live(tmp_path, ObedientBackend(free, dear)) as desk:
        assert [one.price_per_hour for one in await desk.nodes.nodes()] == ["0.0464", None]
