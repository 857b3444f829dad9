"""From a lane of waiting jobs to the work of placing one of them, under the policy in force."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from msgspec.structs import replace

from rota.engine.outside import OutsidePlugins
from rota.engine.placing.board import Board
from rota.engine.placing.signature import Signature
from rota.engine.placing.topology import Topology
from rota.engine.placing.work import Work
from rota.engine.plugin import Plugins, TaskView
from rota.engine.scope import NOBODYS_TURN, Turn
from rota.model.ids import JobId
from rota.model.job import Job, JobTemplate
from rota.model.policy import Policy
from rota.model.task import TaskSpec
from rota.snapshot.state import Snapshot
from rota.snapshot.waiting import Lane, LaneKey

_KEPT = 1024
"""How many signatures are kept at a time: each holds a few numbers for every node."""
NETWORK = "network"
"""The label by which nodes say who reaches them: nodes in different networks don't reach each other."""
NO_POOL = "\0"
"""Matches no pool: the job, its queue and its tenant have none in common."""


NetworkOf = Callable[[JobId], str]
"""Of a job that others connect to, the network that its nodes are in; empty: in none by name."""


def topology_of(snapshot: Snapshot) -> Topology:
    """The counters that rules about others of all that runs or waits ask for."""
    topology = Topology(snapshot.nodes, snapshot.running)
    topology.prepare(_who_minds_others(snapshot))
    return topology


class Compiler:
    def __init__(
        self,
        snapshot: Snapshot,
        board: Board,
        topology: Topology,
        policy: Policy,
        now_ms: int,
        plugins: Plugins,
        outside: OutsidePlugins,
        network_of: NetworkOf = lambda _: "",
    ) -> None:
        self._now_ms = now_ms
        self._snapshot = snapshot
        self._board = board
        self._plugins = plugins
        self._outside = outside
        self._tenant_pools = {tenant.path: tenant.pools for tenant in policy.fair_share.tenants}
        self._topology = topology
        self._network_of = network_of
        self._compiled_for = NOBODYS_TURN.scheduler
        """What is kept was compiled under the rules of this scheduler."""
        self._signatures: dict[object, Signature] = {}
        self._works: dict[int, Work] = {}
        self._seen: dict[TaskSpec, TaskSpec] = {}

    def know(self, template: JobTemplate) -> None:
        """Prepares for a job that neither runs nor waits."""
        self._topology.prepare((template.namespace, group.spec) for group in template.groups)
        self._forget()

    def _forget(self) -> None:
        self._signatures.clear()
        self._works.clear()
        self._seen.clear()

    def work(self, turn: Turn, lane: Lane, job: Job) -> Work:
        """What to place of a job of this lane; kept, since all jobs of a lane are alike."""
        work = self._works.get(lane.number) if turn.scheduler is self._compiled_for else None
        if work is None:
            work = self.compiled(turn, lane.key, job)
            self._works[lane.number] = work
        return work

    def compiled(self, turn: Turn, key: LaneKey, job: Job) -> Work:
        if turn.scheduler is not self._compiled_for:
            self._forget()
            self._compiled_for = turn.scheduler
        template = key.template
        specs = [group.spec for group in template.groups]
        if turn.scheduler.recovery.drops_wishes(key.retries):
            specs = [_without_wishes(spec) for spec in specs]
        kinds: dict[Signature, int] = {}
        kind_of_group = tuple(
            kinds.setdefault(self._signature(turn, template, spec), len(kinds)) for spec in specs
        )
        counts = [0] * len(kinds)
        for kind, count in zip(kind_of_group, key.waiting_by_group, strict=True):
            counts[kind] += count
        placed_at: tuple[int, ...] = ()
        if key.ranks is not None and template.topology:
            position = self._snapshot.nodes.position
            nodes = [placement.node for placement in self._snapshot.jobs[job.id].placements]
            placed_at = tuple(position[node] for node in nodes if node in position)
        is_single = key.ranks is None and template.task_count == 1 and not template.topology
        return Work(
            tuple(kinds), tuple(counts), key.needed, template.topology, placed_at, is_single, kind_of_group
        )

    def _signature(self, turn: Turn, template: JobTemplate, spec: TaskSpec) -> Signature:
        spec = self._effective(turn, template, spec)
        active = self._outside.of(turn.scheduler)
        # Plugins from outside may look at the whole job; nothing else does.
        if not active:
            spec = self._as_seen(spec)
        key = (spec, template if active else self._topology.seen_namespace(template.namespace))
        signature = self._signatures.get(key)
        if signature is None:
            if len(self._signatures) >= _KEPT:
                self._forget()
            signature = self._signatures[key] = Signature(
                TaskView(template, spec, self._snapshot.demand(spec), self._now_ms),
                self._board,
                self._topology,
                turn.scheduler,
                self._plugins,
                active,
                self._outside.ask,
            )
        return signature

    def _as_seen(self, spec: TaskSpec) -> TaskSpec:
        """The spec with no more of its labels than rules of this cluster's jobs can tell apart: tasks that
        differ in the others are of one kind."""
        if not spec.labels:
            return spec
        seen = self._seen.get(spec)
        if seen is None:
            labels = self._topology.seen(spec.labels)
            seen = spec if labels == spec.labels else replace(spec, labels=labels)
            self._seen[spec] = seen
        return seen

    def _effective(self, turn: Turn, template: JobTemplate, spec: TaskSpec) -> TaskSpec:
        """The spec with the pools of its queue and tenant, its share of the job's budget, and within reach
        of its partner."""
        pools = spec.pools
        for limit in (
            turn.queue.pools,
            self._tenant_pools.get(template.project, ()),
            self._tenant_pools.get(f"{template.project}/{template.user}", ()),
        ):
            if limit and pools:
                pools = tuple(pool for pool in pools if pool in limit) or (NO_POOL,)
            elif limit:
                pools = limit
        price = spec.max_price_micro_per_hour
        if template.max_cost_micro is not None and template.time_limit_ms:
            hourly = template.max_cost_micro * 3_600_000 // (template.time_limit_ms * template.task_count)
            price = hourly if price is None else min(price, hourly)
        network = self._network_of(JobId(template.connect_to)) if template.connect_to else ""
        if network:
            spec = replace(spec, node_selector=tuple(sorted({*spec.node_selector, (NETWORK, network)})))
        if pools == spec.pools and price == spec.max_price_micro_per_hour:
            return spec
        return replace(spec, pools=pools, max_price_micro_per_hour=price)


def _without_wishes(spec: TaskSpec) -> TaskSpec:
    """Only what it insists on."""
    return replace(
        spec,
        preferred_nodes=(),
        job_affinity=tuple(term for term in spec.job_affinity if term.is_required),
        spread=tuple(one for one in spec.spread if one.required),
        near=(),
    )


def _who_minds_others(snapshot: Snapshot) -> set[tuple[str, TaskSpec]]:
    """Every kind of task that runs or waits and has rules about others, with its namespace."""
    running = {id(template): template for template, _ in snapshot.running.kinds}
    waiting = (lane.key.template for lane in snapshot.waiting.lanes())
    return {
        (template.namespace, group.spec)
        for template in chain(running.values(), waiting)
        for group in template.groups
        if group.spec.minds_others
    }
