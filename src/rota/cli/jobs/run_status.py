"""The exit status that stands for how a job ended."""

from __future__ import annotations

from rota.api.jobs import AttemptDocument, JobDetail
from rota.cli.exits import EX_BAD_INPUT, EX_BY_SIGNAL, EX_NOT_RUN, EX_OK, EX_TIMED_OUT
from rota.lifecycle.state import EndReason, Phase
from rota.views.jobs import is_failure

_KILL = 9


def status_of(detail: JobDetail) -> int:
    match detail.job.phase:
        case Phase.SUCCEEDED:
            return EX_OK
        case Phase.TIMED_OUT:
            return EX_TIMED_OUT
        case Phase.CANCELLED:
            return EX_NOT_RUN
        case _:
            failed = [one for one in detail.attempts if is_failure(one)]
            return detail.job.exit_code or (_status_of_task(failed[-1]) if failed else EX_NOT_RUN)


def _status_of_task(attempt: AttemptDocument) -> int:
    match attempt.reason:
        case EndReason.SIGNALLED:
            return EX_BY_SIGNAL + (attempt.signal or _KILL)
        case EndReason.OUT_OF_MEMORY:
            return EX_BY_SIGNAL + _KILL
        case EndReason.TIME_LIMIT:
            return EX_TIMED_OUT
        case EndReason.STAGING | EndReason.NOT_STARTED:
            return EX_NOT_RUN
        case _:
            return attempt.exit_code or EX_BAD_INPUT
