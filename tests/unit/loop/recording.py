"""Cycles recorded for tests, and read back."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path

from rota.loop.hosting.plugin_host import GROUP, PluginHost
from rota.loop.records.record import Recorder
from rota.loop.records.replay import Replay, Replayed
from rota.model.cluster import ClusterRecords
from rota.model.job import JobTemplate
from rota.model.plan import Plan
from rota.model.policy import Policy
from tests.properties.carry_out import carried_out, plan_for
from tests.words import NOW_MS

STEP_MS = 600_000


def host() -> PluginHost:
    """Knows the plugin that the policies of the property tests name."""
    return PluginHost([EntryPoint("by-name", "tests.builders:ByName", GROUP)])


def nothing_learnt(_: JobTemplate) -> tuple[int, ...]:
    return ()


def record_plans(
    folder: Path, records: ClusterRecords, policies: Iterable[Policy], now_ms: int = NOW_MS
) -> list[Plan]:
    """A cycle for each policy, and each plan carried out before the next."""
    plans = []
    with Recorder(folder) as recorder:
        for at, policy in enumerate(policies):
            at_ms = now_ms + at * STEP_MS
            plan = plan_for(records, policy, at_ms)
            recorder.decided(records, nothing_learnt, policy, at_ms, plan)
            plans.append(plan)
            records = carried_out(records, plan, at_ms)
    return plans


def replayed(folder: Path, policy: Policy | None = None, only: int | None = None) -> list[Replayed]:
    replay = Replay(folder, host(), policy)
    found = list(replay.cycles(only))
    assert replay.damage == []
    return found
