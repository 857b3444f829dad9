"""Jobs, questions about them, what they wrote and what happened, without a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from rota.api.jobs import EstimateDocument
from rota.api.people import LimitsDocument
from rota.api.questions import PlanAnswer
from rota.api.service import SchedulingDocument, StatsDocument
from rota.backends.backend import Fed, InputPiece, KeptFile, LogChunk, LogQuery
from rota.control.access import Who
from rota.intake.submissions import Submission, expand
from rota.lifecycle.state import EndReason, JobState, Phase, TaskEnd, Used
from rota.model.explanation import Explanation, Outcome
from rota.model.extension import Extension
from rota.model.ids import JobId, NodeName
from rota.server.documents import moment
from rota.store.reading.folded import FoldedPage, FoldedRow
from rota.store.reading.queries import EventFilter, JobFilter
from rota.store.reading.reader import ArrayFound
from rota.store.writing.batch import (
    Answer,
    Attempt,
    StoredEvent,
)
from rota.views.why.view import WhyView
from tests.unit.server.fake_state import NOW_MS, FakeState


class FakeJobs(FakeState):
    async def limits(self, user: str, project: str, is_exempt: bool) -> LimitsDocument:
        return LimitsDocument(user=user, project=project, exempt=is_exempt, limits=[])

    async def stats(self) -> StatsDocument:
        cycles = SchedulingDocument(cycles=3, last_cycle=None, last_cycle_s=0.01)
        return StatsDocument(pending=1, running=0, finished=2, nodes=2, scheduling=cycles, version="1")

    async def submit(
        self,
        submission: Submission,
        who: Who,
        dry_run: bool = False,
        answer_of: Callable[[Sequence[JobState]], Answer] | None = None,
    ) -> list[JobState]:
        self._change(dry_run, "submit", who.user, submission.job_count)
        first = 100 + len(self.changes)
        states = [
            JobState(JobId(str(first + at)), first + at, one.spec, NOW_MS)
            for at, one in enumerate(expand(submission, first))
        ]
        self._keep(answer_of, states)
        return states

    async def _change_job(
        self, what: str, job_id: JobId, dry_run: bool, answer_of: Any, *more: Any
    ) -> list[JobState]:
        self._change(dry_run, what, job_id, *more)
        states = [state for name, state in self.states.items() if name.partition(".")[0] == job_id]
        self._keep(answer_of, states)
        return states

    async def cancel(
        self, job_id: JobId, who: Who, message: str, dry_run: bool = False, answer_of: Any = None
    ) -> list[JobState]:
        return await self._change_job("cancel", job_id, dry_run, answer_of, message)

    async def hold(
        self, job_id: JobId, who: Who, dry_run: bool = False, answer_of: Any = None
    ) -> list[JobState]:
        return await self._change_job("hold", job_id, dry_run, answer_of)

    async def release(
        self, job_id: JobId, who: Who, dry_run: bool = False, answer_of: Any = None
    ) -> list[JobState]:
        return await self._change_job("release", job_id, dry_run, answer_of)

    async def extend(
        self, job_id: JobId, time_limit_ms: int, who: Who, dry_run: bool = False, answer_of: Any = None
    ) -> Extension:
        extension = Extension(job_id, self.extension, time_limit_ms, had_ms=3_600_000, longest_ms=5_000_000)
        self._change(dry_run or not extension.is_granted, "extend", job_id, time_limit_ms)
        if extension.is_granted:
            self._keep(answer_of, extension)
        return extension

    async def job(self, job_id: JobId) -> JobState | None:
        return self.states.get(job_id)

    async def jobs(
        self, job_filter: JobFilter, after: str | None, limit: int
    ) -> tuple[list[JobState], str | None]:
        self.job_filter = job_filter
        found = [
            state
            for state in reversed(self.states.values())
            if (job_filter.projects is None or state.spec.template.project in job_filter.projects)
            and (job_filter.array is None or state.id.startswith(f"{job_filter.array}."))
        ]
        return found[:limit], found[limit - 1].id if len(found) > limit else None

    async def folded_jobs(self, job_filter: JobFilter, after: str | None, limit: int) -> FoldedPage:
        found, following = await self.jobs(job_filter, after, 1000)
        rows = {state.id.partition(".")[0]: FoldedRow(state, None) for state in found}
        for number in list(rows):
            if (array := await self.array(int(number))) is not None:
                rows[number] = array.row
        return FoldedPage(list(rows.values())[:limit], following)

    async def array(self, number: int) -> ArrayFound | None:
        found = [state for state in self.states.values() if state.id.startswith(f"{number}.")]
        if not found:
            return None
        by_phase: dict[Phase, list[JobId]] = {}
        for state in found:
            by_phase.setdefault(state.phase, []).append(state.id)
        counts = {phase: len(ids) for phase, ids in by_phase.items()}
        return ArrayFound(FoldedRow(found[0], counts), by_phase)

    async def attempts_of_array(self, number: int) -> list[Attempt]:
        found = await self.array(number)
        assert found is not None
        return [one for ids in found.first.values() for id in ids for one in await self._attempts(id)]

    async def was_removed(self, job_id: JobId) -> bool:
        return job_id in self.removed

    async def reasons(self, jobs: Sequence[JobId], who: Who) -> dict[JobId, str]:
        return dict.fromkeys(jobs, "the queue is paused")

    async def is_gone(self, state: JobState) -> bool:
        return state.id in self.silenced

    async def job_with_attempts(self, job_id: JobId) -> tuple[JobState, list[Attempt]] | None:
        return self.states[job_id], await self._attempts(job_id)

    async def _attempts(self, job_id: JobId) -> list[Attempt]:
        end = TaskEnd(EndReason.EXITED, exit_code=0, used=Used(cpu_ms=5000, max_memory_bytes=2**20))
        return [Attempt(job_id, 0, 1, NodeName("n1"), (), NOW_MS, NOW_MS, NOW_MS + 10_000, end)]

    async def why(self, job_id: JobId, rank: int | None, who: Who) -> WhyView:
        explanation = Explanation(job_id, Outcome.WAITING)
        job = self.states[job_id].record().job
        return WhyView(job_id, explanation, Outcome.WAITING, (), job, rank is not None, False, None, (), ())

    async def eta(self, job_id: JobId) -> EstimateDocument:
        return EstimateDocument(
            job=job_id,
            told=moment(NOW_MS),
            expected=None,
            bound=None,
            latest=None,
            promised=False,
            position=3,
            reason="nothing is known",
        )

    async def plan(self, submission: Submission, who: Who) -> PlanAnswer:
        return PlanAnswer(jobs=[], changes=[])

    async def logs(self, query: LogQuery) -> AsyncIterator[Sequence[LogChunk]]:
        self.log_query = query
        for chunk in self.log:
            yield [chunk]

    async def output(self, job_id: JobId, rank: int, path: str, epoch: int = 0) -> AsyncIterator[bytes]:
        if path != "result.txt":
            raise FileNotFoundError(path)
        yield b"42"

    async def outputs(self, job_id: JobId, epoch: int = 0) -> Sequence[KeptFile]:
        return [] if job_id in self.silenced else [KeptFile(0, "result.txt", 2, executable=False)]

    async def feed(self, state: JobState, piece: InputPiece) -> Fed:
        return Fed(piece.offset_bytes + len(piece.data), is_open=not piece.ends)

    async def put_file(self, sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
        content = b"".join([chunk async for chunk in chunks])
        is_new = sha256 not in self.files
        self.files[sha256] = content
        return is_new

    async def events(self, after_seq: int, limit: int, event_filter: EventFilter) -> list[StoredEvent]:
        self.event_filter = event_filter
        return [one for one in self.stored if one.seq > after_seq and event_filter.admits(one.row)][:limit]

    async def latest_events(self, count: int, event_filter: EventFilter) -> list[StoredEvent]:
        return [one for one in self.stored if event_filter.admits(one.row)][-count:]

    async def follow(
        self, after_seq: int | None, event_filter: EventFilter, last: int | None = None
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        self.is_followed = True
        try:
            yield [one for one in self.stored if one.seq > (after_seq or 0)][-(last or 0) :]
            await asyncio.Event().wait()
        finally:
            self.is_followed = False

    async def answer(self, scope: str, key: str) -> Answer | None:
        return self.answers.get((scope, key))
