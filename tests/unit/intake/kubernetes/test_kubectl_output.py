"""A whole cluster as kubectl printed it."""

import json
from pathlib import Path

import pytest

from rota.intake.documents.document import parse_documents, read_documents
from rota.intake.kubernetes import Reading, read_cluster
from rota.model.job import JobRecord
from rota.model.node import Node

CLUSTER = Path(__file__).parents[3] / "data" / "kubernetes" / "cluster.yaml"


@pytest.fixture(scope="module")
def cluster() -> Reading:
    return read_cluster(read_documents(CLUSTER))


def node(cluster: Reading, name: str) -> Node:
    [found] = [one for one in cluster.records.nodes if one.name == name]
    return found


def job(cluster: Reading, name: str) -> JobRecord:
    [found] = [one for one in cluster.records.jobs if one.job.id == name]
    return found


def test_all_that_matters_is_there(cluster: Reading) -> None:
    assert [one.name for one in cluster.records.nodes] == ["control-1", "gpu-1", "gpu-2", "lost-1"]
    assert sorted(one.job.id for one in cluster.records.jobs) == [
        "kube-system/kube-proxy-x7k2p",
        "research/gang:train-llm",
        "research/sweep",
        "research/sweep-qm4zt",
    ]
    assert [str(note) for note in cluster.notes] == [f"{CLUSTER}: Service is not read: kubernetes"]


def test_nodes(cluster: Reading) -> None:
    gpu = node(cluster, "gpu-1")
    assert gpu.ready
    assert gpu.spec.capacity.cpu_milli == 31850
    assert gpu.spec.capacity.memory_bytes == 260045824 * 2**10
    assert dict(gpu.spec.capacity.extended) == {"hugepages-2Mi": 2**30, "nvidia.com/gpu": 4}
    assert [taint.key for taint in node(cluster, "gpu-2").spec.taints] == ["node.kubernetes.io/unschedulable"]
    assert len(node(cluster, "lost-1").spec.taints) == 2


def test_a_daemon_pod_runs_on_its_node(cluster: Reading) -> None:
    daemon = job(cluster, "kube-system/kube-proxy-x7k2p")
    [placement] = daemon.placements
    assert (placement.rank, placement.node, placement.started_ms) == (0, "gpu-1", 1_714_550_750_000)
    assert daemon.job.template.priority == 2_000_001_000
    assert [port.port for port in daemon.job.template.groups[0].spec.ports] == [10249]


def test_the_batch_job_would_start_two_more(cluster: Reading) -> None:
    sweep = job(cluster, "research/sweep")
    assert sweep.job.task_names == ("research/sweep-0", "research/sweep-1")
    assert job(cluster, "research/sweep-qm4zt").placements
    created = job(cluster, "research/sweep-qm4zt").job.template.groups[0].spec
    assert sweep.job.template.groups[0].spec.requests == created.requests


def test_the_gang_waits_as_one(cluster: Reading) -> None:
    gang = job(cluster, "research/gang:train-llm")
    template = gang.job.template
    assert gang.job.task_names == ("research/train-llm-0", "research/train-llm-1")
    assert list(gang.waiting_ranks()) == [0, 1]
    assert (template.min_count, template.priority, template.may_preempt) == (2, 100_000, False)
    assert template.scheduler == "batch-scheduler"
    first, second = (group.spec for group in template.groups)
    assert first.requests.cpu_milli == 8100, "the sidecar included"
    [usable] = first.volume_nodes
    assert usable.terms[0].labels.requirements[0].values == ("gpu-1",), "where its volume is"
    assert second.requests.extended == (("nvidia.com/gpu", 2),)


def test_as_json_it_is_the_same_cluster(cluster: Reading) -> None:
    [document] = read_documents(CLUSTER)
    as_json = parse_documents(json.dumps(document.data).encode(), "cluster.json")
    assert read_cluster(as_json).records == cluster.records


def test_objects_in_another_order_are_the_same_cluster(cluster: Reading) -> None:
    [document] = read_documents(CLUSTER)
    data = document.data
    assert isinstance(data, dict)
    backwards = json.dumps({**data, "items": data["items"][::-1]}).encode()
    records = read_cluster(parse_documents(backwards, "cluster.json")).records
    assert {one.name: one for one in records.nodes} == {one.name: one for one in cluster.records.nodes}
    assert {one.job.id: one for one in records.jobs} == {one.job.id: one for one in cluster.records.jobs}
