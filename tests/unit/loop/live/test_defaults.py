"""What a job left open counts wherever anything is counted: where it fits, to what it is held, its tenant's
share, and what it is charged for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec import json

from rota.intake.submissions import read_submission
from rota.lifecycle.state import JobState, Phase
from rota.loop.desk.desks import LiveDesks
from rota.loop.desk.usage import UsageBy
from rota.model.policy import Defaults, PlatformDefaults, Policy, QueuePolicy, QueueStrategy, SchedulerPolicy
from rota.model.resources import GpuRequest, Resources
from tests.kit.live import ADA, START_MS, live, running, until
from tests.kit.waiting import eventually
from tests.obedient import ObedientBackend, node

pytestmark = [pytest.mark.virtual_time, pytest.mark.covers("decide-15")]

MIB = 1 << 20
GIB = 1 << 30
POLICY = Policy(
    schedulers=(SchedulerPolicy(queues=(QueuePolicy(strategy=QueueStrategy.FAIR),)),),
    defaults=Defaults(
        platforms=(("small", PlatformDefaults(Resources(500, GIB), Resources(2000, 4 * GIB))),),
        runtimes=(("kata", Resources(250, 160 * MIB)),),
    ),
)


async def take(desk: LiveDesks, **fields: object) -> list[JobState]:
    body = json.encode({"jobs": [{"command": ["true"], **fields}]})
    return list(await desk.jobs.submit(read_submission(body, "default", "ada"), ADA))


async def test_an_array_that_says_nothing_fills_the_cpus_and_no_more(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with live(tmp_path, backend) as desk:
        jobs = await take(desk, array="0-99")
        await eventually(lambda: len(backend.started) >= 2)
        await until(desk, jobs[0], Phase.RUNNING)
        phases = [state.phase for job in jobs if (state := await desk.jobs.job(job.id)) is not None]
        assert phases.count(Phase.RUNNING) == 2


async def test_the_record_says_what_it_asks_for_and_keeps_to_it(tmp_path: Path) -> None:
    async with running(tmp_path, ObedientBackend(node("n1", cpus=2)), POLICY) as runtime:
        desk = runtime.desks
        [said_nothing] = await take(desk)
        [stated] = await take(desk, resources={"cpu": 0, "memory": 0})
        specs = [one.spec.template.spec_of(0) for one in (said_nothing, stated)]
        assert [one.requests for one in specs] == [Resources(1000, 256 * MIB), Resources()]
        changed = Policy(schedulers=POLICY.schedulers, defaults=Defaults(assumed=Resources(7000)))
        await runtime.set_policy(changed, lambda draft: None, 1)
        record = runtime.memory.cluster.record(said_nothing.id)
        assert record.job.template.spec_of(0).requests == Resources(1000, 256 * MIB)
        # It can never start on two cpus.
        with pytest.raises(Exception, match="asks 7 cpu"):
            await take(desk)


async def test_a_platform_and_a_sandbox_count_in_all_four_places(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with running(tmp_path, backend, POLICY) as runtime:
        desk = runtime.desks
        jobs = [(await take(desk, platform="small", runtime="kata"))[0] for _ in range(3)]
        # Placement: 0.75 cpu each, so two of them and not four.
        await until(desk, jobs[0], Phase.RUNNING)
        await until(desk, jobs[1], Phase.RUNNING)
        assert (await until(desk, jobs[2], Phase.PENDING)).live == ()
        # Enforcement.
        [first, *_] = backend.seen
        assert first.limits == Resources(2250, 4 * GIB + 160 * MIB)
        assert first.cpu_share_milli == 750
        [shown] = await desk.nodes.nodes()
        assert (shown.used["cpu"], shown.used["memory"]) == (1.5, 2 * GIB + 320 * MIB)
        await asyncio.sleep(3600)
        backend.end_job(jobs[0].id)
        await until(desk, jobs[2], Phase.RUNNING)
        # Charges: twice 0.75 cpu and 1.16 GiB for an hour, of what runs, too.
        [used] = (await desk.usage.usage(ADA, START_MS, UsageBy.USER)).items
        assert (used.name, used.cpu_hours, used.memory_gib_hours) == ("ada", 1.5, 2.313)
        # Fair share: of the one that has ended.
        [share] = runtime.memory.charges.usage()
        amounts = dict(share.amounts)
        assert amounts["cpu"] == pytest.approx(750 * 3600, rel=0.01)
        assert amounts["memory"] == pytest.approx((GIB + 160 * MIB) * 3600, rel=0.01)


async def test_a_platform_may_give_gpus(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=16, gpus=2))
    async with live(tmp_path, backend) as desk:
        [job] = await take(desk, platform="ubuntu-gpu")
        [other] = await take(desk, platform="ubuntu-gpu", gpus=0)
        assert job.spec.template.spec_of(0).gpu == GpuRequest(1)
        assert other.spec.template.spec_of(0).gpu == GpuRequest()
        await until(desk, job, Phase.RUNNING)
        await until(desk, other, Phase.RUNNING)
        seen = {start.ref.job: dict(start.environment)["CUDA_VISIBLE_DEVICES"] for start in backend.seen}
        assert seen == {job.id: "0", other.id: ""}


@pytest.mark.covers("decide-16")
async def test_shares_of_gpus_are_shown_by_device(tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=16, gpus=3))
    async with live(tmp_path, backend) as desk:
        for gpus in (1, "0.3", "0.5"):
            [job] = await take(desk, gpus=gpus)
            await until(desk, job, Phase.RUNNING)
        [shown] = await desk.nodes.nodes()
        assert (shown.gpus_used, shown.gpu_shares) == (1.8, [1, 0.8, 0])
