"""What backends report becomes events; what nobody waits for any more is refused, and that is all right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskReturned, TaskStarted
from rota.control.controller import Controller
from rota.control.draft import Draft
from rota.control.errors import NotFound, Unavailable
from rota.lifecycle.advance import Refused
from rota.lifecycle.events import Ended, JobEvent, Returned, Started
from rota.lifecycle.state import EndReason, TaskEnd

log = structlog.get_logger()

RETRY_S = 1.0


class Reports:
    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def keep(self, reports: Sequence[TaskReport]) -> None:
        """Returns when all are kept or refused. While nothing can be kept, it tries again."""
        left = list(reports)
        while left:
            # All are asked for before the controller's next turn: one transaction for all.
            answers = await asyncio.gather(*map(self._keep_one, left), return_exceptions=True)
            again = []
            for report, answer in zip(left, answers, strict=True):
                if isinstance(answer, Unavailable):
                    again.append(report)
                elif isinstance(answer, Refused | NotFound):
                    log.info("a report is of no use any more", task=report.ref, why=str(answer))
                elif isinstance(answer, Exception):
                    log.error("a report can't be handled", task=report.ref, why=repr(answer))
            left = again
            if left:
                await asyncio.sleep(RETRY_S)

    async def lose(self, refs: Sequence[TaskRef], message: str) -> None:
        """These ran, and are gone."""
        now_ms = self._controller.now_ms()
        end = TaskEnd(EndReason.LOST, message=message)
        await self.keep([TaskEnded(ref, now_ms, end) for ref in refs])

    async def _keep_one(self, report: TaskReport) -> None:
        await self._controller.do(_command(report), about=report.ref.job)


def _command(report: TaskReport) -> Callable[[Draft], None]:
    event = _event(report)
    job_id = report.ref.job

    def command(draft: Draft) -> None:
        if draft.job(job_id) is None:
            raise NotFound("job", job_id)
        draft.change(job_id, event, at_ms=min(report.at_ms, draft.now_ms))

    return command


def _event(report: TaskReport) -> JobEvent:
    ref = report.ref
    match report:
        case TaskStarted():
            return Started(ref.rank, ref.fence)
        case TaskEnded(end=end):
            return Ended(ref.rank, ref.fence, end)
        case TaskReturned():
            return Returned(ref.rank, ref.fence)
