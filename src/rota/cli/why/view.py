"""An explanation seen by whoever asked: of the job, or of the one task of it that was named."""

from __future__ import annotations

from rota.cli.plan.view import PlanView
from rota.cli.question import Subject
from rota.cli.wording import count_text
from rota.model.explanation import Explanation, Outcome
from rota.model.ids import JobId


class WhyView:
    def __init__(self, subject: Subject, explanation: Explanation, plan: PlanView | None) -> None:
        """`plan` is needed where the subject is a task."""
        self.name = subject.name
        self.explanation = explanation
        self.outcome = explanation.outcome
        self.nodes = explanation.nodes
        self.belongs_to = ""
        if subject.rank is not None and plan is not None:
            self._look_at_task(subject.job, subject.rank, plan)

    def _look_at_task(self, job_id: JobId, rank: int, plan: PlanView) -> None:
        """Of a job that starts with fewer than all, a task may still wait."""
        node = plan.node_of(job_id, rank)
        self.nodes = () if node is None else (node,)
        if node is None and self.outcome in (Outcome.PLACED, Outcome.RUNNING):
            self.outcome = Outcome.WAITING
        job = plan.job(job_id)
        whole = f"the gang {job.id}" if job.tasks_are_jobs else f"the job {job.id}"
        self.belongs_to = f"one of {count_text(job.template.task_count, 'task')} of {whole}"
