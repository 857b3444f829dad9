"""Limits of cpu and memory by cgroups, on hosts that let us make some."""

from pathlib import Path

import pytest

from rota.backends.backend import TaskStart
from rota.lifecycle.state import EndReason
from rota.model.resources import Resources
from rota.model.run import Run
from tests.backends.witness import ref
from tests.real.conftest import missing
from tests.real.process.host import NODE, Host, gone, host

pytestmark = pytest.mark.slow

MIB = 1 << 20


async def needs_cgroups(here: Host) -> None:
    if message := (await here.backend.health()).message:
        missing(f"this host says: {message}")


async def test_a_task_that_takes_too_much_memory_is_ended_and_told_apart(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        await needs_cgroups(here)
        greedy = Run(command=("python3", "-c", "x = b'x' * (300 << 20)"))
        limits = Resources(memory_bytes=100 * MIB)
        await here.backend.start([TaskStart(ref("1"), NODE, greedy, limits=limits)])
        end = (await here.end_of(ref("1"))).end
        assert end.reason is EndReason.OUT_OF_MEMORY
        assert end.used.max_memory_bytes <= 100 * MIB


async def test_a_task_gets_no_more_cpu_than_its_limit(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        await needs_cgroups(here)
        busy = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass"
        limits = Resources(cpu_milli=200)
        run = Run(command=("python3", "-c", busy))
        await here.backend.start([TaskStart(ref("1"), NODE, run, limits=limits)])
        end = (await here.end_of(ref("1"))).end
        assert end.succeeded
        assert end.used.cpu_ms < 600


async def test_processes_without_any_trace_of_their_task_are_found_by_its_group(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        await needs_cgroups(here)
        file = tmp_path / "pid"
        escape = f"(env -i setsid sh -c 'echo $$ > {file}; exec sleep 1000' >/dev/null 2>&1 &)"
        script = f"{escape}; while [ ! -s {file} ]; do sleep 0.01; done"
        long = TaskStart(ref("0"), NODE, Run(command=("sleep", "1000")))
        await here.backend.start([long])
        await here.started(ref("0"))
        limits = Resources(memory_bytes=100 * MIB)
        run = Run(command=("sh", "-c", script))
        await here.backend.start([TaskStart(ref("1"), NODE, run, limits=limits)])
        await here.end_of(ref("1"))
        await gone([int(file.read_text())])


async def test_a_group_is_used_again_and_the_next_task_finds_nothing_of_the_last(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        await needs_cgroups(here)
        used = []
        for number, mib in ((1, 30), (2, 1), (3, 30), (4, 1)):
            job, run = str(number), Run(command=("python3", "-c", f"x = b'x' * ({mib} << 20)"))
            await here.backend.start([TaskStart(ref(job), NODE, run)])
            used.append((await here.end_of(ref(job))).end.used.max_memory_bytes)
        assert min(used[0], used[2]) > 30 * MIB > max(used[1], used[3]) > 0


async def test_no_group_is_left(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        await needs_cgroups(here)
        run = Run(command=("cat", "/proc/self/cgroup"), directory="/")
        limits = Resources(cpu_milli=500, memory_bytes=100 * MIB)
        await here.backend.start([TaskStart(ref("77"), NODE, run, limits=limits)])
        assert (await here.end_of(ref("77"))).end.succeeded
        groups = [line.rpartition(":")[2] for line in (await here.output_text("77")).splitlines()]
        mine = {group.rpartition("/")[0] for group in groups if "/rota-" in group}
        [name] = {group.rpartition("/")[2] for group in mine}
    # The keeper has ended: as long as it runs, groups wait for the next task.
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{name}"))


@pytest.mark.covers("trust-2")
async def test_a_task_whose_files_take_too_much_is_ended_and_told_apart(tmp_path: Path) -> None:
    async with host(tmp_path / "backend") as here:
        filling = "dd if=/dev/zero of=$TMPDIR/large bs=1M count=40 2>/dev/null; sleep 1000"
        modest = "dd if=/dev/zero of=small bs=1M count=4 2>/dev/null; while [ ! -e go ]; do sleep 0.1; done"
        limits = Resources(storage_bytes=20 * MIB)
        for job, script in (("1", filling), ("2", modest)):
            await here.backend.start(
                [TaskStart(ref(job), NODE, Run(command=("sh", "-c", script)), limits=limits)]
            )
        end = (await here.end_of(ref("1"))).end
        assert end.reason is EndReason.STORAGE_LIMIT
        assert end.message.startswith("its files took more than 20Mi")
        for go in (tmp_path / "backend").glob("rooms/*/work"):
            (go / "go").touch()
        assert (await here.end_of(ref("2"))).end.succeeded
