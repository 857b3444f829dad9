"""One decision on records that are at hand: the place where built-in rules and plugins meet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rota.engine.decide import decide
from rota.engine.explain import explain
from rota.engine.plugin import Plugins
from rota.loop.plugin_host import CALL_LIMIT_S, PluginHost
from rota.loop.time_limit import TimeLimit
from rota.model.cluster import ClusterRecords
from rota.model.explanation import Explanation
from rota.model.ids import JobId
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.plugins import FILTERS, SCORES
from rota.snapshot import Snapshot, snapshot_of


@dataclass(frozen=True, eq=False)
class Decision:
    snapshot: Snapshot
    plan: Plan


def decide_once(
    records: ClusterRecords,
    policy: Policy,
    now_ms: int,
    host: PluginHost,
    call_limit_s: float = CALL_LIMIT_S,
) -> Decision:
    """`call_limit_s`: how long a plugin from outside may take for one call."""
    snapshot = snapshot_of(records, policy.defaults)
    with _plugins(policy, host, call_limit_s) as plugins:
        return Decision(snapshot, decide(snapshot, policy, now_ms, plugins))


def explain_once(
    records: ClusterRecords,
    policy: Policy,
    now_ms: int,
    host: PluginHost,
    job_id: JobId,
    call_limit_s: float = CALL_LIMIT_S,
) -> tuple[Explanation, Decision]:
    snapshot = snapshot_of(records, policy.defaults)
    with _plugins(policy, host, call_limit_s) as plugins:
        explanation, plan = explain(snapshot, policy, now_ms, plugins, job_id)
        return explanation, Decision(snapshot, plan)


def latest_time_ms(records: ClusterRecords) -> int | None:
    """The latest moment that the records speak of; None: they speak of none.

    Deciding as of then makes what is read from files a matter of the files alone.
    """
    # Jobs without a time are numbered in their order, from 0: that is no moment.
    latest = max(_times_ms(records), default=0)
    return latest if latest > len(records.jobs) else None


def _times_ms(records: ClusterRecords) -> Iterator[int]:
    for record in records.jobs:
        yield record.job.submitted_ms
        for placement in record.placements:
            yield placement.started_ms
    for node in records.nodes:
        for taint in node.spec.taints:
            yield taint.added_ms
    for usage in records.usage:
        yield usage.as_of_ms


@contextmanager
def _plugins(policy: Policy, host: PluginHost, call_limit_s: float) -> Iterator[Plugins]:
    with TimeLimit(call_limit_s) as guard:
        yield Plugins(FILTERS, SCORES, host.makers(policy), guard)
