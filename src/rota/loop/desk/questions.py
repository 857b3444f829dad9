"""Questions about jobs that are answered by deciding once more: why one waits, what would happen with others,
whether one may run longer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from rota.api.jobs import EstimateDocument
from rota.api.questions import PlanAnswer, PlannedChange, PlannedJob
from rota.control.access import Who
from rota.control.allowing import Allowing
from rota.control.draft import Draft
from rota.control.errors import Conflict
from rota.control.transactor import Transactor
from rota.engine.budget import Budget
from rota.engine.calendar.extension import extend
from rota.engine.decide import decide
from rota.engine.explaining.explain import explain
from rota.intake.submissions import Submission, expand
from rota.lifecycle.advance import Refused, submitted
from rota.lifecycle.events import JobEvent, LimitChanged
from rota.lifecycle.state import Phase
from rota.loop.desk.answers import AnswerOf, keep_answer
from rota.loop.desk.plan_reasons import PlanReasons
from rota.loop.desk.question_pool import DEFAULT_LIMITS, QuestionLimits, Questions
from rota.loop.live.forecaster import Forecaster
from rota.loop.live.loop import LiveLoop
from rota.loop.live.preconditions import Grounds
from rota.loop.live.side_threads import beside
from rota.model.estimate import Estimate
from rota.model.extension import Extension
from rota.model.ids import JobId
from rota.model.node import Node
from rota.model.plan import Plan
from rota.snapshot.state import Snapshot, with_waiting
from rota.views.folding import fold_names
from rota.views.plan.view import PlanView
from rota.views.seen import Sees, seen_extension, seen_reason, seen_why
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


_MOST_NAMED = 10


class QuestionsDesk:
    """Answers leave out jobs that whoever asks may not see."""

    def __init__(
        self,
        transactor: Transactor,
        live: LiveLoop,
        forecaster: Forecaster,
        allowing: Allowing,
        limits: QuestionLimits = DEFAULT_LIMITS,
    ) -> None:
        self._transactor = transactor
        self._memory = transactor.memory
        self._live = live
        self._forecaster = forecaster
        self._allowing = allowing
        self._questions = Questions(limits)
        self._reasons: PlanReasons | None = None
        """Of the plan that was asked about last."""

    def close(self) -> None:
        """Questions that are being worked out are abandoned."""
        self._questions.close()

    async def why(self, job_id: JobId, rank: int | None, who: Who) -> WhyView:
        async with self._questions.turn(who.user):
            self._check_waits(job_id)
            moment = Moment.of(self._live, self._transactor.now_ms())
            estimate = self._forecaster.estimate(job_id)
            view = await self._questions.answered(partial(why_of, moment, job_id, rank, estimate))
            allowed = self._allowing.allowed_help(view.explanation, view.job.template, who)
            return seen_why(replace(view, explanation=allowed), self._seen_by(who))

    def _check_waits(self, job_id: JobId) -> None:
        state = self._memory.jobs.get(job_id)
        if state is None:
            raise Conflict(f"job {job_id} has ended, so it doesn't wait", f"ask for job {job_id} itself")
        if state.phase is Phase.CREATED:
            others = fold_names([one.job for one in state.depends_on], most=_MOST_NAMED)
            waits = "is held" if state.held else f"waits for {others or 'other jobs'} to end"
            remedy = "release it" if state.held else f"`rota show {job_id}` shows it"
            raise Conflict(f"job {job_id} {waits}, so Rota doesn't place it yet", remedy)

    async def reasons(self, jobs: Collection[JobId], who: Who) -> dict[JobId, str]:
        """Why each of them waits, by the latest plan; those that it doesn't know yet are left out."""
        plan = self._live.plan
        if self._reasons is None or self._reasons.plan is not plan:
            self._reasons = await beside(sum(len(one.jobs) for one in plan.waiting), PlanReasons, plan)
        return self._reasons.texts(jobs, self._seen_by(who))

    async def eta(self, job_id: JobId) -> EstimateDocument:
        state = self._memory.job(job_id)
        if state is None:
            raise Conflict(f"job {job_id} is over", f"ask for job {job_id} to see how it ended")
        return self._forecaster.document(state)

    async def plan(self, submission: Submission, who: Who) -> PlanAnswer:
        now_ms = self._transactor.now_ms()
        submission = self._allowing.admit(submission, who, now_ms)
        async with self._questions.turn(who.user):
            moment = Moment.of(self._live, now_ms)
            nodes, first = tuple(self._memory.nodes()), self._memory.last_number + 1
            sees = self._seen_by(who)
            return await self._questions.answered(
                lambda _: plan_answer(moment, nodes, first, submission, sees)
            )

    async def extend(
        self,
        job_id: JobId,
        time_limit_ms: int,
        who: Who,
        dry_run: bool = False,
        answer_of: AnswerOf[Extension] = None,
    ) -> Extension:
        """Granted or not: only a granted one has changed something, and is kept for its key.

        It is decided in a turn of its own: nobody is promised meanwhile what the job is to keep."""
        async with self._questions.turn(who.user), self._live.own_turn(self._questions.limits.time_s):
            state = self._memory.jobs.get(job_id)
            if state is not None:
                self._allowing.check_extension(state, time_limit_ms, who)
            snapshot = self._live.snapshot()
            grounds = Grounds(self._memory, snapshot)
            asked = await self._asked_to_extend(snapshot, job_id, time_limit_ms)
            extension = seen_extension(asked, self._seen_by(who))
            if not extension.is_granted:
                return extension
            nodes = [one.node for one in snapshot.jobs[job_id].placements]

            def command(draft: Draft) -> Extension:
                grounds.check(draft, nodes)
                _change(draft, job_id, LimitChanged(time_limit_ms, who.user), who)
                keep_answer(draft, answer_of, extension)
                return extension

            return await self._transactor.do(command, dry_run)

    async def _asked_to_extend(self, snapshot: Snapshot, job_id: JobId, time_limit_ms: int) -> Extension:
        now_ms = self._transactor.now_ms()

        def asked(_: Budget) -> Extension:
            with self._live.plugins() as plugins:
                return extend(snapshot, self._live.policy, now_ms, plugins, job_id, time_limit_ms)

        return await self._questions.answered(asked)

    def _seen_by(self, who: Who) -> Sees:
        def sees(job_id: JobId) -> bool:
            state = self._memory.job(job_id)
            return state is not None and who.sees(state.spec.template.project)

        return sees


def _change(draft: Draft, job_id: JobId, event: JobEvent, who: Who) -> None:
    """As it stands by now."""
    try:
        if draft.job(job_id) is not None:
            draft.change(job_id, event, who.user)
            return
    except Refused as refused:
        raise Conflict(str(refused), f"ask for job {job_id} to see its state") from None
    raise Conflict(f"job {job_id} is over", f"ask for job {job_id} to see how it ended")
