"""`rota run`: one job from its submission to its end, as if its command ran here.

submit ──► wait: place in the queue, expected start ──► follow its output ──► its exit status
            ▲                                                │
            └───────────── requeued, or tried again ─────────┘
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import datetime
from enum import Enum

import typer

from rota.api.jobs import AttemptDocument, JobDetail
from rota.cli.client.connection import Server, connect
from rota.cli.exits import (
    EX_BAD_INPUT,
    EX_BY_SIGNAL,
    EX_INTERRUPTED,
    EX_NOT_RUN,
    EX_OK,
    EX_TIMED_OUT,
)
from rota.cli.job_options import JobOptions
from rota.cli.jobs.estimates import estimate_text
from rota.cli.jobs.input import JobInput
from rota.cli.jobs.input_choice import chosen_input, fields_of
from rota.cli.jobs.jobs_to_send import read_jobs, send
from rota.cli.output import talk, write_bytes
from rota.cli.showing import clock
from rota.cli.terminal.background import Background
from rota.cli.terminal.status_line import StatusLine
from rota.lifecycle.state import EndReason, Phase
from rota.patience.backoff import Backoff
from rota.sdk.job_calls import LogChunk
from rota.views.jobs import is_failure, outcome_text, state_text
from rota.views.quoting import one_line

_LOOKS = Backoff(first_s=0.02, longest_s=1.0)
"""After a long wait, a second more doesn't matter; after a short one it does."""

_WORTH_TELLING_S = 0.1
"""Shorter waits are shown as none."""
_KILL = 9


class Answer(Enum):
    GO_ON = "go on"
    DETACH = "detach"
    CANCEL = "cancel"


def run(command: Sequence[str], options: JobOptions, *, stdin: bool | None = None, pty: bool = False) -> int:
    """The exit code."""
    if not command:
        raise typer.BadParameter("give a command after --, as in `rota run -- make`", param_hint="COMMAND")
    if options.array is not None:
        raise typer.BadParameter("`rota run` follows one job; use `rota submit`", param_hint="--array")
    choice = chosen_input(options, stdin, pty=pty)
    jobs = read_jobs(None, command, options, fields_of(choice))
    with connect() as server:
        [job] = send(server, jobs).jobs
        talk(f"submitted job {job.id} ({one_line(job.name)})")
        return _Following(server, job.id, JobInput(server, job.id, choice)).until_over()


class _Following:
    def __init__(self, server: Server, job: str, source: JobInput) -> None:
        self._input = source
        self._server = server
        self._job = job
        self._is_cancelled = False
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
                self._pass_on_output()
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
        looks = 0
        with StatusLine() as line:
            while True:
                detail = self._server.job(self._job)
                if detail.job.phase is Phase.RUNNING or detail.job.phase.is_terminal:
                    return detail
                looks += 1
                pause_s = _LOOKS.pause_s(looks, chance=0.0)
                if pause_s >= _WORTH_TELLING_S:
                    now = clock()
                    state = f"job {self._job} {state_text(detail.job, now)}"
                    line.show(state, estimate_text(detail.estimate, now))
                time.sleep(pause_s)

    def _pass_on_output(self) -> None:
        """Until its tasks have ended."""
        if self._output is None:
            self._output = Background(self._server.logs(self._job, since=self._written_until, follow=True))
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
