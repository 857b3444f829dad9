"""Why a job runs where it does, or doesn't run: the plan made once more, with a look at one job.

What would help is found by trying: each candidate change is made to the job (or a node), and the
same placing code is asked again on the board as the plan leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from rota.engine.board import Board
from rota.engine.decide import Cycle, Refused
from rota.engine.place import Work
from rota.engine.plugin import Plugins
from rota.engine.remedy import remedies_for
from rota.engine.score import FULL
from rota.engine.signature import Signature
from rota.engine.verdicts import NodeRefusal, node_refusals
from rota.model.explanation import Explanation, NodeScores, Outcome, RefusedNodes
from rota.model.ids import JobId, NodeName
from rota.model.job import Placement
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.model.verdict import Verdict
from rota.snapshot.state import Snapshot

_RUNNERS_UP = 4


class _Lookout:
    """Notes how the nodes stood when the job's first task was placed."""

    def __init__(self, job: JobId, plugins: Plugins) -> None:
        self.job = job
        self.scores: tuple[NodeScores, ...] = ()
        self.weights: tuple[tuple[str, int], ...] = ()
        self.refusals: list[NodeRefusal] = []
        self._plugins = plugins

    def placing(self, work: Work, board: Board) -> None:
        signature = next(s for s, count in zip(work.signatures, work.counts, strict=True) if count)
        self.refusals = node_refusals(signature, board, self._plugins.filters)
        self.weights = tuple(signature.weights().items())
        ranked = signature.feasible_scores()
        order = np.lexsort((np.arange(len(ranked)), -ranked))
        best = [at for at in order[: _RUNNERS_UP + 1].tolist() if ranked[at] >= 0]
        self.scores = tuple(_scores_of(signature, board, at) for at in best)


def _scores_of(signature: Signature, board: Board, position: int) -> NodeScores:
    criteria = signature.criteria(position)
    weights = signature.weights()
    total = sum(weights.get(name, 0) * value for name, value in criteria.items())
    percent = tuple((name, round(100 * value / FULL, 1)) for name, value in criteria.items())
    return NodeScores(
        board.nodes.names[position], round(100 * total / FULL / max(1, sum(weights.values())), 1), percent
    )


def explain(snapshot: Snapshot, policy: Policy, now_ms: int, plugins: Plugins, job_id: JobId) -> Explanation:
    """The explanation of one job, which must be in the snapshot."""
    lookout = _Lookout(job_id, plugins)
    cycle = Cycle(snapshot, policy, now_ms, plugins, lookout)
    cycle.run()
    plan = cycle.plan()
    explanation = _outcome(cycle, lookout, plan, job_id)
    return replace(explanation, faults=plan.faults)


def _outcome(cycle: Cycle, lookout: _Lookout, plan: Plan, job_id: JobId) -> Explanation:
    snapshot = cycle.snapshot
    bound = sorted((one for one in plan.bindings if one.job == job_id), key=lambda one: one.rank)
    if bound:
        where = tuple(binding.node for binding in bound)
        return Explanation(
            job_id,
            Outcome.PLACED,
            where,
            refusals=_named(lookout.refusals, snapshot),
            # A preemptor goes where its victims were, which may not be what ranked first.
            scores=_chosen_first(lookout.scores, where[0]),
            weights=lookout.weights,
        )
    verdict = _verdict_in(plan, job_id)
    if verdict is None:
        return Explanation(job_id, Outcome.RUNNING, _nodes_of(snapshot.jobs[job_id].placements))
    refused = cycle.refusal_of(job_id)
    if refused is None or any(eviction.job == job_id for eviction in plan.evictions):
        return Explanation(job_id, Outcome.EVICTED, verdict=verdict)
    return _waiting(cycle, refused, job_id, verdict)


def _waiting(cycle: Cycle, refused: Refused, job_id: JobId, verdict: Verdict) -> Explanation:
    job = next(job for job in refused.cursor.jobs[refused.cursor.at :] if job.id == job_id)
    return Explanation(
        job_id,
        Outcome.WAITING,
        _nodes_of(cycle.snapshot.jobs[job_id].placements),
        verdict,
        _named(refused.nodes, cycle.snapshot),
        remedies=remedies_for(cycle, refused, job),
    )


def _nodes_of(placements: Sequence[Placement]) -> tuple[NodeName, ...]:
    ordered = sorted(placements, key=lambda placement: placement.rank)
    return tuple(placement.node for placement in ordered)


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
    return tuple(sorted(scores, key=lambda one: one.node != chosen))
