"""Servers, API servers, kubelets and whole nodes go away while jobs run as pods: each job runs to its end,
none has two pods at a time, and nothing is left behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rota.lifecycle.state import EndReason, Phase
from tests.real.kube_node.api import NodesAccess
from tests.real.kube_node.conftest import NewPodServer
from tests.real.kube_node.images import BUSYBOX
from tests.real.kube_node.node_cluster import NodeCluster
from tests.real.kube_node.pod_server import PodServer, PodWatch, in_pod
from tests.real.server.rota_server import eventually, rota_in

pytestmark = [pytest.mark.slow, pytest.mark.covers("back-3", "job-3")]

WAITS = "echo up; until [ -e /tmp/end ]; do sleep 0.1; done; echo down"
"""For `end`."""


def end(server: PodServer, job: str) -> None:
    pod = server.pod_of(job)["metadata"]["name"]
    words = ("-n", server.namespace, "exec", pod, "-c", "runner", "--", "touch", "/tmp/end")
    eventually(lambda: server.api.kubectl(*words).returncode == 0, "the job to be told")


def test_a_job_goes_on_without_its_server(nodes: NodesAccess, new_pods: NewPodServer) -> None:
    server = new_pods(nodes)
    with PodWatch(nodes, server.namespace) as seen:
        runs, ends = server.submit(in_pod(WAITS), in_pod("echo up; sleep 2; echo down"))
        server.says(runs, "up")
        server.says(ends, "up")
        server.kill()
        server.api.pod_when(
            server.namespace,
            server.pod_of(ends)["metadata"]["name"],
            lambda pod: any("terminated" in one["state"] for one in pod["status"]["containerStatuses"]),
        )
        server.start()
        end(server, runs)
        for job in (runs, ends):
            assert server.over(job).succeeded
            assert server.output(job) == "up\ndown\n"
            assert len(seen.of(job)) == 1
            assert len(server.client.job(job).attempts) == 1
    server.leaves_nothing()


def test_a_server_that_is_killed_at_any_stage_starts_no_pod_twice(
    nodes: NodesAccess, new_pods: NewPodServer, tmp_path: Path
) -> None:
    """With input files: pods are made, wait for their files, get them and run while it is killed."""
    server = new_pods(nodes)
    (tmp_path / "data").write_bytes(bytes(range(256)) * 40_000)
    with PodWatch(nodes, server.namespace) as seen:
        done = rota_in(
            tmp_path, server, "submit", "--clean", "-o", "name", "--array", "0-5", "--image", BUSYBOX,
            "--cpus", "0.05", "--memory", "32Mi", "--file", "data", "--", "sh", "-c",
            "wc -c < data; sleep 0.5",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        for pause_s in (0.2, 0.6, 1.2, 2.0):
            time.sleep(pause_s)
            server.kill()
            server.start()
        eventually(lambda: not any(server.unfinished()), "all jobs to end")
        jobs = list(server.client.jobs())
        assert len(jobs) == 6
        for job in jobs:
            assert job.succeeded, server.client.job(job.id)
            assert server.output(job.id).split() == ["10240000"]
            assert len(seen.of(job.id)) == 1
    server.leaves_nothing()


def test_a_restart_of_the_api_server_interrupts_nothing(
    breakable_nodes: NodeCluster, new_pods: NewPodServer
) -> None:
    server = new_pods(breakable_nodes.access)
    job = server.submit_one(in_pod(WAITS))
    server.says(job, "up")
    breakable_nodes.plane.stop_api_server()
    breakable_nodes.plane.start_api_server()
    later = server.submit_one(in_pod("echo later"))
    assert server.over(later).succeeded
    end(server, job)
    assert server.over(job).succeeded
    assert server.output(job) == "up\ndown\n"
    assert len(server.client.job(job).attempts) == 1
    server.leaves_nothing()


def test_jobs_of_a_node_without_power_run_on_another(
    breakable_nodes: NodeCluster, new_pods: NewPodServer
) -> None:
    server = new_pods(breakable_nodes.access)
    job = server.submit_one(in_pod(WAITS))
    server.says(job, "up")
    first = breakable_nodes.node(server.last_attempt(job).node)
    first.power_off()
    try:
        eventually(lambda: len(server.client.job(job).attempts) == 2, "another attempt")
        attempts = server.client.job(job).attempts
        assert attempts[0].reason is EndReason.LOST
        assert first.name in attempts[0].message
        assert attempts[1].node != first.name
        eventually(lambda: server.output(job).count("up") == 2, "it to run again")
        end(server, job)
        assert server.over(job).succeeded
    finally:
        first.restart()
        breakable_nodes.await_ready([first])
    server.leaves_nothing()


def test_a_kubelet_that_is_away_for_a_moment_loses_nothing(
    breakable_nodes: NodeCluster, new_pods: NewPodServer
) -> None:
    server = new_pods(breakable_nodes.access, 'lost_after = "5m"')
    job = server.submit_one(in_pod("echo up; sleep 3; echo down; exit 3"))
    server.says(job, "up")
    node = breakable_nodes.node(server.last_attempt(job).node)
    node.stop("kubelet")
    server.api.wait_until(lambda: not server.api.is_ready(node.name))
    node.start_kubelet()
    breakable_nodes.await_ready([node])
    assert server.over(job).phase is Phase.FAILED
    assert server.output(job) == "up\ndown\n"
    [attempt] = server.client.job(job).attempts
    assert (attempt.reason, attempt.exit_code) == (EndReason.EXITED, 3)
    server.leaves_nothing()


def test_a_drained_node_gives_its_jobs_away(breakable_nodes: NodeCluster, new_pods: NewPodServer) -> None:
    server = new_pods(breakable_nodes.access)
    job = server.submit_one(in_pod(WAITS))
    server.says(job, "up")
    node = server.last_attempt(job).node
    drained = server.api.kubectl("drain", node, "--force", "--delete-emptydir-data", "--timeout=60s")
    try:
        assert drained.returncode == 0, drained.stderr
        eventually(lambda: len(server.client.job(job).attempts) == 2, "another attempt")
        attempts = server.client.job(job).attempts
        assert attempts[0].reason is EndReason.LOST
        assert attempts[1].node != node
        eventually(lambda: server.output(job).count("up") == 2, "it to run again")
        end(server, job)
        assert server.over(job).succeeded
    finally:
        server.api.kubectl("uncordon", node)
    server.leaves_nothing()
