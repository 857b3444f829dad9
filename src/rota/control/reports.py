"""What backends report becomes events; what nobody waits for any more is refused, and that is all right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStarted
from rota.control.draft import Draft
from rota.control.errors import NotFound, Unavailable
from rota.control.transactor import Transactor
from rota.lifecycle.advance import Refused
from rota.lifecycle.events import Ended, JobEvent, Returned, Started
from rota.lifecycle.state import EndReason, JobState, TaskEnd

log = structlog.get_logger()

RETRY_S = 1.0


class Reports:
    def __init__(self, transactor: Transactor) -> None:
        self._transactor = transactor

    async def keep(self, reports: Sequence[TaskReport]) -> list[TaskReport]:
        """Returns when all are kept or refused, and which are refused. While nothing can be kept, it tries
        again."""
        left, refused = list(reports), []
        while left:
            failures = await self._transactor.do_each((one.ref.job, _command(one)) for one in left)
            again = []
            for report, failure in zip(left, failures, strict=True):
                if failure is None:
                    continue
                if isinstance(failure, Unavailable):
                    again.append(report)
                    continue
                refused.append(report)
                if isinstance(failure, Refused | NotFound):
                    log.info("report.outdated", task=report.ref, why=str(failure))
                else:
                    log.error("report.failed", task=report.ref, why=repr(failure))
            left = again
            if left:
                await asyncio.sleep(RETRY_S)
        return refused

    async def lose(self, refs: Sequence[TaskRef], message: str) -> None:
        """These ran, and are gone."""
        now_ms = self._transactor.now_ms()
        end = TaskEnd(EndReason.LOST, message=message)
        await self.keep([TaskEnded(ref, now_ms, end) for ref in refs])


def _command(report: TaskReport) -> Callable[[Draft], None]:
    event = _event(report)
    job_id = report.ref.job

    def command(draft: Draft) -> None:
        state = draft.job(job_id)
        if state is None:
            raise NotFound("job", job_id)
        draft.change(job_id, event, at_ms=_believed_ms(report, state, draft.now_ms))

    return command


def _believed_ms(report: TaskReport, state: JobState, now_ms: int) -> int:
    """Clocks of nodes go as they like: nothing happens after it is heard of, or before what led to it."""
    task = state.task(report.ref.rank)
    earliest_ms = 0 if task is None else task.since_ms
    return max(earliest_ms, min(report.at_ms, now_ms))


def _event(report: TaskReport) -> JobEvent:
    ref = report.ref
    match report:
        case TaskStarted():
            return Started(ref.rank, ref.fence)
        case TaskEnded(end=end):
            return Ended(ref.rank, ref.fence, end)
        case TaskReturned():
            return Returned(ref.rank, ref.fence)
