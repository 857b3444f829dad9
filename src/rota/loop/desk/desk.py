"""Where a live cluster is asked and told things: what the server's routes call.

Changes go through the transactor; questions are answered from memory, from the latest plan, or by deciding
once more with the same function; what is over is read from the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from rota import __version__
from rota.api.documents import (
    EstimateDocument,
    LimitsDocument,
    SchedulingDocument,
    StatsDocument,
)
from rota.api.limits import MOST_SHOWN
from rota.api.questions import PlanAnswer
from rota.backends.backend import LogChunk, LogQuery
from rota.backends.registry import Registry
from rota.control.access import Who
from rota.control.allowing import Allowing
from rota.control.draft import Draft
from rota.control.enrolment import Enrolment
from rota.control.errors import Conflict, NotFound
from rota.control.submission import partners, submit
from rota.control.transactor import SLICE, Sliced, Transactor
from rota.control.vault import Vault
from rota.engine.budget import Budget
from rota.engine.calendar.extension import extend
from rota.intake.submissions import Submission, expand
from rota.lifecycle.advance import Refused
from rota.lifecycle.events import CancelAsked, Held, JobEvent, LimitChanged, Released
from rota.lifecycle.state import JobState, Phase
from rota.loop.desk.job_admission import Admission
from rota.loop.desk.limits import limits_document
from rota.loop.desk.logs import followed
from rota.loop.desk.operators import OperatorDesk
from rota.loop.desk.question_pool import DEFAULT_LIMITS, QuestionLimits, Questions
from rota.loop.desk.questions import Moment, plan_answer, why_of
from rota.loop.desk.secrets import SecretDesk
from rota.loop.desk.task_output import Written
from rota.loop.live.forecaster import Forecaster, time_of
from rota.loop.live.loop import LiveLoop
from rota.loop.live.preconditions import Grounds
from rota.loop.live.side_threads import beside
from rota.model.extension import Extension
from rota.model.ids import JobId
from rota.snapshot.state import Snapshot
from rota.store.audit_list import AuditFilter
from rota.store.audit_record import AuditCheck, StoredAudit
from rota.store.batch import Answer, Attempt, StoredEvent
from rota.store.queries import EventFilter, JobFilter
from rota.views.seen import Sees, seen_extension, seen_why
from rota.views.why.view import WhyView

R = TypeVar("R")
ATTEMPTS_SHOWN = 1000


class LiveDesk(OperatorDesk):
    def __init__(
        self,
        transactor: Transactor,
        live: LiveLoop,
        forecaster: Forecaster,
        backends: Registry,
        put_file: Callable[[str, AsyncIterator[bytes], str], Awaitable[bool]],
        vault: Vault,
        enrolment: Enrolment | None = None,
        limits: QuestionLimits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(transactor, live, backends)
        self.secrets = SecretDesk(transactor, vault)
        self.is_ready = False
        self._store = transactor.store
        self._forecaster = forecaster
        self._written = Written(backends, self._memory, self._store)
        self._put_file = put_file
        self._enrolment = enrolment
        self._allowing = Allowing(live.policy, self._memory)
        self._questions = Questions(limits)
        self._checks = Questions(limits, "rota-admission")
        """Apart: whoever submits a job doesn't wait for those who ask."""
        self._admission = Admission(self._memory, live, self._checks)

    def close(self) -> None:
        """What is being worked out is left."""
        self._questions.close()
        self._checks.close()

    # -- jobs come in

    async def submit(
        self,
        submission: Submission,
        who: Who,
        dry_run: bool = False,
        answer_of: Callable[[Sequence[JobState]], Answer] | None = None,
    ) -> Sequence[JobState]:
        now_ms = self._transactor.now_ms()
        submission = self._allowing.admit(submission, who, now_ms)
        self.secrets.vault.check(submission)
        await self._admission.check(submission, who.user, now_ms)
        ended = await self._ended_partners(submission)
        first = self._memory.last_number + 1
        if not dry_run:
            first = await self._transactor.numbers(submission.job_count)

        jobs = await beside(submission.job_count, expand, submission, first, MOST_SHOWN if dry_run else None)

        def command(draft: Draft) -> Sliced[Sequence[JobState]]:
            self._allowing.check_waiting(submission, who, draft)
            states = yield from submit(draft, submission, jobs, ended, who)
            yield from _answer_many(draft, answer_of, states)
            return states

        return await self._transactor.do(command, dry_run)

    async def _ended_partners(self, submission: Submission) -> dict[JobId, JobState]:
        """What these jobs depend on, as far as it is only in the store."""
        found: dict[JobId, JobState] = {}
        for job_id in partners(submission):
            if self._memory.job(job_id) is None:
                for state in await asyncio.to_thread(self._stored, job_id):
                    found[state.id] = state
        return found

    def _stored(self, job_id: JobId) -> list[JobState]:
        """The job, or the elements of the array."""
        state = self._store.job(job_id)
        if state is not None:
            return [state]
        return self._store.jobs_of_array(int(job_id)) if job_id.isdecimal() else []

    # -- changes to jobs

    async def cancel(
        self,
        job_id: JobId,
        who: Who,
        message: str,
        dry_run: bool = False,
        answer_of: Callable[[Sequence[JobState]], Answer] | None = None,
    ) -> Sequence[JobState]:
        return await self._change_all(job_id, CancelAsked(who.user, message), who, dry_run, answer_of)

    async def hold(
        self,
        job_id: JobId,
        who: Who,
        dry_run: bool = False,
        answer_of: Callable[[Sequence[JobState]], Answer] | None = None,
    ) -> Sequence[JobState]:
        return await self._change_all(job_id, Held(who.user), who, dry_run, answer_of)

    async def release(
        self,
        job_id: JobId,
        who: Who,
        dry_run: bool = False,
        answer_of: Callable[[Sequence[JobState]], Answer] | None = None,
    ) -> Sequence[JobState]:
        return await self._change_all(job_id, Released(who.user), who, dry_run, answer_of)

    async def _change_all(
        self,
        job_id: JobId,
        event: JobEvent,
        who: Who,
        dry_run: bool,
        answer_of: Callable[[Sequence[JobState]], Answer] | None,
    ) -> Sequence[JobState]:
        """Of an array, whichever elements it may still happen to."""
        elements = self._memory.elements(job_id)
        if not elements and self._memory.job(job_id) is None and await self.job(job_id) is not None:
            raise Conflict(f"job {job_id} is over", f"ask for job {job_id} to see how it ended")

        def command(draft: Draft) -> Sliced[Sequence[JobState]]:
            states: list[JobState] = []
            for count, one in enumerate(elements or [job_id], 1):
                state = draft.job(one)
                if state is None or not who.sees(state.spec.template.project):
                    raise NotFound("job", one)
                try:
                    states.append(draft.change(one, event, who.user))
                except Refused as refused:
                    if not elements:
                        raise Conflict(str(refused), f"ask for job {job_id} to see how it stands") from None
                if count % SLICE == 0:
                    yield None
            yield from _answer_many(draft, answer_of, states)
            return states

        return await self._transactor.do(command, dry_run)

    async def extend(
        self,
        job_id: JobId,
        time_limit_ms: int,
        who: Who,
        dry_run: bool = False,
        answer_of: Callable[[Extension], Answer] | None = None,
    ) -> Extension:
        """Decided in a turn of its own: nobody is promised meanwhile what the job is to keep."""
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
                _answer(draft, answer_of, extension)
                return extension

            return await self._transactor.do(command, dry_run)

    async def _asked_to_extend(self, snapshot: Snapshot, job_id: JobId, time_limit_ms: int) -> Extension:
        now_ms = self._transactor.now_ms()

        def asked(_: Budget) -> Extension:
            with self._live.plugins() as plugins:
                return extend(snapshot, self._live.policy, now_ms, plugins, job_id, time_limit_ms)

        return await self._questions.answered(asked)

    # -- questions about jobs

    def _seen_by(self, who: Who) -> Sees:
        def sees(job_id: JobId) -> bool:
            state = self._memory.job(job_id)
            return state is not None and who.sees(state.spec.template.project)

        return sees

    async def job(self, job_id: JobId) -> JobState | None:
        known = self._memory.job(job_id)
        return known if known is not None else await asyncio.to_thread(self._store.job, job_id)

    async def jobs(
        self, job_filter: JobFilter, after: str | None, limit: int
    ) -> tuple[Sequence[JobState], str | None]:
        return await asyncio.to_thread(self._store.jobs, job_filter, after, limit)

    async def job_with_attempts(self, job_id: JobId) -> tuple[JobState, Sequence[Attempt]] | None:
        """What is in memory may be of a moment before: both are asked of the store."""
        return await asyncio.to_thread(self._store.job_with_attempts, job_id, ATTEMPTS_SHOWN)

    async def why(self, job_id: JobId, rank: int | None, who: Who) -> WhyView:
        async with self._questions.turn(who.user):
            self._check_waits(job_id)
            moment = Moment.of(self._live, self._transactor.now_ms())
            estimate = self._forecaster.estimate(job_id)
            view = await self._questions.answered(partial(why_of, moment, job_id, rank, estimate))
            return seen_why(view, self._seen_by(who))

    def _check_waits(self, job_id: JobId) -> None:
        state = self._memory.jobs.get(job_id)
        if state is None:
            raise Conflict(f"job {job_id} is over: nothing keeps it waiting", f"ask for job {job_id} itself")
        if state.phase is Phase.CREATED:
            waits = "is held" if state.held else "waits for other jobs to end"
            remedy = "release it" if state.held else "see which with `rota show`"
            raise Conflict(f"job {job_id} {waits}, so no room is looked for yet", remedy)

    async def eta(self, job_id: JobId) -> EstimateDocument:
        state = self._memory.job(job_id)
        if state is None:
            raise NotFound("job", job_id)
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

    # -- files

    def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        self._check_any_backend(query.job)
        if not query.follow:
            return self._written.logs(query)
        return followed(query, self._written.logs, self._memory, self._transactor.feed)

    def output(self, job_id: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        self._check_any_backend(job_id)
        return self._written.output(job_id, rank, path, epoch)

    def _check_any_backend(self, job_id: JobId) -> None:
        if not len(self._backends):
            raise Conflict(
                f"nothing is known of what job {job_id} wrote: this server has no worker",
                "start it with server.embedded_worker = true",
            )

    async def put_file(self, sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
        return await self._put_file(sha256, chunks, user)

    # -- events

    async def events(self, after_seq: int, limit: int, event_filter: EventFilter) -> Sequence[StoredEvent]:
        return await asyncio.to_thread(self._store.events, after_seq, limit, event_filter)

    async def latest_events(self, count: int, event_filter: EventFilter) -> Sequence[StoredEvent]:
        return await asyncio.to_thread(self._store.latest_events, count, event_filter)

    def follow(
        self, after_seq: int | None, event_filter: EventFilter, last: int | None = None
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        """After that event, or the last so many first; neither: from now on."""
        feed = self._transactor.feed
        if last is not None:
            return feed.follow_latest(last, event_filter)
        return feed.follow(feed.last_seq if after_seq is None else after_seq, event_filter)

    # -- who did what

    async def audit(
        self, audit_filter: AuditFilter, after: str | None, limit: int
    ) -> tuple[Sequence[StoredAudit], str | None]:
        return await asyncio.to_thread(self._store.audit, audit_filter, after, limit)

    async def check_audit(self) -> AuditCheck:
        return await asyncio.to_thread(self._store.check_audit)

    async def answer(self, scope: str, key: str) -> Answer | None:
        return await asyncio.to_thread(self._store.answer, scope, key)

    # -- agents

    @property
    def enrolment(self) -> Enrolment:
        if self._enrolment is None:
            raise Conflict("this server takes no agents", "ask the server that does")
        return self._enrolment

    # -- what may be asked for

    async def limits(self, user: str, project: str, is_exempt: bool) -> LimitsDocument:
        return limits_document(
            self._live.policy.limits,
            self._memory,
            self._allowing,
            self._live.snapshot(),
            self._transactor.now_ms(),
            user=user,
            project=project,
            is_exempt=is_exempt,
        )

    # -- the whole

    async def stats(self) -> StatsDocument:
        counts = await asyncio.to_thread(self._store.counts)
        return StatsDocument(
            pending=sum(self._memory.pending.values()),
            running=len(self._memory.on_nodes),
            finished=sum(count for phase, count in counts.items() if phase.is_terminal),
            nodes=sum(1 for _ in self._memory.nodes()),
            scheduling=SchedulingDocument(
                cycles=self._live.cycles,
                last_cycle=time_of(self._live.last_cycle_ms) if self._live.last_cycle_ms else None,
                last_cycle_s=self._live.last_cycle_s,
            ),
            version=__version__,
        )


def _change(draft: Draft, job_id: JobId, event: JobEvent, who: Who) -> None:
    """As it stands by now."""
    try:
        if draft.job(job_id) is not None:
            draft.change(job_id, event, who.user)
            return
    except Refused as refused:
        raise Conflict(str(refused), f"ask for job {job_id} to see how it stands") from None
    raise Conflict(f"job {job_id} is over", f"ask for job {job_id} to see how it ended")


def _answer_many(
    draft: Draft, answer_of: Callable[[Sequence[JobState]], Answer] | None, states: Sequence[JobState]
) -> Sliced[None]:
    if answer_of is None:
        return
    make = partial(answer_of, states)
    draft.batch.answers.append(make() if len(states) <= SLICE else (yield make))


def _answer(draft: Draft, answer_of: Callable[[R], Answer] | None, result: R) -> None:
    if answer_of is not None:
        draft.batch.answers.append(answer_of(result))
