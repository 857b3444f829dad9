"""The whole of a live cluster, with a real database and a backend that does what the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from rota.api.people import Role
from rota.control.access import Who
from rota.intake.submissions import Entry, Submission
from rota.lifecycle.state import EndReason, JobState, Phase, TaskEnd
from rota.loop.desk.desks import LiveDesks
from rota.loop.live.runtime import Runtime
from rota.model.job import JobTemplate, TaskGroup
from rota.model.policy import Policy
from rota.model.resources import Resources
from rota.model.run import JobSpec, Run
from rota.model.task import TaskSpec
from rota.store.store import open_store
from tests.obedient import ObedientBackend

ADA = Who("ada", Role.SUBMITTER)
OPERATOR = Who("olga", Role.OPERATOR)
START_MS = 1_700_000_000_000
DEFAULT_POLICY = Policy()
FAILURE = TaskEnd(EndReason.EXITED, exit_code=3)


def spec(cpus: int = 1, tasks: int = 1, **more: object) -> JobSpec:
    template = JobTemplate((TaskGroup(TaskSpec(requests=Resources(cpu_milli=1000 * cpus)), tasks),))
    fields = {name: more.pop(name) for name in list(more) if name in JobTemplate.__struct_fields__}
    return JobSpec(replace(template, **fields), Run(("true",)), **more)  # type: ignore[arg-type]


async def no_files(sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
    raise NotImplementedError


def now_ms() -> int:
    """By the event loop's clock: where no time passes, none passes here."""
    return START_MS + int(asyncio.get_running_loop().time() * 1000)


@asynccontextmanager
async def live(
    path: Path, backend: ObedientBackend, policy: Policy = DEFAULT_POLICY
) -> AsyncIterator[LiveDesks]:
    async with running(path, backend, policy) as runtime:
        yield runtime.desks


@asynccontextmanager
async def running(
    path: Path, backend: ObedientBackend, policy: Policy = DEFAULT_POLICY
) -> AsyncIterator[Runtime]:
    with open_store(f"sqlite:///{path}/rota.db") as store:
        runtime = Runtime(store, policy, [backend], now_ms, lambda: 0.5, no_files)
        await runtime.start()
        try:
            yield runtime
        finally:
            await runtime.stop()


async def until(desk: LiveDesks, job: JobState, phase: Phase) -> JobState:
    async with asyncio.timeout(20):
        while True:
            now = await desk.jobs.job(job.id)
            assert now is not None
            if now.phase is phase:
                return now
            await asyncio.sleep(0.005)


async def submit(desk: LiveDesks, *specs: JobSpec) -> list[JobState]:
    return list(await desk.jobs.submit(Submission(tuple(map(Entry, specs))), ADA))
