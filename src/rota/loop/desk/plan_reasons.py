"""Why jobs wait, by one plan, in a few words each: what lists show."""

from __future__ import annotations

from collections.abc import Iterable

from rota.model.ids import JobId
from rota.model.plan import Plan
from rota.model.verdict import Reason, Verdict
from rota.views.seen import Sees, seen_reason
from rota.views.wording import reason_text


class PlanReasons:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._verdicts: dict[JobId, Verdict] = {
            job_id: entry.verdict for entry in plan.waiting for job_id in entry.jobs
        }

    def texts(self, jobs: Iterable[JobId], sees: Sees) -> dict[JobId, str]:
        """Equal jobs wait for equal reasons, and are told so in words that are made once."""
        words: dict[Reason, str] = {}
        found: dict[JobId, str] = {}
        for job_id in jobs:
            verdict = self._verdicts.get(job_id)
            if verdict is None or not verdict.refusals:
                continue
            reason = seen_reason(verdict.refusals[0].reason, sees)
            if reason not in words:
                words[reason] = reason_text(reason)
            found[job_id] = words[reason]
        return found
