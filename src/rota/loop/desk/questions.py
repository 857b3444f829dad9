"""Questions about jobs that are answered by deciding once more: why one waits, what would happen with others,
whether one may run longer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from rota.api.jobs import EstimateDocument
from rota.api.questions import PlanAnswer
from rota.control.access import Who
from rota.control.allowing import Allowing
from rota.control.draft import Draft
from rota.control.errors import Conflict
from rota.control.transactor import Transactor
from rota.engine.budget import Budget
from rota.engine.calendar.extension import extend
from rota.engine.explaining.explain import explain
from rota.intake.submissions import Submission
from rota.lifecycle.advance import Refused
from rota.lifecycle.events import JobEvent, LimitChanged
from rota.lifecycle.state import JobState, Phase
from rota.loop.desk.answers import AnswerOf, keep_answer
from rota.loop.desk.plan_reasons import PlanReasons
from rota.loop.desk.preview import plan_answer
from rota.loop.desk.question_pool import DEFAULT_LIMITS, QuestionLimits, Questions
from rota.loop.live.forecaster import Forecaster
from rota.loop.live.loop import LiveLoop
from rota.loop.live.preconditions import Grounds
from rota.loop.live.side_threads import beside
from rota.model.estimate import Estimate
from rota.model.extension import Extension
from rota.model.ids import JobId
from rota.model.plan import Plan
from rota.snapshot.state import Snapshot
from rota.views.folding import fold_names
from rota.views.plan.view import PlanView
from rota.views.seen import Sees, seen_extension, seen_why
from rota.views.why.view import Subject, WhyView, why_view

AsSubmitted = Callable[[Submission, Who, int], Awaitable[Sequence[JobState]]]
"""Jobs as they would stand if they came in now, with numbers from there on; see `JobsDesk.as_submitted`."""
_FAR = 1_000_000
"""Numbers so far ahead that no job which comes in meanwhile gets one of them."""


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


def why_of(
    moment: Moment, job_id: JobId, rank: int | None, estimate: Estimate | None, budget: Budget
) -> WhyView:
    live, snapshot = moment.live, moment.snapshot
    with live.plugins() as plugins:
        explanation = explain(snapshot, live.policy, moment.now_ms, plugins, job_id, budget)
    # Also those that can't happen now: when the job was started, or that came and went.
    faults = dict.fromkeys((*explanation.faults, *live.news.book.of_job(job_id)))
    explanation = replace(explanation, faults=tuple(faults))
    name = job_id if rank is None else f"{job_id}/{rank}"
    estimates = {} if estimate is None else {job_id: estimate}
    return why_view(Subject(name, job_id, rank), explanation, PlanView(moment.plan, snapshot, estimates))


_MOST_NAMED = 10


class QuestionsDesk:
    """Answers leave out jobs that whoever asks may not see."""

    def __init__(
        self,
        transactor: Transactor,
        live: LiveLoop,
        forecaster: Forecaster,
        allowing: Allowing,
        as_submitted: AsSubmitted,
        limits: QuestionLimits = DEFAULT_LIMITS,
    ) -> None:
        self._transactor = transactor
        self._memory = transactor.memory
        self._live = live
        self._forecaster = forecaster
        self._allowing = allowing
        self._as_submitted = as_submitted
        self._questions = Questions(limits)
        self._reasons: PlanReasons | None = None
        """Of the plan that was asked about last."""

    def close(self) -> None:
        """Questions that are being worked out are abandoned."""
        self._questions.close()

    async def why(self, job_id: JobId, rank: int | None, who: Who) -> WhyView:
        async with self._questions.turn(who.user):
            state = self._waiting(job_id)
            moment = Moment.of(self._live, self._transactor.now_ms())
            estimate = self._forecaster.estimate(state)
            view = await self._questions.answered(partial(why_of, moment, job_id, rank, estimate))
            allowed = self._allowing.allowed_help(view.explanation, view.job.template, who)
            return seen_why(replace(view, explanation=allowed), self._seen_by(who))

    def _waiting(self, job_id: JobId) -> JobState:
        state = self._memory.jobs.get(job_id)
        if state is None:
            raise Conflict(f"job {job_id} has ended, so it doesn't wait", f"ask for job {job_id} itself")
        if state.phase is Phase.CREATED:
            others = fold_names([one.job for one in state.depends_on], most=_MOST_NAMED)
            waits = "is held" if state.held else f"waits for {others or 'other jobs'} to end"
            remedy = "release it" if state.held else f"`rota show {job_id}` shows it"
            raise Conflict(f"job {job_id} {waits}, so Rota doesn't place it yet", remedy)
        return state

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
        async with self._questions.turn(who.user):
            states = await self._as_submitted(submission, who, self._memory.last_number + _FAR)
            moment = Moment.of(self._live, self._transactor.now_ms())
            nodes, sees = tuple(self._memory.nodes()), self._seen_by(who)
            return await self._questions.answered(
                lambda _: plan_answer(moment.live, moment.snapshot, moment.now_ms, nodes, states, sees)
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
