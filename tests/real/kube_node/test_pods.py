"""Jobs through `rota server` as pods of real nodes: what they find, and what is told of their ends."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from rota.lifecycle.state import EndReason, Phase
from tests.real.kube_node.images import BUSYBOX
from tests.real.kube_node.pod_server import SMALL, PodServer, in_pod
from tests.real.server.rota_server import eventually, rota_in

pytestmark = [pytest.mark.slow, pytest.mark.covers("back-3")]

LARGE_BYTES = 200_000_000
AWKWARD = ("two words", "ümlaut-日本", "-dash", "quote'\"quote", "new\nline", "$(HOME) $HOME", "*")


def test_a_job_runs_in_its_image(pods: PodServer) -> None:
    job = pods.submit_one(in_pod("echo out; echo err >&2; cat /etc/passwd | head -1; exit 3"))
    assert pods.over(job).phase is Phase.FAILED
    assert pods.client.job(job).job.exit_code == 3
    assert sorted(pods.output(job).split()) == ["err", "out", "root:x:0:0:root:/root:/bin/sh"]
    assert pods.last_attempt(job).node in pods.nodes.nodes


def test_four_pods_find_each_other_by_name(pods: PodServer) -> None:
    script = """
    if [ $ROTA_RANK = 0 ]; then
        for port in 7001 7002 7003; do nc -l -p $port & done
        wait
    else
        first=${ROTA_PEERS%%,*}
        until echo "hello from $ROTA_RANK" | nc ${first%:*} 700$ROTA_RANK; do sleep 0.2; done
    fi
    """
    job = pods.submit_one(in_pod(script, tasks=4))
    assert pods.over(job).succeeded, pods.client.job(job)
    assert sorted(pods.output(job, [0]).splitlines()) == [f"hello from {rank}" for rank in (1, 2, 3)]
    assert len(pods.client.job(job).attempts) == 4


def test_files_with_awkward_names_and_modes_there_and_back(pods: PodServer, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "in" / "deep").mkdir(parents=True)
    for name in AWKWARD:
        (project / "in" / "deep" / name).write_text(f"of {name}")
    (project / "in" / "empty").write_bytes(b"")
    (project / "in" / "run.sh").write_text(
        "#!/bin/sh\nls in/deep | grep -c line\ncp -r in/deep out\nrm out/new*\n"
    )
    (project / "in" / "run.sh").chmod(0o755)
    done = rota_in(
        project, pods, "run", "--clean", "--name", "awkward", "--image", BUSYBOX, "--cpus", "0.05",
        "--memory", "32Mi", "--file", "in", "--keep", "out/**", "--", "in/run.sh",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    fetched = rota_in(project, pods, "fetch", "awkward", "--to", "back")
    assert fetched.returncode == 0, fetched.stderr
    found = {path.name: path.read_text() for path in (project / "back" / "out").iterdir()}
    # One with a newline can be given, but not asked for.
    assert found == {name: f"of {name}" for name in AWKWARD if "\n" not in name}


def test_a_large_file_arrives_whole(pods: PodServer, tmp_path: Path) -> None:
    piece = os.urandom(1 << 20)
    content = (piece * (LARGE_BYTES // len(piece) + 1))[:LARGE_BYTES]
    (tmp_path / "large").write_bytes(content)
    done = rota_in(
        tmp_path, pods, "submit", "--clean", "-o", "name", "--image", BUSYBOX, "--cpus", "0.5", "--memory",
        "256Mi", "--file", "large", "--", "sha256sum", "large",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    job = done.stdout.strip()
    eventually(lambda: pods.client.job(job).job.is_over, "the job with a large file")
    assert pods.output(job).split()[:1] == [hashlib.sha256(content).hexdigest()]


def test_much_output_without_a_newline_is_kept_byte_for_byte(pods: PodServer) -> None:
    write = f"head -c {LARGE_BYTES} /dev/zero | tr '\\0' '\\377'"
    job = pods.submit_one(in_pod(write, resources={"cpu": "500m", "memory": "64Mi"}))
    assert eventually(lambda: pods.client.job(job).job.is_over, "all output to be written")
    digest, size_bytes = hashlib.sha256(), 0
    for chunk in pods.client.logs(job):
        digest.update(chunk.data)
        size_bytes += len(chunk.data)
    assert size_bytes == LARGE_BYTES
    assert digest.digest() == hashlib.sha256(b"\xff" * LARGE_BYTES).digest()


def test_too_much_memory_is_told(pods: PodServer) -> None:
    job = pods.submit_one(in_pod("tail -c 300m /dev/zero"))
    survivor = pods.submit_one(in_pod("tail -c 300m /dev/zero; echo without it"))
    assert pods.over(job).phase is Phase.FAILED
    assert pods.last_attempt(job).reason is EndReason.OUT_OF_MEMORY
    assert pods.over(survivor).succeeded
    assert "without it" in pods.output(survivor)


def test_a_missing_image_is_named(pods: PodServer) -> None:
    image = "127.0.0.1:1/nobody/nothing:1"
    job = pods.submit_one(in_pod("true", image=image))
    assert pods.over(job).phase is Phase.FAILED
    attempt = pods.last_attempt(job)
    assert attempt.reason is EndReason.NOT_STARTED
    assert image in attempt.message
    assert "refused" in attempt.message


def test_a_program_that_the_image_lacks_is_named(pods: PodServer) -> None:
    job = pods.submit_one({"command": ["no-such-program"], "image": BUSYBOX, "resources": SMALL})
    assert pods.over(job).phase is Phase.FAILED
    assert "no-such-program" in pods.last_attempt(job).message


def test_a_pod_that_somebody_deletes_is_made_again(pods: PodServer) -> None:
    job = pods.submit_one(in_pod("echo up; sleep 600"))
    pods.says(job, "up")
    pod = pods.pod_of(job)["metadata"]
    pods.api.delete_pod(pods.namespace, pod["name"], 0)
    eventually(lambda: len(pods.client.job(job).attempts) == 2, "another attempt")
    first = pods.client.job(job).attempts[0]
    assert first.reason is EndReason.LOST
    assert "deleted" in first.message
    again = eventually(
        lambda: [one for one in pods.pods_of(job) if one["metadata"]["uid"] != pod["uid"]], "another pod"
    )
    assert len(again) == 1
    pods.client.cancel(job)
    assert pods.over(job).phase is Phase.CANCELLED


def test_a_time_limit_ends_the_job_and_keeps_what_it_wrote(pods: PodServer) -> None:
    job = pods.submit_one(in_pod("echo before; sleep 600", time_limit="2s"))
    assert pods.over(job).phase is Phase.TIMED_OUT
    assert pods.output(job) == "before\n"
