"""Questions about a live cluster that are answered by deciding: why does it wait, what if this came in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from rota.api.documents import PlanAnswer, PlannedChange, PlannedJob
from rota.engine.budget import Budget
from rota.engine.decide import decide
from rota.engine.explaining.explain import explain
from rota.intake.submissions import Submission, expand
from rota.lifecycle.advance import submitted
from rota.loop.live.loop import LiveLoop
from rota.model.estimate import Estimate
from rota.model.ids import JobId
from rota.model.node import Node
from rota.model.plan import Plan
from rota.snapshot.state import Snapshot, with_waiting
from rota.views.plan.view import PlanView
from rota.views.seen import Sees, seen_reason
from rota.views.why.view import Subject, WhyView, why_view
from rota.views.wording import reason_text


class Moment(Struct, frozen=True):
    """A live cluster at the time of a question: what another thread needs to answer it."""

    live: LiveLoop
    now_ms: int
    plan: Plan
    """The latest."""
    snapshot: Snapshot

    @classmethod
    def of(cls, live: LiveLoop, now_ms: int) -> Self:
        return cls(live, now_ms, live.plan, live.snapshot())

    def decided(self, snapshot: Snapshot) -> Plan:
        with self.live.plugins() as plugins:
            return decide(snapshot, self.live.policy, self.now_ms, plugins)


def why_of(
    moment: Moment, job_id: JobId, rank: int | None, estimate: Estimate | None, budget: Budget
) -> WhyView:
    live, snapshot = moment.live, moment.snapshot
    with live.plugins() as plugins:
        explanation = explain(snapshot, live.policy, moment.now_ms, plugins, job_id, budget)
    name = job_id if rank is None else f"{job_id}/{rank}"
    estimates = {} if estimate is None else {job_id: estimate}
    return why_view(Subject(name, job_id, rank), explanation, PlanView(moment.plan, snapshot, estimates))


def plan_answer(
    moment: Moment, all_nodes: Sequence[Node], first: int, submission: Submission, sees: Sees
) -> PlanAnswer:
    """As if they arrived now, not held and without dependencies. `all_nodes`: of the moment. `first`: the
    number that they would begin with."""
    now_ms = moment.now_ms
    before = _starts(moment.decided(moment.snapshot), now_ms)
    jobs = expand(submission, first)
    ids = [JobId(f"?{index}") for index in range(len(jobs))]
    added = [
        submitted(job_id, first + index, replace(job.spec, held=False, depends_on=()), now_ms).state.record()
        for index, (job_id, job) in enumerate(zip(ids, jobs, strict=True))
    ]
    plan = moment.decided(with_waiting(moment.snapshot, added, moment.live.policy.defaults, all_nodes))
    after = _starts(plan, now_ms)
    nodes: dict[JobId, list[str]] = {}
    for one in plan.bindings:
        nodes.setdefault(one.job, []).append(one.node)
    promised = {start.job for start in plan.starts if start.promised}
    for start in plan.starts:
        nodes.setdefault(start.job, [placement.node for placement in start.placements])
    reasons = {
        job_id: [reason_text(seen_reason(refusal.reason, sees)) for refusal in entry.verdict.refusals]
        for entry in plan.waiting
        for job_id in entry.jobs
    }
    moved = [job_id for job_id, was_ms in before.items() if after.get(job_id) != was_ms]
    seen = [job_id for job_id in moved if sees(job_id)]
    return PlanAnswer(
        jobs=[
            PlannedJob(
                index=index,
                starts=_time(after.get(job_id)),
                promised=job_id in promised,
                nodes=sorted(set(nodes.get(job_id, ()))),
                reasons=reasons.get(job_id, []),
            )
            for index, job_id in enumerate(ids)
        ],
        changes=[
            PlannedChange(job=job_id, before=_time(before[job_id]), after=_time(after.get(job_id)))
            for job_id in seen
        ],
        others_changed=len(moved) - len(seen),
    )


def _starts(plan: Plan, now_ms: int) -> dict[JobId, int]:
    return {start.job: start.start_ms for start in plan.starts} | {one.job: now_ms for one in plan.bindings}


def _time(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
