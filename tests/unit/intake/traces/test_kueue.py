"""Kueue's generator files: as many workloads as its README says, when, whose and of what kind."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from rota.model.job import TopologyMode, TopologyRule
from rota.model.policy import Quota, Reclaim
from rota.model.workload import Workload, cpu_milli_of
from tests.unit.intake.traces.reading import read, read_data, refusal

RACK = "cloud.provider.com/topology-rack"

SMALL = """
cohorts:
- className: team
  count: 2
  queuesSets:
  - className: cq
    count: 1
    nominalQuota: 3
    reclaimWithinCohort: LowerPriority
    workloadsSets:
    - count: 2
      creationIntervalMs: 100
      workloads:
      - {className: a, runtimeMs: 10, priority: 5, request: 1}
      - {className: b, runtimeMs: 0, request: 500m}
"""


@pytest.fixture(scope="module")
def baseline() -> Workload:
    return read_data("kueue-baseline.yaml")


@pytest.fixture(scope="module")
def tas() -> Workload:
    return read_data("kueue-tas.yaml")


def classes(workload: Workload) -> Counter[str]:
    return Counter(dict(one.job.template.labels)["class"] for one in workload.jobs)


def work_cpu_s(workload: Workload) -> float:
    return sum(one.run_ms * cpu_milli_of(one.job.template) for one in workload.jobs) / 1e6


class TestBaseline:
    def test_has_the_totals_of_its_readme(self, baseline: Workload) -> None:
        assert len(baseline.jobs) == 15_000
        assert classes(baseline) == {"small": 10_500, "medium": 3000, "large": 1500}
        assert work_cpu_s(baseline) == 5 * 7920

    def test_arrives_side_by_side_one_an_interval(self, baseline: Workload) -> None:
        arrivals = [
            one.arrival_ms for one in baseline.jobs if one.job.id.startswith("cohort-4/cq-0-5/large-2-")
        ]
        assert arrivals == [1200 * number for number in range(1, 51)]
        assert baseline.jobs[0].arrival_ms == 100
        assert max(one.arrival_ms for one in baseline.jobs) == 60_000
        assert all(one.arrival_ms <= other.arrival_ms for one, other in pairwise(baseline.jobs))

    def test_has_a_template_for_each_class_of_a_queue(self, baseline: Workload) -> None:
        assert len({id(one.job.template) for one in baseline.jobs}) == 5 * 6 * 3
        template = baseline.jobs[-1].job.template
        assert (template.project, template.user, template.priority) == ("cohort-4", "cq-0-5", 200)
        assert template.may_preempt
        assert template.time_limit_ms is None

    def test_has_quotas_that_can_be_borrowed(self, baseline: Workload) -> None:
        assert baseline.fair_share is not None
        assert baseline.fair_share.reclaim is Reclaim.ANY
        assert len(baseline.fair_share.tenants) == 30
        tenant = baseline.fair_share.tenants[0]
        assert tenant.path == "cohort-0/cq-0-0"
        assert tenant.quota == Quota(nominal=(("cpu", 20_000),), borrowable=(("cpu", 100_000),))

    def test_has_a_node_for_each_cohort_as_large_as_its_quotas(self, baseline: Workload) -> None:
        assert [(node.spec.pool, node.spec.capacity.cpu_milli) for node in baseline.nodes] == [
            (f"cohort-{number}", 120_000) for number in range(5)
        ]
        assert all(node.spec.capacity.slots >= 120 for node in baseline.nodes)
        assert all(
            one.job.template.groups[0].spec.pools == (one.job.template.project,) for one in baseline.jobs
        )
        assert any("quotas" in note.reason for note in baseline.notes)


@pytest.mark.slow
def test_large_scale_has_the_totals_of_its_readme() -> None:
    workload = read_data("kueue-large-scale.yaml")
    assert len(workload.jobs) == 50_000
    assert classes(workload) == {"small": 35_000, "medium": 11_000, "large": 4000}
    assert work_cpu_s(workload) == 10 * 8050
    assert max(one.arrival_ms for one in workload.jobs) == 3300
    assert sum(node.spec.capacity.cpu_milli for node in workload.nodes) == 10 * 2_000_000


class TestTopologyAware:
    def test_has_the_totals_of_its_readme(self, tas: Workload) -> None:
        assert len(tas.jobs) == 15_000
        assert classes(tas)["large-balanced-rack"] == 16 * 30
        assert work_cpu_s(tas) == 5 * 7920

    def test_has_the_nodes_of_its_topology(self, tas: Workload) -> None:
        assert len(tas.nodes) == 640
        assert {node.spec.capacity.cpu_milli for node in tas.nodes} == {96_000}
        racks = Counter(dict(node.spec.labels)[RACK] for node in tas.nodes)
        assert set(racks.values()) == {64}
        assert len(racks) == 10
        labels = dict(tas.nodes[0].spec.labels)
        assert labels["kubernetes.io/hostname"] == tas.nodes[0].name
        assert labels["tas-node-group"] == "tas-flavor"

    @pytest.mark.parametrize(
        "kind, tasks, cpu_milli",
        [
            ("small-required-rack", 2, 500),
            ("medium-preferred-rack", 4, 1250),
            ("large-balanced-rack", 8, 2500),
        ],
    )
    def test_has_gangs_of_pods(self, tas: Workload, kind: str, tasks: int, cpu_milli: int) -> None:
        template = next(one.job.template for one in tas.jobs if one.job.template.labels == (("class", kind),))
        [group] = template.groups
        assert (group.count, template.min_count) == (tasks, tasks)
        assert group.spec.requests.cpu_milli == cpu_milli
        assert not group.spec.pools

    def test_maps_required_preferred_and_balanced(self, tas: Workload) -> None:
        templates = {dict(one.job.template.labels)["class"]: one.job.template for one in tas.jobs}
        required = templates["medium-required-rack"]
        assert required.topology == (TopologyRule(RACK, TopologyMode.SAME),)
        assert not required.groups[0].spec.job_affinity

        preferred = templates["medium-preferred-rack"].groups[0].spec
        [affinity] = preferred.job_affinity
        assert (affinity.topology_key, affinity.is_required, affinity.anti) == (RACK, False, False)
        assert affinity.selector.selects(preferred.labels)

        balanced = templates["large-balanced-rack"].groups[0].spec
        [spread] = balanced.spread
        assert (spread.topology_key, spread.max_skew, spread.required) == (RACK, 4, False)
        assert spread.selector.selects(balanced.labels)


def test_entries_of_a_set_take_turns(tmp_path: Path) -> None:
    workload = read(tmp_path, SMALL, "small.yaml")
    jobs = [
        (one.arrival_ms, one.job.id, one.run_ms) for one in workload.jobs if one.job.id.startswith("team-0")
    ]
    assert jobs == [
        (100, "team-0/cq-0-0/a-0-0-0", 10),
        (200, "team-0/cq-0-0/b-0-0-1", 0),
        (300, "team-0/cq-0-0/a-0-1-0", 10),
        (400, "team-0/cq-0-0/b-0-1-1", 0),
    ]
    assert workload.fair_share is not None
    assert workload.fair_share.reclaim is Reclaim.LOWER_PRIORITY
    assert workload.fair_share.tenants[0].quota == Quota(nominal=(("cpu", 3000),))
    assert not workload.jobs[0].job.template.may_preempt


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    ("old", "new", "line", "field", "words"),
    [
        ("runtimeMs: 10", "runtimeMs: -10", 14, "workloads[0].runtimeMs", "out of range"),
        ("runtimeMs: 10", "runtimeMs: soon", 14, "workloads[0].runtimeMs", "expected a whole number"),
        ("runtimeMs: 10", "runtime: 10", 14, "workloads[0].runtime", "unknown field"),
        ("request: 500m", "request: 500q", 15, "workloads[1].request", "unknown unit"),
        ("nominalQuota: 3", "nominalQuota: -3", 8, "nominalQuota", "negative"),
        ("creationIntervalMs: 100", "creationIntervalMs: -1", 12, "creationIntervalMs", "out of range"),
        ("className: a,", "className: a, tasConstraint: required,", 14, "tasConstraint", "within no level"),
        ("className: a,", "className: a, tasLevel: x,", 14, "tasLevel", "without a constraint"),
        (
            "className: a,",
            "className: a, tasLevel: x, tasConstraint: required,",
            14,
            "tasLevel",
            'no level "x"',
        ),
        ("LowerPriority", "Sometimes", 9, "reclaimWithinCohort", "unknown value"),
        ("count: 2\n  queues", "count: 900000\n  queues", 2, "cohorts", "3,600,000 workloads"),
        ("className: team", "className: te/am", 3, "className", "slash"),
    ],
)
def test_bad_input(tmp_path: Path, old: str, new: str, line: int, field: str, words: str) -> None:
    assert old in SMALL
    error = refusal(tmp_path, SMALL.replace(old, new, 1), "bad.yaml")
    assert error.field.endswith(field)
    assert error.line == line
    assert words in error.problem


def test_queues_that_reclaim_differently_are_refused(tmp_path: Path) -> None:
    other = SMALL.replace("cohorts:\n", "").replace("team", "crew").replace("LowerPriority", "Any")
    error = refusal(tmp_path, SMALL + other.lstrip("\n"), "two.yaml")
    assert error.field == "cohorts[1].queuesSets[0].reclaimWithinCohort"
