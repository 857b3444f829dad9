"""`rota plan` says when waiting jobs start: in data and in tables, of plans made by hand."""

from __future__ import annotations

import io
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from msgspec import to_builtins
from rich.console import Console

from rota.cli.questions.plan_tables import plan_tables
from rota.cli.questions.waiting_table import waiting_table
from rota.intake.documents.document import parse_documents
from rota.intake.files import records_from_documents
from rota.model.calendar import PlannedStart
from rota.model.cluster import ClusterRecords
from rota.model.estimate import Estimate
from rota.model.ids import JobId, NodeName
from rota.model.job import Placement
from rota.model.plan import Eviction, EvictionCause, Plan, Waiting
from rota.model.reasons import Insufficient, PromisedLater
from rota.model.taints import Effect
from rota.model.verdict import Kind, Refusal, Verdict
from rota.plugins.taints import UntoleratedTaint
from rota.snapshot import snapshot_of
from rota.views.plan.document import plan_document
from rota.views.plan.view import PlanView
from rota.views.times import Clock

NOW_MS = round(datetime(2026, 3, 28, 11, tzinfo=UTC).timestamp() * 1000)
MINUTE, HOUR = 60_000, 3_600_000
BERLIN = ZoneInfo("Europe/Berlin")
FULL = Refusal(Insufficient("cpu", 8000, 6500), 1)
CLUSTER = """
nodes: [{name: n, count: 3, resources: {cpu: 8}}]
jobs:
- {name: train, tasks: 2, resources: {cpu: 8}}
- {name: desk, resources: {cpu: 8}}
- {name: ci-0, resources: {cpu: 8}}
- {name: ci-1, resources: {cpu: 8}}
- {name: ci-2, resources: {cpu: 8}}
- {name: old, tasks: 2, running_on: [n-0, n-1]}
"""
GANG = """
apiVersion: v1
kind: Pod
metadata: {name: w%d, labels: {batch.scheduling.k8s.io/gang: train}}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
---
"""


def read(cluster: str) -> ClusterRecords:
    return records_from_documents(parse_documents(cluster.encode(), "cluster.yaml"))


def view(plan: Plan, cluster: str = CLUSTER) -> PlanView:
    return PlanView(plan, snapshot_of(read(cluster)))


def waiting(*jobs: str, reason: Refusal = FULL) -> Waiting:
    return Waiting(tuple(JobId(job) for job in jobs), Verdict(Kind.NOT_NOW, (reason,)))


def start(job: str, in_ms: int, *nodes: str, promised: bool = False) -> PlannedStart:
    placements = tuple(Placement(rank, NodeName(node), NOW_MS + in_ms) for rank, node in enumerate(nodes))
    return PlannedStart(JobId(job), NOW_MS + in_ms, placements, promised)


def table(plan: Plan, *, wide: bool = False, columns: int = 100, zone: tzinfo = UTC) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=columns, highlight=False)
    for part in plan_tables(view(plan), Clock(NOW_MS, zone), wide=wide):
        console.print(part)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.covers("time-1")
class TestData:
    def test_exactly(self) -> None:
        plan = Plan(
            waiting=(waiting("desk", "train"),),
            starts=(start("train", HOUR, "n-0", "n-1"), start("desk", 2 * HOUR, "n-0", promised=True)),
        )
        assert to_builtins(plan_document(view(plan)))["starts"] == [
            {"job": "desk", "start": "2026-03-28T13:00:00Z", "nodes": ["n-0"], "promised": True},
            {"job": "train", "start": "2026-03-28T12:00:00Z", "nodes": ["n-0", "n-1"], "promised": False},
        ]

    def test_nodes_are_in_the_order_of_ranks(self) -> None:
        planned = PlannedStart(
            JobId("train"), NOW_MS, (Placement(1, NodeName("n-0")), Placement(0, NodeName("n-2")))
        )
        [entry] = plan_document(view(Plan(waiting=(waiting("train"),), starts=(planned,)))).starts
        assert entry.nodes == ["n-2", "n-0"]

    def test_a_start_need_not_know_its_nodes(self) -> None:
        [entry] = plan_document(view(Plan(waiting=(waiting("desk"),), starts=(start("desk", 0),)))).starts
        assert (entry.job, entry.nodes) == ("desk", [])

    def test_pods_of_a_gang_are_known_by_their_names(self) -> None:
        pods = "nodes: [{name: n, resources: {cpu: 8}}]\n---" + "".join(GANG % number for number in range(2))
        [gang] = (record.job.id for record in read(pods).jobs)
        plan = Plan(waiting=(waiting(gang),), starts=(start(gang, HOUR, "n", "n"),))
        assert [(one.job, one.nodes) for one in plan_document(view(plan, pods)).starts] == [
            ("default/w0", ["n"]),
            ("default/w1", ["n"]),
        ]

    def test_a_start_in_the_far_future(self) -> None:
        plan = Plan(waiting=(waiting("desk"),), starts=(PlannedStart(JobId("desk"), 1 << 60),))
        assert plan_document(view(plan)).starts[0].start == "9999-12-31T00:00:00Z"

    @pytest.mark.covers("time-5")
    def test_an_eviction_says_if_it_ends_the_job(self) -> None:
        evictions = tuple(
            Eviction(JobId("old"), rank, NodeName(f"n-{rank}"), EvictionCause.MAINTENANCE, ends_job=rank == 1)
            for rank in range(2)
        )
        assert to_builtins(plan_document(view(Plan(evictions=evictions))))["evictions"] == [
            {"job": "old", "task": "old/0", "node": "n-0", "for": None},
            {"job": "old", "task": "old/1", "node": "n-1", "for": None, "ends_job": True},
        ]


@pytest.mark.covers("time-1")
class TestTables:
    def test_one_job_a_row(self) -> None:
        plan = Plan(
            waiting=(
                waiting("desk", reason=Refusal(PromisedLater(NOW_MS + 125 * MINUTE), 0)),
                waiting("train"),
            ),
            starts=(start("desk", 125 * MINUTE, promised=True), start("train", 19 * HOUR)),
        )
        assert table(plan, zone=BERLIN)[:6] == [
            "Waits",
            "JOB    VERDICT  STARTS                   NODES  WHY",
            "desk   not now  14:05                           promised to start at 14:05",
            "                in 2 h 05 min, promised",
            "train  not now  2026-03-29 08:00 +02:00      1  insufficient cpu: asks 8, most free 6.5",
            "                in 19 h",
        ]

    def test_jobs_that_wait_for_the_same(self) -> None:
        plan = Plan(
            waiting=(waiting("ci-0", "ci-1", "ci-2"),),
            starts=(start("ci-2", HOUR, promised=True), start("ci-0", 2 * HOUR)),
        )
        assert table(plan)[2:5] == [
            "ci-[0-2]  not now  12:00 to 13:00          1  insufficient cpu: asks 8, most free 6.5",
            "                   in 1 h, 1 promised",
            "                   1 not planned",
        ]

    def test_jobs_that_start_at_the_same_time(self) -> None:
        plan = Plan(
            waiting=(waiting("ci-0", "ci-1"),),
            starts=(start("ci-0", HOUR, promised=True), start("ci-1", HOUR, promised=True)),
        )
        assert "12:00  " in table(plan)[2]
        assert "in 1 h, promised" in table(plan)[3]

    def test_a_job_without_a_start_beside_one_that_has_one(self) -> None:
        plan = Plan(waiting=(waiting("desk"), waiting("train")), starts=(start("desk", 0),))
        lines = table(plan)
        assert lines[3].strip() == "now"
        assert lines[4].split()[:5] == ["train", "not", "now", "1", "insufficient"]

    def test_no_column_where_nothing_is_planned(self) -> None:
        assert table(Plan(waiting=(waiting("desk"),)))[1].split() == ["JOB", "VERDICT", "NODES", "WHY"]

    def test_wide_says_where(self) -> None:
        plan = Plan(waiting=(waiting("train"),), starts=(start("train", HOUR, "n-0", "n-2"),))
        lines = table(plan, wide=True)
        assert lines[1].split() == ["JOB", "VERDICT", "STARTS", "ON", "NODES", "WHY"]
        assert "n-0, n-2" in lines[2]

    def test_fits_into_80_columns(self) -> None:
        plan = Plan(
            waiting=(waiting("ci-0", "ci-1", "ci-2"), waiting("desk", "train")),
            starts=(
                start("ci-0", 99 * HOUR, "n-0"),
                start("train", 9999 * HOUR, "n-0", "n-1", promised=True),
            ),
        )
        for wide in (False, True):
            assert max(map(len, table(plan, wide=wide, columns=80, zone=BERLIN))) <= 80

    def test_reasons_beyond_the_main_ones_keep_their_column(self) -> None:
        refusals = tuple(Refusal(UntoleratedTaint(f"t{at}", "", Effect.NO_SCHEDULE), 1) for at in range(5))
        entry = Waiting((JobId("desk"),), Verdict(Kind.NOT_NOW, refusals))
        lines = table(Plan(waiting=(entry,), starts=(start("desk", HOUR),)))
        assert [line.split()[-1] for line in lines if "reasons" in line] == ["reasons"]
        assert lines[1].index("WHY") == next(line for line in lines if "reasons" in line).index("2 other")

    @pytest.mark.covers("time-5")
    def test_maintenance_that_ends_a_job(self) -> None:
        evictions = tuple(
            Eviction(JobId("old"), rank, NodeName(f"n-{rank}"), EvictionCause.MAINTENANCE, ends_job=rank == 1)
            for rank in range(2)
        )
        assert table(Plan(evictions=evictions))[2:4] == [
            "old      1  n-0    maintenance",
            "old      1  n-1    maintenance, ends the job",
        ]


@pytest.mark.covers("time-1")
def test_estimates_beside_what_is_promised_and_what_nobody_knows() -> None:
    plan = Plan(
        waiting=(waiting("ci-0", "ci-1", "ci-2"), waiting("desk"), waiting("train")),
        starts=(start("ci-2", HOUR, promised=True), start("ci-0", 2 * HOUR), start("desk", 3 * HOUR)),
    )
    told = Estimate(NOW_MS, NOW_MS + 40 * MINUTE + 20_000, NOW_MS + 2 * HOUR + 20_000)
    shown = PlanView(plan, snapshot_of(read(CLUSTER)), {JobId("ci-0"): told})
    out = io.StringIO()
    Console(file=out, width=120, highlight=False).print(waiting_table(shown, Clock(NOW_MS, UTC), wide=True))
    cells = [line[19:41].strip() for line in out.getvalue().splitlines()]
    assert cells == [
        "STARTS",
        "12:00",
        "in 1 h, 1 promised",
        "about 11:40, by 13:01",
        "in 40 min",
        "1 not planned",
        "14:00",
        "in 3 h",
        "",
    ]
