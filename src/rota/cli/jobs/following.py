"""Follows one job from its submission to its end, as if its command ran here.

submitted ──► wait: place in the queue, expected start ──► follow its output ──► its exit status
               ▲                                                │
               └───────────── requeued, or tried again ─────────┘
"""

from __future__ import annotations

import sys
import time
from datetime import datetime
from enum import Enum

from rota.api.jobs import AttemptDocument, JobDetail
from rota.cli.client.connection import Server
from rota.cli.exits import (
    EX_BAD_INPUT,
    EX_BY_SIGNAL,
    EX_INTERRUPTED,
    EX_NOT_RUN,
    EX_OK,
    EX_TIMED_OUT,
)
from rota.cli.jobs.estimates import estimate_text
from rota.cli.jobs.input import JobInput
from rota.cli.output import talk, write_bytes
from rota.cli.showing import clock
from rota.cli.terminal.background import Background
from rota.cli.terminal.status_line import StatusLine
from rota.lifecycle.state import EndReason, Phase
from rota.model.run import Stdin
from rota.sdk.errors import BadInput
from rota.sdk.job_calls import LogChunk
from rota.views.jobs import is_failure, outcome_text, state_text

_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 1.0
_SHORT_JOB_S = 0.07
"""A job that is over by then is asked for once: its end, and all that it has written. Nobody notices that the
first output of any other comes so much later."""
_PAUSE_OF_WAIT = 1 / 3
"""Between two looks, of the wait so far: after a long one, a second more doesn't matter; after a short one it
does."""

_WORTH_TELLING_S = 0.1
"""Shorter waits are shown as none."""
_KILL = 9


class Answer(Enum):
    GO_ON = "go on"
    DETACH = "detach"
    CANCEL = "cancel"


def follow(server: Server, job: str, choice: Stdin) -> int:
    """The exit code."""
    return _Following(server, job, JobInput(server, job, choice)).until_over()


class _Following:
    def __init__(self, server: Server, job: str, source: JobInput) -> None:
        self._input = source
        self._server = server
        self._job = job
        self._is_cancelled = False
        self._server_waits = True
        """Until it says that it can't: an older one."""
        self._output: Background[LogChunk] | None = None
        self._written: set[tuple[int, int]] = set()
        """By rank and fence."""
        self._written_before: set[tuple[int, int]] = set()
        """Tasks that had ended when the output was last followed: a retry sends their output again."""
        self._written_until: datetime | None = None

    def until_over(self) -> int:
        is_watched_again = False
        while True:
            try:
                if is_watched_again:
                    talk(f"following job {self._job} again; Ctrl-C asks once more")
                return self._follow()
            except KeyboardInterrupt:
                if self._is_cancelled:
                    talk(f"job {self._job} is being cancelled; `rota show {self._job}` shows its state")
                    return EX_INTERRUPTED
                match _ask():
                    case Answer.GO_ON:
                        is_watched_again = True
                    case Answer.DETACH:
                        self._input.leave()
                        talk(f"job {self._job} keeps running; `rota logs -f {self._job}` follows its output")
                        return EX_OK
                    case Answer.CANCEL:
                        self._is_cancelled, is_watched_again = True, False
                        self._server.cancel(self._job, message="by Ctrl-C")

    def _follow(self) -> int:
        while True:
            detail = self._wait()
            with self._input.live():
                self._pass_on_output(is_over=detail.job.phase.is_terminal)
            if detail.job.phase.is_terminal:
                break
            detail = self._server.job(self._job)
            if detail.job.phase.is_terminal:
                break
        told = outcome_text(detail.job, detail.attempts, clock())
        if detail.job.phase is not Phase.SUCCEEDED:
            talk(f"job {self._job} {told}")
        return status_of(detail)

    def _wait(self) -> JobDetail:
        """Until it runs, or is over."""
        waited_s = 0.0
        with StatusLine() as line:
            while True:
                pause_s = min(max(_SHORTEST_PAUSE_S, waited_s * _PAUSE_OF_WAIT), _LONGEST_PAUSE_S)
                if not waited_s and self._server_waits and not self._input.is_any:
                    detail = self._look("over", pause_s := _SHORT_JOB_S)
                else:
                    detail = self._look("started", pause_s)
                waited_s += pause_s
                if detail.job.phase is Phase.RUNNING or detail.job.phase.is_terminal:
                    return detail
                if waited_s >= _WORTH_TELLING_S:
                    now = clock()
                    state = f"job {self._job} {state_text(detail.job, now)}"
                    line.show(state, estimate_text(detail.estimate, now))

    def _look(self, until: str, pause_s: float) -> JobDetail:
        """When it has come so far, or after a pause. A server that is asked to wait is asked once: every
        question takes of the time in which it could start the job."""
        if self._server_waits:
            try:
                return self._server.job(self._job, until=until, within_s=pause_s)
            except BadInput:
                self._server_waits = False
        # Also before the first look: no job has started by then.
        time.sleep(pause_s)
        return self._server.job(self._job)

    def _pass_on_output(self, *, is_over: bool) -> None:
        """Until its tasks have ended. `is_over`: they have, so nothing is left to be followed."""
        if self._output is None:
            since = self._written_until
            self._output = Background(self._server.logs(self._job, since=since, follow=not is_over))
            self._written_before |= self._written
        for chunk in self._output:
            attempt = chunk.rank, chunk.fence
            if attempt in self._written_before:
                continue
            write_bytes(chunk.data, sys.stderr if chunk.stream == "err" else None)
            self._written.add(attempt)
            self._written_until = max(chunk.at, self._written_until or chunk.at)
        self._output = None


def _ask() -> Answer:
    """A second Ctrl-C cancels the job, and so does the first without a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return Answer.CANCEL
    sys.stderr.write("\nrota: detach and let it run (d), cancel it (c), or keep following it (Enter)? ")
    sys.stderr.flush()
    try:
        given = sys.stdin.readline().strip().lower()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return Answer.CANCEL
    return {"d": Answer.DETACH, "c": Answer.CANCEL}.get(given[:1], Answer.GO_ON)


# -- the exit status


def status_of(detail: JobDetail) -> int:
    """The exit status that stands for how a job ended."""
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
        case EndReason.OUT_OF_MEMORY | EndReason.STORAGE_LIMIT:
            return EX_BY_SIGNAL + _KILL
        case EndReason.TIME_LIMIT:
            return EX_TIMED_OUT
        case EndReason.STAGING | EndReason.NOT_STARTED:
            return EX_NOT_RUN
        case _:
            return attempt.exit_code or EX_BAD_INPUT
