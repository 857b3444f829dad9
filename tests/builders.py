"""Clusters and plans as sentences: what tests of the engine are written in.

    cluster = Cluster().node("n1", cpu=4).running("old", on=["n1"], cpu=4, priority="low").job("new", cpu=1)
    assert cluster.plan().places("new") == ["n1"]
    assert cluster.plan().evicts() == ["old"]

Times are seconds from now (`started=-600`: ten minutes ago); `words.py` says how the rest is written.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from msgspec.structs import replace

from rota.engine import decide
from rota.engine.plugin import NodeView, Plugin, Plugins, TaskView
from rota.model.calendar import Maintenance, PlannedStart, QueueMode, QueueState, Reservation
from rota.model.cluster import ClusterRecords, TenantUsage
from rota.model.ids import NodeName, QueueName
from rota.model.job import JobRecord, Placement
from rota.model.node import Node, Offer
from rota.model.plan import Binding, Eviction, Plan
from rota.model.policy import (
    FairShare,
    Policy,
    Preemption,
    QueuePolicy,
    QueueStrategy,
    SchedulerPolicy,
    Selection,
    Strategy,
    TenantPolicy,
    default_weights,
)
from rota.model.quantities import parse_bytes
from rota.model.verdict import Reason, Verdict
from rota.plugins import FILTERS, SCORES
from rota.snapshot import snapshot_of
from rota.snapshot.state import RunTimes
from tests.words import NOW_MS, Amounts, JobWords, NodeWords, job, node_spec, resources


class ByName(Plugin):
    """The custom selection of tests: likes a node the more the higher the last letter of its name."""

    name = "by-name"

    def score(self, task: TaskView, node: NodeView) -> int:
        return ord(node.name[-1]) % 100 * 10


PLUGINS = Plugins(FILTERS, SCORES, {ByName.name: ByName})


class Cluster:
    def __init__(self, records: ClusterRecords | None = None, run_times: RunTimes | None = None) -> None:
        self.records = records or ClusterRecords()
        self.run_times = run_times

    def node(
        self,
        name: str,
        *,
        ready: bool = True,
        cordoned: bool = False,
        load: int = 0,
        others: str = "0",
        **words: Unpack[NodeWords],
    ) -> Cluster:
        """`others`: what programs that aren't tasks have of its memory."""
        node = Node(NodeName(name), node_spec(words), ready, cordoned, load, 0, parse_bytes(others))
        return self._with(nodes=(*self.records.nodes, node))

    def nodes(self, names: str, **words: Unpack[NodeWords]) -> Cluster:
        """Equal nodes, their names in one string."""
        cluster = self
        for name in names.split():
            cluster = cluster.node(name, **words)
        return cluster

    def offer(self, name: str, *, limit: int = 1, startup: float = 60, **words: Unpack[NodeWords]) -> Cluster:
        offer = Offer(name, node_spec(words), limit, int(startup * 1000))
        return self._with(offers=(*self.records.offers, offer))

    def job(self, name: str, **words: Unpack[JobWords]) -> Cluster:
        return self.record(JobRecord(job(name, words)))

    def running(
        self,
        name: str,
        *,
        on: Sequence[str],
        started: float = -3600,
        devices: Sequence[Sequence[int]] = (),
        **words: Unpack[JobWords],
    ) -> Cluster:
        """A job whose tasks run, by rank, on these nodes; it has as many tasks unless told otherwise."""
        words = {"tasks": len(on), "submitted": started, **words}
        placements = tuple(
            Placement(
                rank, NodeName(node), NOW_MS + int(started * 1000), tuple(devices[rank]) if devices else ()
            )
            for rank, node in enumerate(on)
        )
        return self.record(JobRecord(job(name, words), placements))

    def record(self, record: JobRecord) -> Cluster:
        return self._with(jobs=(*self.records.jobs, record))

    def usage(self, path: str, *, as_of: float = 0, **amounts: int) -> Cluster:
        usage = TenantUsage(path, NOW_MS + int(as_of * 1000), tuple(sorted(amounts.items())))
        return self._with(usage=(*self.records.usage, usage))

    def maintenance(self, name: str, *, start: float, end: float, on: str = "") -> Cluster:
        """Of these nodes, or of all."""
        nodes = tuple(NodeName(node) for node in on.split())
        window = Maintenance(name, *_period(start, end), nodes)
        return self._announce(maintenance=(*self.records.calendar.maintenance, window))

    def reservation(
        self,
        name: str,
        *,
        start: float,
        end: float,
        on: str,
        tenants: Iterable[str] = ("default",),
        gpus: int = 0,
        **share: Unpack[Amounts],
    ) -> Cluster:
        """Of the whole nodes, or of a share of each."""
        one = Reservation(
            name,
            *_period(start, end),
            tuple(NodeName(node) for node in on.split()),
            tuple(tenants),
            resources(share) if share or gpus else None,
            gpus,
        )
        return self._announce(reservations=(*self.records.calendar.reservations, one))

    def queue(self, name: str, mode: str, *, since: float = 0, message: str = "") -> Cluster:
        state = QueueState(QueueName(name), QueueMode(mode), NOW_MS + int(since * 1000), message)
        others = tuple(one for one in self.records.calendar.queues if one.name != name)
        return self._announce(queues=(*others, state))

    def learnt(self, run_times: RunTimes) -> Cluster:
        """How long jobs like these have run."""
        return Cluster(self.records, run_times)

    def _announce(self, **changes: Any) -> Cluster:
        return self._with(calendar=replace(self.records.calendar, **changes))

    def plan(self, policy: Policy | None = None, *, now: float = 0, plugins: Plugins = PLUGINS) -> Planned:
        policy = policy or Policy()
        snapshot = snapshot_of(self.records, policy.defaults)
        if self.run_times is not None:
            snapshot = dataclasses.replace(snapshot, run_times=self.run_times)
        return Planned(decide(snapshot, policy, NOW_MS + int(now * 1000), plugins))

    def _with(self, **changes: Any) -> Cluster:
        return Cluster(replace(self.records, **changes), self.run_times)


class Planned:
    """A plan, and the questions that tests ask of it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def places(self, name: str) -> list[str]:
        """Where this plan starts the job's tasks, by rank."""
        return [binding.node for binding in self._bindings(name)]

    def devices(self, name: str) -> list[tuple[int, ...]]:
        return [binding.gpu_devices for binding in self._bindings(name)]

    def evicts(self, name: str | None = None, *, by: str | None = None) -> list[str]:
        """Jobs that lose tasks; given a name, the nodes on which that one does."""
        found = [one for one in self.plan.evictions if by is None or one.preemptor == by]
        if name is None:
            return sorted({one.job for one in found})
        return [one.node for one in sorted(found, key=_rank) if one.job == name]

    def waits(self, name: str) -> Verdict:
        for waiting in self.plan.waiting:
            if name in waiting.jobs:
                return waiting.verdict
        raise AssertionError(f"{name} doesn't wait")

    def reasons(self, name: str) -> set[type[Reason]]:
        return {type(refusal.reason) for refusal in self.waits(name).refusals}

    def start(self, name: str) -> float:
        """When the calendar has the job start, in seconds from now."""
        return (self._planned(name).start_ms - NOW_MS) / 1000

    def starts(self) -> dict[str, float]:
        return {one.job: (one.start_ms - NOW_MS) / 1000 for one in self.plan.starts}

    def start_places(self, name: str) -> list[str]:
        return [placement.node for placement in self._planned(name).placements]

    def is_promised(self, name: str) -> bool:
        return self._planned(name).promised

    def _planned(self, name: str) -> PlannedStart:
        return next(one for one in self.plan.starts if one.job == name)

    def waiting(self) -> list[str]:
        return sorted(job for waiting in self.plan.waiting for job in waiting.jobs)

    def _bindings(self, name: str) -> list[Binding]:
        return sorted((one for one in self.plan.bindings if one.job == name), key=_rank)


def _period(start: float, end: float) -> tuple[int, int]:
    return NOW_MS + int(start * 1000), NOW_MS + int(end * 1000)


def _rank(entry: Binding | Eviction) -> int:
    return entry.rank


def policy(
    strategy: str = "least-loaded",
    *,
    queue: str = "priority",
    preemption: bool = True,
    min_run: float = 0,
    tenants: Iterable[TenantPolicy] = (),
    **fields: Any,
) -> Policy:
    """One scheduler with one queue; `fields` are any others of SchedulerPolicy."""
    selection = Selection(Strategy(strategy))
    scheduler = SchedulerPolicy(
        selection=selection,
        weights=fields.pop("weights", default_weights(selection.strategy)),
        queues=fields.pop("queues", (QueuePolicy(strategy=QueueStrategy(queue)),)),
        preemption=Preemption(preemption, int(min_run * 1000)),
        **fields,
    )
    return Policy((scheduler,), FairShare(tenants=tuple(tenants)))
