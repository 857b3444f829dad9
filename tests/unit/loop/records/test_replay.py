"""Recorded cycles are decided again bit for bit, wherever, and under other policies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.engine import decide
from rota.loop.records import replay as replay_module
from rota.loop.records.plugin_origins import PluginOrigin
from rota.loop.records.record import Recorder
from rota.loop.records.replay import OtherPlugin, Replay
from rota.model.calendar import QueueMode, QueueState
from rota.model.cluster import Calendar, ClusterRecords
from rota.model.ids import NodeName, QueueName
from rota.model.job import JobTemplate
from rota.model.policy import Defaults, PlatformDefaults, PluginConfig, Policy
from rota.model.resources import Resources
from rota.snapshot import ClusterState
from rota.snapshot.state import RunTimes
from tests.builders import Cluster, policy
from tests.properties.carry_out import plan_for
from tests.properties.clusters import Situation, policies, situations
from tests.unit.loop.recording import STEP_MS, host, nothing_learnt, record_plans, replayed
from tests.words import NOW_MS


@pytest.mark.covers("why-4")
@given(situations())
@pytest.mark.slow
def test_any_cluster_is_replayed_bit_for_bit(situation: Situation) -> None:
    with TemporaryDirectory() as folder:
        plans = record_plans(Path(folder), situation.records, [situation.policy] * 3)
        found = replayed(Path(folder))
        assert [one.is_equal for one in found] == [True] * 3
        assert [one.recorded for one in found] == plans
        assert [one.decided for one in found] == plans


@pytest.mark.covers("why-4")
@given(situations(), policies())
def test_under_another_policy_it_is_as_if_that_had_decided(situation: Situation, other: Policy) -> None:
    with TemporaryDirectory() as folder:
        record_plans(Path(folder), situation.records, [situation.policy])
        (found,) = replayed(Path(folder), other)
        assert found.decided == plan_for(situation.records, other, NOW_MS)
        assert found.is_equal == (found.decided == found.recorded)


_OTHER_PROCESS = """
import json, sys
from pathlib import Path
from tests.unit.loop.recording import replayed

found = [(one.is_equal, one.input_hash.hex()) for one in replayed(Path(sys.argv[1]))]
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.covers("why-4", "decide-1")
@settings(max_examples=3)
@given(st.lists(situations(), min_size=8, max_size=8), st.integers(1, 2**32 - 1))
def test_a_record_replays_equally_in_another_process(batch: list[Situation], hash_seed: int) -> None:
    with TemporaryDirectory() as folder:
        for one in batch:
            record_plans(Path(folder), one.records, [one.policy] * 2)
        here = [[one.is_equal, one.input_hash.hex()] for one in replayed(Path(folder))]
        other = subprocess.run(
            [sys.executable, "-c", _OTHER_PROCESS, folder],
            capture_output=True,
            check=True,
            cwd=Path(__file__).parents[4],
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        )
    assert len(here) == 16
    assert json.loads(other.stdout) == here
    assert all(is_equal for is_equal, _ in here)


@pytest.mark.covers("why-4")
@given(situations(), st.randoms(use_true_random=False))
def test_the_hash_is_that_of_what_was_decided_by(situation: Situation, random: Random) -> None:
    """Not of the order it was told in, nor of what was recorded before."""
    records = situation.records
    shuffled = replace(
        records,
        nodes=tuple(random.sample(records.nodes, len(records.nodes))),
        jobs=tuple(random.sample(records.jobs, len(records.jobs))),
    )
    with TemporaryDirectory() as folder, Recorder(Path(folder)) as recorder:
        plan = plan_for(records, situation.policy, NOW_MS)
        for seen in (records, ClusterRecords(), shuffled):
            recorder.decided(seen, nothing_learnt, situation.policy, NOW_MS, plan)
        recorder.decided(records, nothing_learnt, situation.policy, NOW_MS + 1, plan)
        first, _, again, later = (one.input_hash for one in Replay(Path(folder), host()).cycles())
    assert first == again
    assert first != later


def test_states_that_live_on_are_replayed_too(tmp_path: Path) -> None:
    """Devices that a state gave to running tasks of which nobody said any are part of the record."""
    cluster = Cluster().node("n", cpu=8, gpus=4).running("b", on=["n"], gpu=1)
    state = ClusterState()
    state.load(cluster.records)
    with Recorder(tmp_path) as recorder:
        for name in ("a", "c"):
            state.set_job(cluster.running(name, on=["n"], gpu=1).records.jobs[-1])
            state.snapshot()
            records = state.records()
            recorder.decided(records, nothing_learnt, Policy(), NOW_MS, plan_for(records, Policy(), NOW_MS))
    assert [one.is_equal for one in replayed(tmp_path)] == [True, True]


def test_changes_of_every_kind_are_made_again(tmp_path: Path) -> None:
    first = Cluster().nodes("a b", cpu=2).offer("big", cpu=8, limit=2).offer("odd", cpu=1).job("j", cpu=2)
    first = first.usage("default", cpu=1000)
    second = Cluster().node("b", cpu=2, cordoned=True).node("c", cpu=4).offer("big", cpu=8, limit=1)
    second = second.running("j", on=["a"], cpu=2).job("k", cpu=6)
    paused = Calendar(queues=(QueueState(QueueName("default"), QueueMode.PAUSED),))
    third = Cluster(replace(second.records, calendar=paused))
    moments = [first.records, second.records, third.records, first.records]
    with Recorder(tmp_path) as recorder:
        for records in moments:
            recorder.decided(records, nothing_learnt, Policy(), NOW_MS, plan_for(records, Policy(), NOW_MS))
    found = replayed(tmp_path)
    assert [one.is_equal for one in found] == [True] * 4
    assert found[0].input_hash == found[3].input_hash
    assert len({one.input_hash for one in found}) == 3


def test_learnt_run_times_are_those_of_the_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where another policy fills in other defaults: it is the same job all the same."""
    records = Cluster().node("n", cpu=4).job("short", cpu=1).job("long", cpu=2).records
    short, long = (record.job.template for record in records.jobs)
    plan = plan_for(records, Policy(), NOW_MS)

    tables: list[dict[JobTemplate, tuple[int, ...]]] = [
        {short: (1, 2)},
        {short: (1, 2), long: (9,)},
        {long: (8, 9)},
    ]

    def from_table(learnt: dict[JobTemplate, tuple[int, ...]]) -> RunTimes:
        return lambda template: learnt.get(template, ())

    with Recorder(tmp_path) as recorder:
        for learnt in tables:
            recorder.decided(records, from_table(learnt), Policy(), NOW_MS, plan)
    seen = []

    def watch(snapshot, policy, now_ms, plugins):  # type: ignore[no-untyped-def]
        seen.append([snapshot.run_times(record.job.template) for record in snapshot.jobs.values()])
        return plan

    monkeypatch.setattr(replay_module, "decide", watch)
    expected = [[(1, 2), ()], [(1, 2), (9,)], [(), (8, 9)]]
    replayed(tmp_path)
    assert seen == expected
    seen.clear()
    filled = Policy(defaults=Defaults((("", PlatformDefaults(Resources(memory_bytes=1))),)))
    replayed(tmp_path, filled)
    assert seen == expected


def test_a_policy_that_changes_holds_from_then_on(tmp_path: Path) -> None:
    records = Cluster().nodes("a b", cpu=4).running("r", on=["a"], cpu=1).job("j", cpu=1).records
    packing, spreading = policy("bin-packing"), policy("least-loaded")
    plans = record_plans(tmp_path, records, [packing, packing])
    plans += record_plans(tmp_path, records, [spreading])
    found = replayed(tmp_path)
    assert [one.decided for one in found] == plans
    assert [binding.node for one in found for binding in one.decided.bindings] == ["a", "b"]


def test_one_cycle_is_found_without_deciding_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = Cluster().node("n", cpu=4).job("j", cpu=1).records
    for _ in range(2):
        record_plans(tmp_path, records, [Policy()] * 3)
    times: list[int] = []

    def watch(snapshot, policy, now_ms, plugins):  # type: ignore[no-untyped-def]
        times.append(now_ms)
        return decide(snapshot, policy, now_ms, plugins)

    monkeypatch.setattr(replay_module, "decide", watch)
    (found,) = replayed(tmp_path, only=5)
    assert (found.number, found.is_equal) == (5, True)
    assert times == [NOW_MS + STEP_MS]
    assert replayed(tmp_path, only=7) == []


def test_a_plan_that_differs_is_told(tmp_path: Path) -> None:
    records = Cluster().nodes("a b", cpu=4).job("j", cpu=1).records
    plan = plan_for(records, Policy(), NOW_MS)
    moved = replace(plan, bindings=(replace(plan.bindings[0], node=NodeName("b")),))
    with Recorder(tmp_path) as recorder:
        recorder.decided(records, nothing_learnt, Policy(), NOW_MS, moved)
    (found,) = replayed(tmp_path)
    assert not found.is_equal
    assert (found.recorded, found.decided) == (moved, plan)


def test_other_plugins_and_versions_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = Cluster().node("a", cpu=4).job("j", cpu=1).records
    named = policy(plugins=(PluginConfig("green"),))
    recorded = PluginOrigin("green", "rota-green", "1.0")
    monkeypatch.setattr("rota.loop.records.record.origins_of", lambda policy: (recorded,))
    monkeypatch.setattr("rota.loop.records.cycle_files.__version__", "0.0.9")
    record_plans(tmp_path, records, [named])
    replay = Replay(tmp_path, host())
    list(replay.cycles())
    assert list(replay.other_versions) == ["0.0.9"]
    assert list(replay.other_plugins) == [OtherPlugin(recorded, PluginOrigin("green"))]
    under_another = Replay(tmp_path, host(), Policy())
    list(under_another.cycles())
    assert list(under_another.other_plugins) == []
