"""What jobs leave open, on a real server: what they ask for, the groups they run in, the GPUs they see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import json

from rota.lifecycle.state import Phase
from rota.sdk.executor import Executor
from tests.kit.nvidia_smi import listed, put_nvidia_smi
from tests.real.conftest import missing
from tests.real.server.conftest import NewServer
from tests.real.server.rota_server import RotaServer, eventually, rota_in, shell

pytestmark = [pytest.mark.slow, pytest.mark.covers("decide-15")]

MIB = 1 << 20
GIB = 1 << 30
POLICY = """
platforms:
  small: {requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: 1500m, memory: 128Mi}}
runtimes:
  kata: {cpu: 250m, memory: 32Mi}
"""
LOOK = """
import json, pathlib
found = {}
for line in open("/proc/self/cgroup"):
    _, controllers, path = line.strip().split(":", 2)
    for root in [controllers, *controllers.split(",")]:
        for file in pathlib.Path("/sys/fs/cgroup", root, path.lstrip("/")).glob("*"):
            if file.name in ("memory.limit_in_bytes", "memory.max", "cpu.shares", "cpu.weight",
                             "cpu.cfs_quota_us", "cpu.max"):
                found[file.name] = file.read_text().split()[0]
print(json.dumps(found))
"""
"""The limits of the group that it runs in, in either version."""


def group_of(server: RotaServer, **fields: object) -> dict[str, str]:
    [node] = server.client.nodes()
    if "no limits" in node.message or "no memory limits" in node.message:
        missing(f"this host says: {node.message}")
    job = server.submit_one({"command": ["python3", "-c", LOOK], "time_limit": "1m", **fields})
    assert server.over(job).phase is Phase.SUCCEEDED, server.output(job)
    found: dict[str, str] = json.decode(server.output(job))
    return found


def memory_limit(group: dict[str, str]) -> int | None:
    """None: none of its own."""
    text = group.get("memory.limit_in_bytes", group.get("memory.max", "max"))
    return None if text == "max" or int(text) > 1 << 60 else int(text)


def cpu_share(group: dict[str, str]) -> float:
    """One cpu is 1."""
    return int(group["cpu.shares"]) / 1024 if "cpu.shares" in group else int(group["cpu.weight"]) / 100


def cpu_limit(group: dict[str, str]) -> float:
    return int(group.get("cpu.cfs_quota_us", group.get("cpu.max", "-1"))) / 100_000


@pytest.fixture
def own(new_server: NewServer, tmp_path: Path) -> RotaServer:
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    return new_server("--policy", str(policy))


def test_an_array_that_says_nothing_fills_the_cpus_and_no_more(server: RotaServer, tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = f"while [ ! -e {told} ]; do sleep 0.05; done"
    last = 3 * server.cpus
    submitted = rota_in(
        tmp_path, server, "submit", "--array", f"0-{last}", "--time", "1m", "--", "sh", "-c", script
    )
    assert submitted.returncode == 0, submitted.stderr
    array = next(job.id for job in server.unfinished()).partition(".")[0]
    jobs = [f"{array}.{index}" for index in range(last + 1)]
    phases = eventually(
        lambda: found if (found := phases_of(server, jobs)).count(Phase.RUNNING) >= server.cpus else None,
        "the cpus to be full",
    )
    assert phases.count(Phase.RUNNING) == server.cpus
    waiting = jobs[phases.index(Phase.PENDING)]
    assert "insufficient cpu: asks 1" in rota_in(tmp_path, server, "why", waiting).stdout
    told.touch()
    assert {server.over(job).phase for job in jobs} == {Phase.SUCCEEDED}
    shown = rota_in(tmp_path, server, "show", jobs[0]).stdout
    assert "1 cpu, 256Mi memory" in shown


def phases_of(server: RotaServer, jobs: list[str]) -> list[Phase]:
    return [server.client.job(job).job.phase for job in jobs]


def asked(server: RotaServer, job: str | None) -> object:
    assert job is not None
    return server.client.job(job).spec["resources"]


def test_it_is_the_same_however_a_job_comes_in(server: RotaServer, tmp_path: Path) -> None:
    usual = {"cpu": "1", "memory": "256Mi"}
    assert asked(server, server.submit_one(shell("true"))) == usual
    with Executor(server.client, time_limit="1m") as executor:
        futures = [executor.submit(pow, 2, n) for n in range(3)]
        assert [future.result(60) for future in futures] == [1, 2, 4]
    assert [asked(server, future.job_id) for future in futures] == [usual] * 3
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n#SBATCH --time=1\ntrue\n")
    for words in (("submit", "job.sh"), ("run", "--time", "1m", "--", "true"), ("submit", "--", "true")):
        done = rota_in(tmp_path, server, *words)
        assert done.returncode == 0, done.stderr
    newest = [job.id for job in list(server.client.jobs(limit=3))[:3]]
    assert [asked(server, job) for job in newest] == [usual] * 3
    stated = server.submit_one(shell("true", resources={"cpu": 0, "memory": "64Mi"}))
    assert asked(server, stated) == {"cpu": 0, "memory": "64Mi"}


def test_what_is_assumed_is_no_limit_and_what_is_stated_is(own: RotaServer) -> None:
    group = group_of(own)
    assert (memory_limit(group), cpu_share(group)) == (None, 1)
    assert memory_limit(group_of(own, resources={"memory": "64Mi"})) == 64 * MIB
    assert memory_limit(group_of(own, resources={"memory": "64Mi"}, limits={"memory": "none"})) is None
    greedy = {"command": ["python3", "-c", "x = b'x' * (300 << 20)"], "time_limit": "1m"}
    assert own.run(greedy).phase is Phase.SUCCEEDED
    stated = own.run({**greedy, "resources": {"memory": "256Mi"}})
    assert stated.phase is Phase.FAILED


def test_a_platform_a_limit_and_a_sandbox_are_held_to_what_they_count_as(own: RotaServer) -> None:
    platform = group_of(own, platform="small")
    assert (memory_limit(platform), cpu_share(platform), cpu_limit(platform)) == (128 * MIB, 0.5, 1.5)
    sandboxed = group_of(own, platform="small", runtime="kata")
    assert memory_limit(sandboxed) == 160 * MIB
    assert (cpu_share(sandboxed), cpu_limit(sandboxed)) == (0.75, 1.75)
    limited = group_of(own, limits={"cpu": "250m", "memory": "96Mi"})
    assert memory_limit(limited) == 96 * MIB
    assert (cpu_share(limited), cpu_limit(limited)) == (0.25, 0.25)


@pytest.fixture
def with_gpus(tmp_path: Path) -> Iterator[RotaServer]:
    """A server on a machine whose driver lists the parts of an A100."""
    tools = tmp_path / "bin"
    put_nvidia_smi(tools, listed("a100-mig"))
    server = RotaServer(tmp_path / "rota", environment={"PATH": f"{tools}:/usr/bin:/bin"})
    server.start()
    yield server
    server.remove()


@pytest.mark.covers("decide-16")
def test_a_job_sees_the_gpus_that_it_was_given_and_no_others(with_gpus: RotaServer) -> None:
    [node] = with_gpus.client.nodes()
    assert (node.gpus, node.gpu_model) == (2, "NVIDIA A100-SXM4-40GB MIG 1g.5gb")
    assert "GPUs of another model are left out" in node.message
    script = "echo $CUDA_VISIBLE_DEVICES/${CUDA_VISIBLE_DEVICES-unset}/$ROTA_GPU_SHARE/$HIP_VISIBLE_DEVICES"
    parts = [
        "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f",
        "MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb",
    ]
    for gpus, visible, share, hip in (
        (0, "", "", ""),
        (2, ",".join(parts), "", "0,1"),
        ({"share": "0.5", "models": ["1g.5gb"]}, parts[0], "0.5", "0"),
    ):
        job = with_gpus.submit_one(shell(script, gpus=gpus))
        assert with_gpus.over(job).phase is Phase.SUCCEEDED
        assert with_gpus.output(job).strip() == f"{visible}/{visible}/{share}/{hip}"
    plain = with_gpus.submit_one(shell(script))
    assert with_gpus.over(plain).phase is Phase.SUCCEEDED
    assert with_gpus.output(plain).strip() == "///"
