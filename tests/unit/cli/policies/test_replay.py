"""`rota replay`: what is shown of recorded cycles, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rota.loop.records.plugin_origins import PluginOrigin
from rota.loop.records.record import Recorder
from rota.model.cluster import ClusterRecords
from rota.model.ids import NodeName
from rota.model.plan import Plan
from rota.model.policy import PluginConfig, Policy
from tests.builders import Cluster, policy
from tests.properties.carry_out import plan_for
from tests.unit.cli.calling import rota, write
from tests.unit.loop.recording import nothing_learnt, record_plans
from tests.words import NOW_MS

CLUSTER = Cluster().nodes("a b", cpu=4).running("old", on=["a"], cpu=1)
RECORDS = CLUSTER.job("big", cpu=8).job("new", cpu=1).records
PACKING = "strategy: bin-packing\n"


def record(folder: Path, records: ClusterRecords, *plans: Plan) -> None:
    with Recorder(folder) as recorder:
        for plan in plans:
            recorder.decided(records, nothing_learnt, Policy(), NOW_MS, plan)


def decided() -> Plan:
    return plan_for(RECORDS, Policy(), NOW_MS)


def moved(node: str) -> Plan:
    plan = decided()
    return replace(plan, bindings=(replace(plan.bindings[0], node=NodeName(node)),))


@pytest.mark.covers("why-4")
class TestTheSamePolicy:
    def test_all_plans_equal(self, tmp_path: Path) -> None:
        record_plans(tmp_path, RECORDS, [Policy()] * 3)
        result = rota("replay", str(tmp_path))
        assert (result.code, result.err) == (0, "")
        assert result.out == "3 cycles replayed, every plan equal\n"

    def test_only_cycles_that_differ_are_shown(self, tmp_path: Path) -> None:
        record(tmp_path, RECORDS, decided(), moved("a"), decided())
        result = rota("replay", str(tmp_path), columns=120)
        assert result.code == 2
        summary, _, heading, columns, row = result.lines
        assert heading == "Differs from the record"
        assert columns.split() == ["CYCLE", "TIME", "JOBS", "FIRST", "DIFFERENCE"]
        assert row.split(maxsplit=3)[0] == "2"
        assert row.rstrip().endswith("new starts on b instead of a")
        assert summary == (
            "3 cycles replayed, 2 plans equal, 1 differs; first cycle 2: new starts on b instead of a"
        )

    def test_a_start_that_was_none(self, tmp_path: Path) -> None:
        record(tmp_path, RECORDS, replace(decided(), bindings=()))
        assert "new: starts on b; it was: nothing" in rota("replay", str(tmp_path), columns=150).out

    def test_tasks_that_change_places(self, tmp_path: Path) -> None:
        records = Cluster().nodes("a b", cpu=1).job("pair", tasks=2, cpu=1).records
        plan = plan_for(records, Policy(), NOW_MS)
        first, second = plan.bindings
        swapped = (replace(first, node=second.node), replace(second, node=first.node))
        record(tmp_path, records, replace(plan, bindings=swapped))
        result = rota("replay", str(tmp_path), columns=150)
        assert "pair task 0 on a, task 1 on b instead of task 0 on b, task 1 on a" in result.out

    def test_reasons_that_only_the_whole_verdict_tells(self, tmp_path: Path) -> None:
        records = Cluster().node("a", cpu=1).node("b", cpu=1, cordoned=True).node("c", cpu=1, ready=False)
        records = records.running("old", on=["a"], cpu=1).job("new", cpu=1)
        plan = plan_for(records.records, Policy(), NOW_MS)
        (waiting,) = plan.waiting
        *others, last = waiting.verdict.refusals
        verdict = replace(waiting.verdict, refusals=(*others, replace(last, nodes=7)))
        record(tmp_path, records.records, replace(plan, waiting=(replace(waiting, verdict=verdict),)))
        result = rota("replay", str(tmp_path), columns=500)
        assert result.code == 2
        assert len(others) >= 2
        assert "(7 nodes)" in result.out

    def test_another_order_differs_too(self, tmp_path: Path) -> None:
        records = Cluster().node("a", cpu=4).job("x", cpu=1).job("y", cpu=2).records
        plan = plan_for(records, Policy(), NOW_MS)
        record(tmp_path, records, replace(plan, bindings=plan.bindings[::-1]))
        result = rota("replay", str(tmp_path))
        assert result.code == 2
        assert "the same, in another order" in result.out

    def test_many_rows_are_cut_unless_asked_for(self, tmp_path: Path) -> None:
        record(tmp_path, RECORDS, *[moved("a")] * 45)
        assert "… and 40 more (--all shows them)" in rota("replay", str(tmp_path), columns=120).lines
        for asked in (("--all",), ("-o", "wide")):
            assert len(rota("replay", str(tmp_path), *asked, columns=120).lines) == 49


@pytest.mark.covers("why-4")
class TestAnotherPolicy:
    def test_what_would_differ(self, tmp_path: Path) -> None:
        record_plans(tmp_path / "record", RECORDS, [Policy()] * 2)
        (file,) = write(tmp_path, policy=PACKING)
        result = rota("replay", str(tmp_path / "record"), "--policy", file, columns=150)
        assert result.code == 2
        first, _, heading, columns, *_ = result.lines
        assert heading == f"Would differ under {file}"
        assert columns.split()[:3] == ["CYCLE", "TIME", "ELSEWHERE"]
        summary = "2 cycles replayed, 1 plan equal, 1 differs; of the jobs, 1 would start elsewhere"
        assert first == summary

    def test_one_cycle_in_detail(self, tmp_path: Path) -> None:
        record_plans(tmp_path / "record", RECORDS, [Policy()] * 2)
        (file,) = write(tmp_path, policy=PACKING)
        result = rota("replay", str(tmp_path / "record"), "--policy", file, "--cycle", "1", columns=150)
        assert result.code == 2
        _, _, heading, inputs, columns, row, *_ = result.lines
        assert heading.startswith("Cycle 1 at 20")
        assert inputs.startswith("inputs ")
        assert columns.split()[:3] == ["JOB", "RECORDED", "UNDER"]
        assert row.split() == ["new", "starts", "on", "b", "starts", "on", "a"]

    def test_evictions(self, tmp_path: Path) -> None:
        records = Cluster().node("a", cpu=1).running("low", on=["a"], cpu=1, priority="low").job("top", cpu=1)
        record_plans(tmp_path / "record", records.records, [Policy()])
        (file,) = write(tmp_path, policy="preemption: {enabled: false}\n")
        result = rota("replay", str(tmp_path / "record"), "-p", file, "--cycle", "1", columns=200)
        assert "evicted from a (preempted for top)" in result.out
        assert "waits: insufficient cpu: asks 1, most free 0 (1 node)" in result.out

    def test_the_policy_may_be_wrong(self, tmp_path: Path) -> None:
        record_plans(tmp_path / "record", RECORDS, [Policy()])
        (file,) = write(tmp_path, policy="strategy: best\n")
        result = rota("replay", str(tmp_path / "record"), "--policy", file)
        assert result.code == 1
        assert result.err.startswith(f"rota: {file}:1: strategy: ")


class TestData:
    def test_has_these_keys_and_no_others(self, tmp_path: Path) -> None:
        record(tmp_path, RECORDS, decided(), moved("a"))
        data = rota("replay", str(tmp_path), "-o", "json").data
        assert list(data) == ["cycles", "equal", "first", "last", "different", "damage", "warnings"]
        (cycle,) = data["different"]
        assert list(cycle) == ["cycle", "time", "input_hash", "jobs", "faults_gone", "faults_new"]
        assert (data["cycles"], data["equal"], data["first"], data["last"]) == (2, 1, 1, 2)
        assert (cycle["cycle"], len(cycle["input_hash"])) == (2, 64)
        (job,) = cycle["jobs"]
        nothing: dict[str, Any] = {"starts": [], "evictions": [], "reasons": [], "planned": None}
        assert job == {
            "job": "new",
            "effects": ["elsewhere"],
            "recorded": {**nothing, "starts": [{"rank": 0, "node": "a", "gpus": []}]},
            "decided": {**nothing, "starts": [{"rank": 0, "node": "b", "gpus": []}]},
        }

    def test_of_a_cycle_that_is_equal(self, tmp_path: Path) -> None:
        record(tmp_path, RECORDS, decided())
        result = rota("replay", str(tmp_path), "--cycle", "1", "-o", "json")
        assert (result.code, result.data["different"]) == (0, [])


class TestBadInput:
    @pytest.mark.parametrize("form", ["table", "json"])
    def test_what_can_be_read_is_shown(self, tmp_path: Path, form: str) -> None:
        record_plans(tmp_path, RECORDS, [Policy()] * 3)
        file = tmp_path / "cycles-000000001.log"
        file.write_bytes(file.read_bytes()[:-5])
        result = rota("replay", str(tmp_path), "-o", form)
        assert result.code == 1
        assert ("2 cycles replayed, every plan equal" in result.out) == (form == "table")
        assert result.err.startswith(f"rota: {file}: byte ")
        assert "the entry is cut off; cycle 3 and whatever followed it can't be replayed" in result.err
        if form == "json":
            assert len(result.data["damage"]) == 1

    def test_nothing_can_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "cycles-000000001.log").write_text("rota-cycles 3 9.0\n")
        result = rota("replay", str(tmp_path))
        assert (result.code, result.out) == (1, "no cycle can be replayed\n")
        assert "format 3, written by rota 9.0" in result.err

    def test_no_record(self, tmp_path: Path) -> None:
        result = rota("replay", str(tmp_path))
        assert result.code == 1
        assert result.err == (
            f"rota: {tmp_path}: no cycles are recorded here; give a folder that --record wrote\n"
        )

    def test_no_such_cycle(self, tmp_path: Path) -> None:
        record_plans(tmp_path, RECORDS, [Policy()])
        result = rota("replay", str(tmp_path), "--cycle", "2")
        assert result.code == 1
        assert "there is no cycle 2" in result.err
        assert rota("replay", str(tmp_path), "--cycle", "0").code == 1

    def test_a_plugin_that_is_missing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        recorded = (PluginOrigin("green", "rota-green", "1.0"),)
        monkeypatch.setattr("rota.loop.records.record.origins_of", lambda policy: recorded)
        record_plans(tmp_path, RECORDS, [policy(plugins=(PluginConfig("green"),))])
        result = rota("replay", str(tmp_path))
        assert (
            "rota: warning: plugin green was rota-green 1.0 when cycles were recorded and is not installed"
            in result.err
        )
