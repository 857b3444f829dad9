"""Words for how a job stands, and how it ended."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterable

from rota.api.jobs import AttemptDocument, JobDocument
from rota.lifecycle.state import EndReason, Phase
from rota.model.causes import Cause
from rota.model.quantities import format_duration, parse_timestamp_ms
from rota.views.folding import fold_names
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of

_FEW = 3
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", re.ASCII)


WORDS: dict[str, tuple[Phase, ...]] = {
    "waiting": (Phase.CREATED, Phase.PENDING),
    "held": (Phase.CREATED,),
    "starting": (Phase.SCHEDULED,),
    "running": (Phase.RUNNING,),
    "succeeded": (Phase.SUCCEEDED,),
    "failed": (Phase.FAILED,),
    "timed out": (Phase.TIMED_OUT,),
    "cancelled": (Phase.CANCELLED,),
}
"""What `phase_text` may say, and the phases that it stands for."""
_FIRST = ("failed", "timed out", "cancelled", "running", "starting", "held", "waiting", "succeeded")
"""In the state of an array: what somebody should know comes first."""


def phase_text(job: JobDocument) -> str:
    """One or two words: `running`, `held`, `timed out`; of an array `1 failed, 9 succeeded`."""
    if job.elements is not None:
        counts = phase_counts(job)
        return ", ".join(f"{count:,} {word}" for word, count in counts.items())
    if job.phase is Phase.CREATED and job.cause is Cause.HELD:
        return "held"
    return _PHASES[job.phase]


def phase_counts(job: JobDocument) -> dict[str, int]:
    """How many jobs of an array are in which state, by its word."""
    is_held = job.phase is Phase.CREATED and job.cause is Cause.HELD
    found: dict[str, int] = {}
    for phase, count in job.phases.items():
        word = "held" if is_held and phase is Phase.CREATED else _PHASES[phase]
        found[word] = found.get(word, 0) + count
    return {word: found[word] for word in _FIRST if word in found}


def note_text(job: JobDocument, clock: Clock) -> str:
    """What the phase alone doesn't say: `waits for 17`, `retry in 20 s`, `exit 3`; empty: nothing."""
    told = _CAUSES[job.cause](job, clock) if job.cause else ""
    if not told and job.reason and job.phase is Phase.PENDING:
        told = local_times(one_line(job.reason), clock)
    if not told and job.promised and not job.started:
        told = f"promised for {clock.text(ms_of(job.promised))}"
    if not told and job.phase is Phase.FAILED and job.exit_code is not None:
        told = exit_text(job.exit_code)
    message = one_line(job.message)
    return ": ".join(filter(None, (told, message))) if message not in told else told


def state_text(job: JobDocument, clock: Clock) -> str:
    """Both: `failed: exit 3`, `waiting, retry in 20 s`."""
    phase, note = phase_text(job), note_text(job, clock)
    between = ": " if job.phase.is_terminal else ", "
    return f"{phase}{between}{note}" if note and note != phase else phase


def outcome_text(job: JobDocument, attempts: Iterable[AttemptDocument], clock: Clock) -> str:
    """How it ended, by the task that decided it: `failed: exit 3 of rank 2 on n1`."""
    if job.phase is not Phase.FAILED or job.cause is not Cause.TASK_FAILED:
        return state_text(job, clock)
    failed = [one for one in attempts if is_failure(one)]
    if not failed:
        return state_text(job, clock)
    # Of those that failed at once, the others were most likely drawn along by the first.
    first = min(failed, key=lambda one: (ms_of(one.ended or one.bound), one.rank))
    of_rank = f" of rank {first.rank}" if job.tasks > 1 else ""
    where = f"{of_rank} on {first.node}"
    return f"failed{where}: {end_text(first)}" if first.message else f"failed: {end_text(first)}{where}"


def is_failure(attempt: AttemptDocument) -> bool:
    if attempt.reason is None or attempt.reason in (EndReason.STOPPED, EndReason.LOST):
        return False
    return attempt.reason is not EndReason.EXITED or attempt.exit_code != 0


def end_text(attempt: AttemptDocument) -> str:
    """How one task ended: `exit 3`, `killed by SIGSEGV`."""
    match attempt.reason:
        case None:
            return attempt.phase.value if attempt.phase else ""
        case EndReason.EXITED:
            return exit_text(attempt.exit_code or 0)
        case EndReason.SIGNALLED:
            return f"killed by {signal_text(attempt.signal or 0)}"
        case reason:
            message = one_line(attempt.message)
            return f"{_END_REASONS[reason]}: {message}" if message else _END_REASONS[reason]


def exit_text(code: int) -> str:
    return f"exit {code}"


def signal_text(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_PHASES = {
    Phase.CREATED: "waiting",
    Phase.PENDING: "waiting",
    Phase.SCHEDULED: "starting",
    Phase.RUNNING: "running",
    Phase.SUCCEEDED: "succeeded",
    Phase.FAILED: "failed",
    Phase.CANCELLED: "cancelled",
    Phase.TIMED_OUT: "timed out",
}

_END_REASONS = {
    EndReason.TIME_LIMIT: "its time limit passed",
    EndReason.OUT_OF_MEMORY: "out of memory",
    EndReason.STORAGE_LIMIT: "took too much of the disk",
    EndReason.STAGING: "its files couldn't be put in place",
    EndReason.NOT_STARTED: "couldn't be started",
    EndReason.STOPPED: "stopped",
    EndReason.LOST: "lost with its node",
}


def local_times(text: str, clock: Clock) -> str:
    """With its times in UTC as the clock shows them."""
    return _UTC.sub(lambda found: clock.text(parse_timestamp_ms(found[0])), text)


def _retry(job: JobDocument, clock: Clock) -> str:
    if job.not_before is None or ms_of(job.not_before) <= clock.now_ms:
        return f"attempt {job.attempt} of it"
    return f"retry {clock.distance_text(ms_of(job.not_before))}"


def _failed(job: JobDocument, clock: Clock) -> str:
    if job.exit_code is None:
        return "a task failed" if not job.message else ""
    return exit_text(job.exit_code)


def _time_limit(job: JobDocument, clock: Clock) -> str:
    if job.time_limit_s is None:
        return "its time limit passed"
    return f"its limit of {format_duration(round(job.time_limit_s * 1000))} passed"


def _dependency(job: JobDocument, clock: Clock) -> str:
    return f"waits for {fold_names(job.waits_for, most=_FEW)}" if job.waits_for else "waits for another job"


_CAUSES: dict[Cause, Callable[[JobDocument, Clock], str]] = {
    Cause.HELD: lambda job, clock: "until it is released" if job.phase is Phase.CREATED else "",
    Cause.DEPENDENCY: _dependency,
    Cause.DEPENDENCY_FAILED: lambda job, clock: "a job that it waited for ended otherwise than it had to",
    Cause.TASK_FAILED: _failed,
    Cause.RETRY: _retry,
    Cause.PREEMPTED: lambda job, clock: "preempted",
    Cause.TAINT: lambda job, clock: "its node no longer bears it",
    Cause.NODE_LOST: lambda job, clock: "its node was lost",
    Cause.BY_USER: lambda job, clock: "",
    Cause.START_MISSED: lambda job, clock: "couldn't start in its period",
    Cause.START_TIMEOUT: lambda job, clock: "couldn't start within the time that its queue allows",
    Cause.DEADLINE: lambda job, clock: "its deadline passed",
    Cause.TIME_LIMIT: _time_limit,
    Cause.MAINTENANCE: lambda job, clock: "its node went into maintenance",
    Cause.SET_ASIDE: lambda job, clock: "Rota couldn't handle it",
    Cause.INPUT_LOST: lambda job, clock: (
        "its task was lost or evicted, and the input with it; submit it again"
    ),
}
