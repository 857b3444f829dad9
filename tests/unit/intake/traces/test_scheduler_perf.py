"""kube-scheduler's workloads: every one can be read, with its nodes, pods and constraints."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rota.intake.traces.files import TraceOptions
from rota.model.job import TopologyMode, TopologyRule
from rota.model.task import TaskSpec
from rota.model.workload import Workload
from tests.unit.intake.traces.reading import DATA, left_out, read_data, refusal

pytestmark = pytest.mark.slow

FILE = "scheduler-perf.json"
FACTS: dict[str, Any] = {case["name"]: case for case in json.loads((DATA / FILE).read_text())["workloads"]}


def read(name: str) -> Workload:
    return read_data(FILE, TraceOptions(workload=name))


def measured(workload: Workload) -> TaskSpec:
    return workload.jobs[-1].job.template.groups[0].spec


@pytest.mark.parametrize("name", FACTS)
def test_has_the_nodes_and_pods_that_the_facts_state(name: str) -> None:
    workload, facts = read(name), FACTS[name]
    running = [one for one in workload.jobs if one.placements]
    waiting = [one for one in workload.jobs if not one.placements]
    assert workload.name == name
    assert len(workload.nodes) == facts["nodes"]
    assert len(running) == facts["init_pods"]
    assert sum(one.job.template.task_count for one in waiting) == facts["measured_pods"]
    assert all(one.arrival_ms == 0 and one.is_endless for one in waiting)
    assert len({one.job.id for one in workload.jobs}) == len(workload.jobs)


@pytest.mark.parametrize("name", FACTS)
def test_puts_no_more_on_a_node_than_it_holds(name: str) -> None:
    workload = read(name)
    cpu_milli, pods = Counter[str](), Counter[str]()
    ports = set()
    for one in workload.jobs:
        spec = one.job.template.groups[0].spec
        for placement in one.placements:
            cpu_milli[placement.node] += spec.requests.cpu_milli
            pods[placement.node] += 1
            for port in spec.ports:
                assert (placement.node, port) not in ports
                ports.add((placement.node, port))
    for node in workload.nodes:
        assert cpu_milli[node.name] <= node.spec.capacity.cpu_milli
        assert pods[node.name] <= node.spec.capacity.slots


def test_affinity() -> None:
    workload = read("affinity")
    [term] = measured(workload).job_affinity
    assert (term.topology_key, term.is_required, term.anti) == ("zone", True, False)
    assert term.namespaces == ("sched-0", "sched-1")
    assert {one.job.template.namespace for one in workload.jobs} == {"sched-0", "sched-1"}
    assert workload.jobs[0].job.template.groups[0].spec == measured(workload)
    assert {node.spec.labels for node in workload.nodes} == {(("zone", "zone1"),)}


def test_anti_affinity() -> None:
    workload = read("anti-affinity")
    [term] = measured(workload).job_affinity
    assert (term.topology_key, term.is_required, term.anti) == ("host", True, True)
    placed = [one.placements[0].node for one in workload.jobs if one.placements]
    assert len(placed) == len(set(placed)) == 1000


def test_wishes() -> None:
    [near] = measured(read("preferred-affinity")).job_affinity
    [away] = measured(read("preferred-anti-affinity")).job_affinity
    assert (near.weight, near.anti, away.weight, away.anti) == (1, False, 1, True)


@pytest.mark.parametrize("name, required", [("spread", True), ("preferred-spread", False)])
def test_spread(name: str, required: bool) -> None:
    workload = read(name)
    [spread] = measured(workload).spread
    assert (spread.topology_key, spread.max_skew, spread.required) == ("zone", 5, required)
    assert spread.selector.selects(measured(workload).labels)
    assert not workload.jobs[0].job.template.groups[0].spec.spread
    zones = Counter(dict(node.spec.labels)["zone"] for node in workload.nodes)
    assert sorted(zones.items()) == [("moon-1", 1667), ("moon-2", 1667), ("moon-3", 1666)]


def test_mixed_has_five_kinds_of_init_pods() -> None:
    workload = read("mixed")
    kinds = Counter(one.job.template.groups[0].spec for one in workload.jobs if one.placements)
    assert list(kinds.values()) == [2000] * 5
    assert not measured(workload).job_affinity


def test_node_affinity_and_the_one_named_node() -> None:
    [term] = measured(read("node-affinity")).node_affinity
    assert term.labels.requirements[0].values == ("zone1", "zone2")
    workload = read("daemonset-pin")
    [term] = measured(workload).node_affinity
    assert term.names[0].values == ("scheduler-perf-node",)
    node = workload.nodes[-1]
    assert (node.name, node.spec.capacity.slots) == ("scheduler-perf-node", 90_000)
    assert workload.nodes[0].spec.capacity.slots == 110


def test_gangs() -> None:
    workload = read("gang-rack")
    template = workload.jobs[0].job.template
    assert (template.task_count, template.min_count) == (4, 4)
    assert template.topology == (TopologyRule("rack", TopologyMode.SAME),)
    assert len({node.spec.labels for node in workload.nodes}) == 50


def test_preemption() -> None:
    workload = read("gang-preemption")
    assert workload.jobs[-1].job.template.priority == 8_888_888
    assert Counter(Counter(one.placements[0].node for one in workload.jobs if one.placements).values()) == {
        10: 100
    }


def test_says_what_is_left_out() -> None:
    gated = read("gated")
    assert left_out(gated, "gate").count == 10_000
    assert [one.run_ms for one in gated.jobs[:3]] == [20, 40, 60]
    assert gated.nodes[0].spec.capacity.slots == 90_000
    assert left_out(read("unschedulable-churn"), "created every 200 ms").count == 0
    assert left_out(read("preemption-async"), "preemption churn").first_line == 0


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    ("name", "old", "new", "field", "words"),
    [
        ("spread", "maxSkew 5 over zone, DoNot", "maxSkew five, DoNot", "features[0]", "doesn't know"),
        ("gang-3x3000", '"groups": 3000', '"groups": 2999', "gang", "come to 9000 pods"),
        ("gang-preemption", "8000 + (index", "8000 plus (index", "init_pod.host_port", "doesn't know"),
        (
            "gang-preemption",
            '"host_port": "8000',
            '"host_port": "80000',
            "init_pod.host_port",
            "no such ports",
        ),
        ("basic-10k", '"nodes": 5000', '"nodes": 0', "nodes", "out of range"),
        ("basic-10k", '"nodes": 5000, ', "", "nodes", "is missing"),
    ],
)
def test_bad_input(tmp_path: Path, name: str, old: str, new: str, field: str, words: str) -> None:
    text = (DATA / FILE).read_text()
    assert old in text
    error = refusal(tmp_path, text.replace(old, new, 1), "bad.json", TraceOptions(workload=name))
    assert error.field.endswith(field)
    assert error.line
    assert words in error.problem
