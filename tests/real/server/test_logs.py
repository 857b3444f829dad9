"""What tasks write: live and later, by rank and together, whatever it is."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.real.server.rota_server import RotaServer, shell


@pytest.mark.covers("job-4")
def test_output_comes_while_the_job_runs(server: RotaServer, tmp_path: Path) -> None:
    """The task goes on only when its first line was read."""
    read = tmp_path / "read"
    job = server.submit_one(shell(f"echo first; while [ ! -e {read} ]; do sleep 0.02; done; echo last >&2"))
    server.started(job)
    chunks = server.client.logs(job, follow=True)
    first = next(chunks)
    assert (first.data, first.stream, first.rank) == (b"first\n", "out", 0)
    read.touch()
    assert [(chunk.data, chunk.stream) for chunk in chunks] == [(b"last\n", "err")]
    assert server.output(job) == "first\nlast\n"


@pytest.mark.covers("job-4")
def test_output_of_tasks_comes_by_rank_or_together(server: RotaServer) -> None:
    job = server.run(shell("for n in 1 2 3; do echo $ROTA_RANK.$n; done", tasks=3, resources={"cpu": "100m"}))
    assert server.output(job.id, [1]) == "1.1\n1.2\n1.3\n"
    both = server.output(job.id, [0, 2]).splitlines()
    assert sorted(both) == ["0.1", "0.2", "0.3", "2.1", "2.2", "2.3"]
    chunks = list(server.client.logs(job.id))
    assert {chunk.rank for chunk in chunks} == {0, 1, 2}
    times = [chunk.at for chunk in chunks]
    assert times == sorted(times)
    late = [chunk for chunk in chunks if chunk.at >= times[-1]]
    assert list(server.client.logs(job.id, since=times[-1])) == late


@pytest.mark.covers("job-4")
def test_bytes_come_as_they_were_written(server: RotaServer) -> None:
    pattern = bytes(range(256)) * 4
    digest = server.client.upload(pattern)
    files = [{"path": "pattern", "sha256": digest, "size": len(pattern)}]
    job = server.run(shell("cat pattern", files=files))
    status, body, headers = server.rest("GET", f"/v1/jobs/{job.id}/logs")
    assert (status, body, headers["content-type"]) == (200, pattern, "application/octet-stream")
    status, tail, _ = server.rest("GET", f"/v1/jobs/{job.id}/logs?tail=5")
    assert tail == pattern[-5:]


@pytest.mark.covers("job-4")
def test_20_mb_in_lines_without_end_are_complete(server: RotaServer) -> None:
    size = 20_000_000
    job = server.submit_one(shell(f"head -c {size} /dev/zero | tr '\\0' x; echo; seq 1000"))
    digest, count = hashlib.sha256(), 0
    for chunk in server.client.logs(job, follow=True):
        digest.update(chunk.data)
        count += len(chunk.data)
    numbers = "".join(f"{n}\n" for n in range(1, 1001)).encode()
    expected = hashlib.sha256(b"x" * size + b"\n" + numbers)
    assert (count, digest.hexdigest()) == (size + 1 + len(numbers), expected.hexdigest())
    assert sum(len(chunk.data) for chunk in server.client.logs(job)) == count
