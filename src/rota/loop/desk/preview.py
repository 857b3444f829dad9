"""What would become of jobs if they came in now: the plan with them, beside the plan without.

They go the way of a submission up to the point where it would be committed. So what is held or waits for
others doesn't reach the engine here either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rota.api.questions import PlanAnswer, PlannedChange, PlannedJob
from rota.engine.decide import decide
from rota.lifecycle.kept_back import kept_back
from rota.lifecycle.state import JobState
from rota.loop.live.loop import LiveLoop
from rota.model.ids import JobId
from rota.model.node import Node
from rota.model.plan import Plan
from rota.model.verdict import Verdict
from rota.snapshot.state import Snapshot, with_waiting
from rota.views.seen import HIDDEN, Sees, renamed_reason
from rota.views.wording import reason_text


def plan_answer(
    live: LiveLoop,
    snapshot: Snapshot,
    now_ms: int,
    all_nodes: Sequence[Node],
    states: Sequence[JobState],
    sees: Sees,
) -> PlanAnswer:
    """`states`: the jobs as they would stand, none of them in the snapshot. `all_nodes`: of the snapshot."""
    before_plan = _decided(live, snapshot, now_ms)
    verdicts = {state.id: verdict for state in states if (verdict := kept_back(state)) is not None}
    added = [state.record() for state in states if state.id not in verdicts]
    plan = before_plan
    if added:
        plan = _decided(live, with_waiting(snapshot, added, live.policy.defaults, all_nodes), now_ms)
    verdicts |= {job_id: entry.verdict for entry in plan.waiting for job_id in entry.jobs}
    before, after = _starts(before_plan, now_ms), _starts(plan, now_ms)
    moved = [job_id for job_id, was_ms in before.items() if after.get(job_id) != was_ms]
    seen = [job_id for job_id in moved if sees(job_id)]
    shown = _Shown(states, plan, after, verdicts, sees)
    return PlanAnswer(
        jobs=[shown.job(index, state) for index, state in enumerate(states)],
        changes=[
            PlannedChange(job=job_id, before=_time(before[job_id]), after=_time(after.get(job_id)))
            for job_id in seen
        ],
        others_changed=len(moved) - len(seen),
    )


class _Shown:
    def __init__(
        self,
        states: Sequence[JobState],
        plan: Plan,
        starts: Mapping[JobId, int],
        verdicts: Mapping[JobId, Verdict],
        sees: Sees,
    ) -> None:
        self._names = {state.id: _name_of(state) for state in states}
        self._starts = starts
        self._verdicts = verdicts
        self._sees = sees
        self._promised = {start.job for start in plan.starts if start.promised}
        self._nodes: dict[JobId, list[str]] = {}
        for one in plan.bindings:
            self._nodes.setdefault(one.job, []).append(one.node)
        for start in plan.starts:
            self._nodes.setdefault(start.job, [placement.node for placement in start.placements])

    def job(self, index: int, state: JobState) -> PlannedJob:
        verdict = self._verdicts.get(state.id)
        refusals = () if verdict is None else verdict.refusals
        return PlannedJob(
            index=index,
            starts=_time(self._starts.get(state.id)),
            promised=state.id in self._promised,
            nodes=sorted(set(self._nodes.get(state.id, ()))),
            reasons=[reason_text(renamed_reason(one.reason, self._name)) for one in refusals],
            name=state.spec.name,
            array_index=state.spec.array_index,
            verdict=None if verdict is None else verdict.kind.value,
        )

    def _name(self, job_id: JobId) -> JobId:
        """Numbers of jobs that haven't come in say nothing: they are called by their names."""
        known = self._names.get(job_id)
        if known is not None:
            return known
        return job_id if self._sees(job_id) else HIDDEN


def _name_of(state: JobState) -> JobId:
    index = state.spec.array_index
    return JobId(state.spec.name if index is None else f"{state.spec.name}.{index}")


def _decided(live: LiveLoop, snapshot: Snapshot, now_ms: int) -> Plan:
    with live.plugins() as plugins:
        return decide(snapshot, live.policy, now_ms, plugins)


def _starts(plan: Plan, now_ms: int) -> dict[JobId, int]:
    return {start.job: start.start_ms for start in plan.starts} | {one.job: now_ms for one in plan.bindings}


def _time(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
