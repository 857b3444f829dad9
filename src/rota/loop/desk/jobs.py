"""Jobs: taken in, changed, looked up. What is over is read from the store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from rota.api.limits import MOST_SHOWN
from rota.control.access import Who
from rota.control.allowing import Allowing
from rota.control.draft import Draft
from rota.control.errors import Conflict, NotFound
from rota.control.slices import SLICE, Sliced
from rota.control.submission import partners, submit
from rota.control.transactor import Transactor
from rota.control.vault import Vault
from rota.intake.submissions import Submission, expand
from rota.lifecycle.advance import Refused
from rota.lifecycle.events import CancelAsked, Held, JobEvent, Released
from rota.lifecycle.state import JobState
from rota.loop.desk.answers import AnswerOf, keep_answer_of_many
from rota.loop.desk.job_admission import Admission
from rota.loop.desk.question_pool import DEFAULT_LIMITS, QuestionLimits, Questions
from rota.loop.live.loop import LiveLoop
from rota.loop.live.side_threads import beside
from rota.model.ids import JobId
from rota.store.reading.folded import FoldedPage
from rota.store.reading.queries import JobFilter
from rota.store.reading.reader import ArrayFound
from rota.store.writing.batch import Attempt

ATTEMPTS_SHOWN = 1000
ATTEMPTS_OF_ARRAY = 10_000


class JobsDesk:
    """Raises the errors of `rota.control.errors`. A dry run checks everything and changes nothing."""

    def __init__(
        self,
        transactor: Transactor,
        live: LiveLoop,
        allowing: Allowing,
        vault: Vault,
        limits: QuestionLimits = DEFAULT_LIMITS,
    ) -> None:
        self._transactor = transactor
        self._memory = transactor.memory
        self._store = transactor.store
        self._allowing = allowing
        self._vault = vault
        self._checks = Questions(limits, "rota-admission")
        """Apart from other questions: a submission doesn't wait for them."""
        self._admission = Admission(self._memory, live, self._checks, allowing)

    def close(self) -> None:
        """Checks that are under way are abandoned."""
        self._checks.close()

    # -- jobs come in

    async def submit(
        self,
        submission: Submission,
        who: Who,
        dry_run: bool = False,
        answer_of: AnswerOf[Sequence[JobState]] = None,
    ) -> Sequence[JobState]:
        submission = self._admitted(submission, who)
        await self._admission.check(submission, who, self._transactor.now_ms())
        first = self._memory.last_number + 1
        if not dry_run:
            first = await self._transactor.numbers(submission.job_count)
        most = MOST_SHOWN if dry_run else None
        return await self._take(submission, who, first, most, dry_run, answer_of)

    async def as_submitted(self, submission: Submission, who: Who, first: int) -> Sequence[JobState]:
        """All of them as they would stand if they came in now, numbered from `first` on. Nothing is changed.
        Whether they could ever start isn't checked: a plan shows that."""
        return await self._take(self._admitted(submission, who), who, first, None, True, None)

    def _admitted(self, submission: Submission, who: Who) -> Submission:
        submission = self._allowing.admit(submission, who, self._transactor.now_ms())
        self._vault.check(submission)
        return submission

    async def _take(
        self,
        submission: Submission,
        who: Who,
        first: int,
        most: int | None,
        dry_run: bool,
        answer_of: AnswerOf[Sequence[JobState]],
    ) -> Sequence[JobState]:
        ended = await self._ended_partners(submission)
        jobs = await beside(submission.job_count, expand, submission, first, most)

        def command(draft: Draft) -> Sliced[Sequence[JobState]]:
            self._allowing.check_waiting(submission, who, draft)
            states = yield from submit(draft, submission, jobs, ended, who)
            yield from keep_answer_of_many(draft, answer_of, states)
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

    # -- changes

    async def cancel(
        self,
        job_id: JobId,
        who: Who,
        message: str,
        dry_run: bool = False,
        answer_of: AnswerOf[Sequence[JobState]] = None,
    ) -> Sequence[JobState]:
        return await self._change_all(job_id, CancelAsked(who.user, message), who, dry_run, answer_of)

    async def hold(
        self,
        job_id: JobId,
        who: Who,
        dry_run: bool = False,
        answer_of: AnswerOf[Sequence[JobState]] = None,
    ) -> Sequence[JobState]:
        return await self._change_all(job_id, Held(who.user), who, dry_run, answer_of)

    async def release(
        self,
        job_id: JobId,
        who: Who,
        dry_run: bool = False,
        answer_of: AnswerOf[Sequence[JobState]] = None,
    ) -> Sequence[JobState]:
        return await self._change_all(job_id, Released(who.user), who, dry_run, answer_of)

    async def _change_all(
        self,
        job_id: JobId,
        event: JobEvent,
        who: Who,
        dry_run: bool,
        answer_of: AnswerOf[Sequence[JobState]],
    ) -> Sequence[JobState]:
        """Of an array, whichever elements it may still happen to."""
        elements = self._memory.elements(job_id)
        if not elements and self._memory.job(job_id) is None and await self.job(job_id) is not None:
            raise Conflict(f"job {job_id} is over", f"ask for job {job_id} to see how it ended")
        if not elements and job_id.isdecimal() and await self.array(int(job_id)) is not None:
            raise Conflict(f"all jobs of array {job_id} are over", f"ask for {job_id} to see how they ended")

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
                        raise Conflict(str(refused), f"ask for job {job_id} to see its state") from None
                if count % SLICE == 0:
                    yield None
            yield from keep_answer_of_many(draft, answer_of, states)
            return states

        return await self._transactor.do(command, dry_run)

    # -- what is known of them

    async def job(self, job_id: JobId) -> JobState | None:
        known = self._memory.job(job_id)
        return known if known is not None else await asyncio.to_thread(self._store.job, job_id)

    async def jobs(
        self, job_filter: JobFilter, after: str | None, limit: int
    ) -> tuple[Sequence[JobState], str | None]:
        return await asyncio.to_thread(self._store.jobs, job_filter, after, limit)

    async def folded_jobs(self, job_filter: JobFilter, after: str | None, limit: int) -> FoldedPage:
        """With arrays as one row each."""
        return await asyncio.to_thread(self._store.folded_jobs, job_filter, after, limit)

    async def array(self, number: int) -> ArrayFound | None:
        return await asyncio.to_thread(self._store.array, number)

    async def attempts_of_array(self, number: int) -> Sequence[Attempt]:
        return await asyncio.to_thread(self._store.attempts_of_array, number, ATTEMPTS_OF_ARRAY)

    async def was_removed(self, job_id: JobId) -> bool:
        """Of a job that isn't there."""
        return await asyncio.to_thread(self._store.was_removed, job_id)

    async def job_with_attempts(self, job_id: JobId) -> tuple[JobState, Sequence[Attempt]] | None:
        """What is in memory may be of a moment before: both are asked of the store."""
        return await asyncio.to_thread(self._store.job_with_attempts, job_id, ATTEMPTS_SHOWN)
