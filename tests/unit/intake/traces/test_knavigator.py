"""knavigator's workloads: gangs on whole nodes, and a tree of switches."""

from pathlib import Path

import pytest

from rota.intake.traces.files import TraceOptions
from tests.unit.intake.traces.reading import DATA, read_data, refusal

GANG = "knavigator-gang.json"
OTHERS = "knavigator-scaling-and-topology.json"


def test_the_gangs_fill_the_nodes_nine_times() -> None:
    workload = read_data(GANG)
    pods = [one.job.template.task_count for one in workload.jobs]
    assert (workload.name, len(workload.jobs), sum(pods), len(workload.nodes)) == ("gang-32x53", 53, 288, 32)
    assert sum(one.run_ms * count for one, count in zip(workload.jobs, pods, strict=True)) == 34_560_000
    assert {one.arrival_ms for one in workload.jobs} == {0}
    assert [one.job.id for one in workload.jobs] == sorted(one.job.id for one in workload.jobs)
    assert pods[:7] == [32, 16, 16, 10, 10, 10, 2]


def test_each_pod_of_a_gang_takes_a_whole_node() -> None:
    workload = read_data(GANG)
    node = workload.nodes[0].spec
    for one in workload.jobs:
        [group] = one.job.template.groups
        assert group.spec.gpu.count == node.gpus.count == 8
        assert group.spec.requests.cpu_milli == node.capacity.cpu_milli == 100
        assert group.spec.requests.memory_bytes == node.capacity.memory_bytes == 250_000_000
        assert one.job.template.min_count == group.count


@pytest.mark.parametrize("name, jobs, tasks", [("multi", 1, 700), ("single", 700, 1)])
def test_scaling(name: str, jobs: int, tasks: int) -> None:
    workload = read_data(OTHERS, TraceOptions(workload=name))
    assert (workload.name, len(workload.jobs), len(workload.nodes)) == (name, jobs, 700)
    assert {(one.job.template.task_count, one.run_ms) for one in workload.jobs} == {(tasks, 300_000)}


def test_network_topology() -> None:
    workload = read_data(OTHERS, TraceOptions(workload="network-topology"))
    [one] = workload.jobs
    spec = one.job.template.groups[0].spec
    assert [node.name for node in workload.nodes if node.cordoned] == ["n1", "n3", "n6", "n11", "n12"]
    assert dict(workload.nodes[4].spec.labels) == {"block": "sw13", "spine": "sw22", "datacenter": "sw31"}
    assert [(term.topology_key, term.weight) for term in spec.job_affinity] == [
        *(("block", 90), ("spine", 70), ("datacenter", 50)),
    ]
    assert all(term.selector.selects(spec.labels) for term in spec.job_affinity)


@pytest.mark.covers("ops-3")
class TestBadInput:
    @pytest.mark.parametrize(
        "name, words", [(None, 'name one: "multi", "single"'), ("mutli", 'mean "multi"')]
    )
    def test_which_one(self, tmp_path: Path, name: str | None, words: str) -> None:
        error = refusal(tmp_path, (DATA / OTHERS).read_text(), "x.json", TraceOptions(workload=name))
        assert words in error.remedy

    @pytest.mark.parametrize(
        ("old", "new", "field", "words"),
        [
            ('"count": 2, "replicas": 16', '"count": 2, "replicas": 15', "jobs", "not the same"),
            ('"gpus": 8', '"gpus": 9', "pod.gpus", "9 GPUs of a node that has 8"),
            ('"gpus": 8', '"gpus": "8"', "pod.gpus", "expected a whole number"),
            ('"cpu": "100m"', '"cpu": "100q"', "pod.cpu", "unknown unit"),
            ('"duration_s": 120', '"duration_s": -120', "duration_s", "out of range"),
            ('"nodes": 32', '"knots": 32', "cluster.nodes", "is missing"),
        ],
    )
    def test_of_a_gang(self, tmp_path: Path, old: str, new: str, field: str, words: str) -> None:
        text = (DATA / GANG).read_text()
        assert old in text
        error = refusal(tmp_path, text.replace(old, new, 1), "bad.json")
        assert (error.field, words in error.problem) == (field, True)
        assert error.line

    def test_of_nodes(self, tmp_path: Path) -> None:
        text = (DATA / OTHERS).read_text().replace('"spine": "sw22", ', "", 1)
        error = refusal(tmp_path, text, "bad.json", TraceOptions(workload="network-topology"))
        assert error.field == "network_topology.nodes[4].spine"

    def test_cut_off(self, tmp_path: Path) -> None:
        error = refusal(tmp_path, (DATA / GANG).read_text()[:2000], "cut.json")
        assert "not valid JSON" in error.problem
        assert error.line
