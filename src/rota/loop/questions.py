"""Questions about a live cluster that are answered by deciding: why does it wait, what if this came in."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from rota.api.documents import PlanAnswer, PlannedChange, PlannedJob
from rota.control.memory import Memory
from rota.engine.decide import decide
from rota.engine.explain import explain
from rota.intake.submissions import Submission, expand
from rota.lifecycle.advance import submitted
from rota.loop.live import LiveLoop
from rota.model.estimate import Estimate
from rota.model.ids import JobId
from rota.model.plan import Plan
from rota.views.plan.view import PlanView
from rota.views.seen import Sees, seen_reason, seen_why
from rota.views.why.view import Subject, WhyView, why_view
from rota.views.wording import reason_text


def why_of(
    live: LiveLoop, now_ms: int, job_id: JobId, rank: int | None, estimate: Estimate | None, sees: Sees
) -> WhyView:
    snapshot = live.snapshot()
    with live.plugins() as plugins:
        explanation = explain(snapshot, live.policy, now_ms, plugins, job_id)
    name = job_id if rank is None else f"{job_id}/{rank}"
    estimates = {} if estimate is None else {job_id: estimate}
    view = why_view(Subject(name, job_id, rank), explanation, PlanView(live.plan, snapshot, estimates))
    return seen_why(view, sees)


def plan_answer(
    live: LiveLoop, memory: Memory, now_ms: int, submission: Submission, sees: Sees
) -> PlanAnswer:
    """As if they came in now, held by nobody and waiting for no other job. They are put into the cluster,
    looked at, and taken out again."""
    before = _starts(_decided(live, now_ms), now_ms)
    first = memory.last_number + 1
    jobs = expand(submission, first)
    ids = [JobId(f"?{index}") for index in range(len(jobs))]
    for index, (job_id, job) in enumerate(zip(ids, jobs, strict=True)):
        spec = replace(job.spec, held=False, depends_on=())
        memory.cluster.set_job(submitted(job_id, first + index, spec, now_ms).state.record())
    try:
        plan = _decided(live, now_ms)
    finally:
        for job_id in ids:
            memory.cluster.remove_job(job_id)
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


def _decided(live: LiveLoop, now_ms: int) -> Plan:
    with live.plugins() as plugins:
        return decide(live.snapshot(), live.policy, now_ms, plugins)


def _starts(plan: Plan, now_ms: int) -> dict[JobId, int]:
    return {start.job: start.start_ms for start in plan.starts} | {one.job: now_ms for one in plan.bindings}


def _time(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
