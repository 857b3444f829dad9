"""An explanation seen by whoever asked: of the job, or of the one task of it that was named."""

from __future__ import annotations

from rota.cli.plan.view import PlanView
from rota.cli.question import Subject
from rota.model.explanation import Explanation, Outcome


class WhyView:
    def __init__(self, subject: Subject, explanation: Explanation, plan: PlanView) -> None:
        self.name = subject.name
        self.explanation = explanation
        self.outcome = explanation.outcome
        self.nodes = explanation.nodes
        self.job = plan.job(subject.job)
        self.is_task = subject.rank is not None
        self.has_history = plan.estimates is not None
        self.estimate = (plan.estimates or {}).get(subject.job)
        """When it is likely to start; None: it doesn't wait, has a promise, or nobody knows."""
        self.evictions = plan.evictions_for(subject.job)
        self.evicted_from = tuple(eviction.node for eviction in plan.evictions.get(subject.job, ()))
        if subject.rank is not None:
            self._look_at_task(subject.rank, plan)

    def _look_at_task(self, rank: int, plan: PlanView) -> None:
        """Of a job that starts with fewer than all, a task may still wait."""
        node = plan.node_of(self.job.id, rank)
        self.nodes = () if node is None else (node,)
        if node is None and self.outcome in (Outcome.PLACED, Outcome.RUNNING):
            self.outcome = Outcome.WAITING
