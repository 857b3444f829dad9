"""An explanation seen by whoever asked: of the job, or of the one task of it that was named."""

from __future__ import annotations

from msgspec import Struct

from rota.model.estimate import Estimate
from rota.model.explanation import Explanation, Outcome
from rota.model.ids import JobId, NodeName
from rota.model.job import Job
from rota.model.plan import Eviction
from rota.views.plan.view import PlanView


class Subject(Struct, frozen=True):
    """What an explanation is asked of: a job, or one task of it."""

    name: str
    job: JobId
    rank: int | None = None


class WhyView(Struct, frozen=True):
    name: str
    explanation: Explanation
    outcome: Outcome
    nodes: tuple[str, ...]
    job: Job
    is_task: bool
    has_history: bool
    estimate: Estimate | None
    """When it is likely to start; None: it doesn't wait, has a promise, or nobody knows."""
    evictions: tuple[Eviction, ...]
    """By which room is made for it."""
    evicted_from: tuple[NodeName, ...]


def why_view(subject: Subject, explanation: Explanation, plan: PlanView) -> WhyView:
    outcome, nodes = explanation.outcome, explanation.nodes
    if subject.rank is not None:
        # Of a job that starts with fewer than all, a task may still wait.
        node = plan.node_of(subject.job, subject.rank)
        nodes = () if node is None else (node,)
        if node is None and outcome in (Outcome.PLACED, Outcome.RUNNING):
            outcome = Outcome.WAITING
    return WhyView(
        name=subject.name,
        explanation=explanation,
        outcome=outcome,
        nodes=nodes,
        job=plan.job(subject.job),
        is_task=subject.rank is not None,
        has_history=plan.estimates is not None,
        estimate=(plan.estimates or {}).get(subject.job),
        evictions=tuple(plan.evictions_for(subject.job)),
        evicted_from=tuple(eviction.node for eviction in plan.evictions.get(subject.job, ())),
    )
