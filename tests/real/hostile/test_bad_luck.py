"""Full disks, clocks that jump, jobs that come faster than they are forgotten: nobody else is harmed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import urllib3
from msgspec import json

from rota.lifecycle.state import Phase
from rota.sdk.errors import BadInput
from tests.real.conftest import mount_disk
from tests.real.server.rota_server import RotaServer, eventually, shell

pytestmark = pytest.mark.covers("trust-5")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[list[RotaServer]]:
    """Where servers of a test are put, to be removed."""
    made: list[RotaServer] = []
    yield made
    for server in made:
        server.remove()


def test_thousands_of_jobs_are_forgotten_as_soon_as_they_are_to_be(
    tmp_path: Path, home: list[RotaServer]
) -> None:
    server = RotaServer(
        tmp_path / "rota", environment={"ROTA_SERVER_HISTORY_TTL": "1s", "ROTA_SERVER_HISTORY_JOBS": "0"}
    )
    home.append(server)
    server.start()
    [array] = {job.partition(".")[0] for job in server.submit(shell("true", array="0-2999", hold=True))}
    server.client.cancel(array)
    eventually(lambda: not list(server.client.jobs()), "3,000 jobs to be forgotten")


JUMPING = """
import time
_real = time.time_ns
def _ns():
    try:
        with open({path!r}) as file:
            return _real() + int(file.read() or 0) * 10**9
    except FileNotFoundError:
        return _real()
time.time_ns = _ns
"""
"""What the server and its keeper take for the time of this machine: a file says by how much it is off."""
DAY_S = 86_400


class Clock:
    def __init__(self, folder: Path) -> None:
        self._offset = folder / "clock"
        site = folder / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(JUMPING.format(path=str(self._offset)))
        self.environment = {"PYTHONPATH": ":".join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))}

    def is_off(self, seconds: int) -> None:
        unfinished = self._offset.with_suffix(".new")
        unfinished.write_text(str(seconds))
        unfinished.replace(self._offset)


@pytest.mark.parametrize("is_restarted", [False, True], ids=["", "and a restart"])
def test_a_clock_that_jumps_a_day_ahead_for_a_moment_delays_nobody_until_tomorrow(
    tmp_path: Path, home: list[RotaServer], is_restarted: bool
) -> None:
    clock = Clock(tmp_path)
    server = RotaServer(tmp_path / "rota", environment=clock.environment)
    home.append(server)
    server.start()
    [early] = server.submit(shell("true", start_after=tomorrow()))
    clock.is_off(DAY_S)
    told = tmp_path / "told"
    [job] = server.submit(shell(f"mkdir {told}", retry={"limit": 5, "backoff": "1s"}, time_limit="10m"))
    [again] = server.submit(shell(f"rmdir {told} || exit 7", retry={"limit": 60, "backoff": "100ms"}))
    server.over(job)
    eventually(lambda: "clock.jumped" in server.log.read_text(), "a word on it")
    assert b"rota_clock_jumps_total 1.0" in server.rest("GET", "/metrics")[1]
    clock.is_off(0)
    if is_restarted:
        server.kill()
        server.start()
    assert server.over(again).phase is Phase.SUCCEEDED
    assert server.client.job(early).job.phase is Phase.PENDING
    failing = server.submit_one(shell("exit 7", retry={"limit": 1, "backoff": "1s"}))
    assert server.over(failing).phase is Phase.FAILED
    assert len(server.client.job(failing).attempts) == 2


def test_a_pause_that_a_wrong_clock_put_off_until_tomorrow_is_shortened_by_a_restart(
    tmp_path: Path, home: list[RotaServer]
) -> None:
    """The clock was wrong from the start, so nothing could be noticed."""
    clock = Clock(tmp_path)
    clock.is_off(DAY_S)
    server = RotaServer(tmp_path / "rota", environment=clock.environment)
    home.append(server)
    server.start()
    job = server.submit_one(shell("exit 7", retry={"limit": 1, "backoff": "30s"}))
    server.until(job, Phase.PENDING)
    eventually(lambda: server.client.job(job).attempts, "the first try")
    server.until(job, Phase.PENDING)
    server.kill()
    clock.is_off(0)
    server.start()
    assert server.over(job).phase is Phase.FAILED
    assert len(server.client.job(job).attempts) == 2


def tomorrow() -> str:
    return (datetime.now(UTC) + timedelta(hours=12)).isoformat()


def test_a_job_that_always_fails_is_not_started_again_at_once_for_ever(
    tmp_path: Path, home: list[RotaServer]
) -> None:
    server = RotaServer(tmp_path / "rota")
    home.append(server)
    server.start()
    with pytest.raises(BadInput, match="at most 1,000"):
        server.submit(shell("exit 1", retry={"limit": 1_000_000, "backoff": "0s"}))
    began_s = time.monotonic()
    job = server.submit_one(shell("exit 1", retry={"limit": 1000, "backoff": "0s"}))
    eventually(lambda: len(server.client.job(job).attempts) >= 6, "some tries")
    server.client.cancel(job)
    server.over(job)
    tries = len(server.client.job(job).attempts)
    assert tries <= 4 + (time.monotonic() - began_s), "at most one a second, but for the first"


MIB = 2**20


@pytest.fixture
def on_small_disk(tmp_path: Path) -> Iterator[RotaServer]:
    """Of 64 MiB, of which 3.2 are for Rota itself."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount_disk(disk, "size=64m")
    server = RotaServer(disk)
    try:
        server.start()
        yield server
        server.remove()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def uploaded(server: RotaServer, content: bytes) -> tuple[int, str]:
    """The status, and what is said."""
    digest = hashlib.sha256(content).hexdigest()
    with urllib3.PoolManager() as pool:
        answer = pool.request(
            "PUT",
            f"{server.url}/v1/files/{digest}",
            body=content,
            headers={"Authorization": f"Bearer {server.token}"},
            retries=False,
        )
    return answer.status, str(json.decode(answer.data).get("detail"))


def test_a_disk_full_of_users_files_stops_files_and_not_submissions(on_small_disk: RotaServer) -> None:
    server = on_small_disk
    for number in range(20):
        status, said = uploaded(server, bytes([number]) * 5 * MIB)
        if status != 201:
            break
    assert (status, said) == (503, "the disk of the server is full")
    loud = server.submit_one(shell("head -c 20000000 /dev/zero; echo last", time_limit="10m"))
    quiet = server.run(shell("true"))
    assert quiet.phase is Phase.SUCCEEDED, "there is room for what Rota itself writes"
    eventually(
        lambda: "reserved for Rota" in next(iter(server.client.nodes())).message, "operators to be told"
    )
    assert server.rest("GET", "/readyz")[0] == 200
    for path in (server.data / "worker" / "files").iterdir():
        path.unlink()
    assert server.over(loud).phase is Phase.SUCCEEDED
    assert len(server.output(loud)) == 20_000_005
    assert uploaded(server, b"again")[0] == 201


def test_a_disk_that_is_wholly_full_is_told_of_and_no_fault_of_ours(on_small_disk: RotaServer) -> None:
    server = on_small_disk
    ballast = server.home / "ballast"
    with suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(bytes(MIB))
            file.flush()
    assert uploaded(server, b"x" * MIB)[0] == 503
    ballast.unlink()
    assert uploaded(server, b"x" * MIB)[0] == 201


def test_input_files_of_a_user_have_a_limit(tmp_path: Path, home: list[RotaServer]) -> None:
    server = RotaServer(tmp_path / "rota", environment={"ROTA_SERVER_LIMITS_UPLOADS": "3Mi"})
    home.append(server)
    server.start()
    assert uploaded(server, b"a" * 2 * MIB)[0] == 201
    status, said = uploaded(server, b"b" * 2 * MIB)
    assert (status, said) == (413, "your input files take 2Mi of 3Mi, and this one would be too much")
    server.stop()
    server.start()
    assert uploaded(server, b"b" * 2 * MIB)[0] == 413
    assert uploaded(server, b"a" * 2 * MIB)[0] == 200


def test_a_job_that_is_tried_again_and_again_has_one_log(tmp_path: Path, home: list[RotaServer]) -> None:
    server = RotaServer(tmp_path / "rota", environment={"ROTA_SERVER_LIMITS_LOG": "1Mi"})
    home.append(server)
    server.start()
    job = server.run(
        shell(
            "head -c 2000000 /dev/zero; echo last; exit 1",
            retry={"limit": 6, "backoff": "0s"},
            time_limit="10m",
        )
    )
    assert job.phase is Phase.FAILED
    [folder] = (server.data / "worker" / "logs").iterdir()
    assert sum(path.stat().st_size for path in folder.iterdir()) < 2.5 * MIB
    assert server.output(job.id).endswith("last\n")
