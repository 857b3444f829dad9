"""Why a job runs where it does, or doesn't run: the plan made once more, with a look at one job.

What would help is found by trying: each candidate change is made to the job (or a node), and the
same placing code is asked again on the board and in the calendar as the plan leaves them.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from msgspec.structs import replace

from rota.engine.budget import ENDLESS, Budget
from rota.engine.decide import outcome, run_cycle
from rota.engine.explaining.remedy import remedies_for
from rota.engine.explaining.verdicts import NodeRefusal, node_refusals
from rota.engine.explaining.what_if import WhatIf
from rota.engine.placing.board import Board
from rota.engine.placing.score import FULL
from rota.engine.placing.signature import Signature
from rota.engine.placing.work import Work
from rota.engine.plugin import Plugins
from rota.engine.workbench import Workbench
from rota.model.explanation import Explanation, NodeScores, Outcome, RefusedNodes
from rota.model.ids import JobId, NodeName
from rota.model.job import Priority
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.model.verdict import Verdict
from rota.snapshot.state import Snapshot

_RUNNERS_UP = 4
_RATED = 512
"""How many nodes are rated by criterion: it isn't known yet which of them it will be."""


class _Lookout:
    """Notes how the nodes stood when the job's first task was placed."""

    def __init__(self, job: JobId, plugins: Plugins) -> None:
        self.job = job
        self.scores: tuple[NodeScores, ...] = ()
        self.weights: tuple[tuple[str, int], ...] = ()
        self.refusals: list[NodeRefusal] = []
        self._plugins = plugins

    def placing(self, work: Work, board: Board) -> None:
        self.refusals = node_refusals(_first_kind(work), board, self._plugins.filters)
        self.room_made(work, board)

    def room_made(self, work: Work, board: Board) -> None:
        signature = _first_kind(work)
        self.weights = tuple(signature.weights().items())
        ranked = signature.feasible_scores()
        order = np.lexsort((np.arange(len(ranked)), -ranked))
        best = [at for at in order[:_RATED].tolist() if ranked[at] >= 0]
        self.scores = tuple(_scores_of(signature, board, at) for at in best)


def _first_kind(work: Work) -> Signature:
    return next(one for one, count in zip(work.signatures, work.counts, strict=True) if count)


def _scores_of(signature: Signature, board: Board, position: int) -> NodeScores:
    criteria = signature.criteria(position)
    weights = signature.weights()
    total = sum(weights.get(name, 0) * value for name, value in criteria.items())
    percent = tuple((name, round(100 * value / FULL, 1)) for name, value in criteria.items())
    return NodeScores(
        board.nodes.names[position], round(100 * total / FULL / max(1, sum(weights.values())), 1), percent
    )


def explain(
    snapshot: Snapshot,
    policy: Policy,
    now_ms: int,
    plugins: Plugins,
    job_id: JobId,
    budget: Budget = ENDLESS,
    priorities: Collection[int] = tuple(Priority),
) -> Explanation:
    """The explanation of one job, which must be in the snapshot. When the budget is spent, what would help is
    no longer looked for. `priorities`: those that its user could ask for."""
    lookout = _Lookout(job_id, plugins)
    bench = Workbench(snapshot, policy, now_ms, plugins, lookout)
    run_cycle(bench)
    plan = outcome(bench)
    explanation = _explained(bench, lookout, plan, job_id, budget, priorities)
    return replace(explanation, faults=plan.faults)


def _explained(
    bench: Workbench,
    lookout: _Lookout,
    plan: Plan,
    job_id: JobId,
    budget: Budget,
    priorities: Collection[int],
) -> Explanation:
    snapshot = bench.snapshot
    bound = [one for one in plan.bindings if one.job == job_id]
    lost = {one.rank for one in plan.evictions if one.job == job_id}
    kept = [one for one in snapshot.jobs[job_id].placements if one.rank not in lost]
    nodes = _by_rank([*((one.rank, one.node) for one in bound), *((one.rank, one.node) for one in kept)])
    verdict = _verdict_in(plan, job_id)
    if bound:
        return Explanation(
            job_id,
            Outcome.PLACED,
            nodes,
            verdict,
            _named(lookout.refusals, snapshot),
            _chosen_first(lookout.scores, min(bound, key=lambda one: one.rank).node),
            lookout.weights,
        )
    if verdict is None:
        return Explanation(job_id, Outcome.RUNNING, nodes)
    refusal = bench.refusals.of_job(job_id)
    if refusal is None or lost:
        return Explanation(job_id, Outcome.EVICTED, nodes, verdict)
    job = next(job for job in refusal.jobs if job.id == job_id)
    planned = next((start for start in plan.starts if start.job == job_id), None)
    remedies, is_cut_short = remedies_for(WhatIf(bench), refusal, job, planned, budget, priorities)
    return Explanation(
        job_id,
        Outcome.WAITING,
        nodes,
        verdict,
        _named(refusal.nodes, snapshot),
        remedies=remedies,
        start_ms=planned.start_ms if planned else None,
        promised=planned is not None and planned.promised,
        is_cut_short=is_cut_short,
    )


def _by_rank(places: list[tuple[int, NodeName]]) -> tuple[NodeName, ...]:
    return tuple(node for _, node in sorted(places))


def _verdict_in(plan: Plan, job_id: JobId) -> Verdict | None:
    for entry in plan.waiting:
        if job_id in entry.jobs:
            return entry.verdict
    return None


def _named(refusals: list[NodeRefusal], snapshot: Snapshot) -> tuple[RefusedNodes, ...]:
    names = snapshot.nodes.names
    return tuple(
        RefusedNodes(refusal.reason, tuple(names[at] for at in np.flatnonzero(refusal.nodes).tolist()))
        for refusal in refusals
    )


def _chosen_first(scores: tuple[NodeScores, ...], chosen: NodeName) -> tuple[NodeScores, ...]:
    ordered = sorted(scores, key=lambda one: one.node != chosen)
    return tuple(ordered[: _RUNNERS_UP + 1])
