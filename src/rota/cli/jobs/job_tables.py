"""Jobs as tables: lists in which an array is one line, and one job or array in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rota.api.jobs import ArrayDetail, AttemptDocument, JobDetail, JobDocument
from rota.cli.jobs.asked_for import asked_for_text
from rota.cli.jobs.estimates import estimate_text
from rota.cli.tables import BAD, GOOD, PASSING, QUIET, Shown, Table, facts, heading, new_table
from rota.cli.text import Text
from rota.lifecycle.state import Phase
from rota.model.quantities import format_bytes, format_duration
from rota.views.amounts import count_text, priority_text
from rota.views.folding import fold_counted, fold_names
from rota.views.jobs import (
    WORDS,
    end_text,
    is_failure,
    note_text,
    outcome_text,
    phase_counts,
    phase_text,
)
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of, span_text

PHASE_STYLES = {
    Phase.CREATED: QUIET,
    Phase.PENDING: PASSING,
    Phase.SCHEDULED: PASSING,
    Phase.RUNNING: GOOD,
    Phase.SUCCEEDED: GOOD,
    Phase.FAILED: BAD,
    Phase.CANCELLED: QUIET,
    Phase.TIMED_OUT: BAD,
}
_WAITING = (Phase.CREATED, Phase.PENDING)
_ATTEMPTS_SHOWN = 20
_WORDS = {phase: word for word, phases in reversed(WORDS.items()) for phase in phases}
_COLUMNS = ("job", "name", "user", "state", "time", "note")
_WIDE_COLUMNS = (*_COLUMNS, "queue", "project", "nodes", "priority", "submitted", "command")
_DROPPED = ("command", "submitted", "priority", "nodes", "project", "queue", "time", "user", "note")


def jobs_table(jobs: Sequence[JobDocument], clock: Clock, *, wide: bool) -> Table:
    """An array is one line."""
    columns = _WIDE_COLUMNS if wide else _COLUMNS
    table = new_table(*columns, whole=("time",), dropped=_DROPPED, in_one_line=True)
    for job in jobs:
        cells = _cells(job, clock, wide=wide)
        table.add_row(*(cells[column] for column in columns))
    return table


def _cells(job: JobDocument, clock: Clock, *, wide: bool) -> dict[str, str | Text]:
    cells: dict[str, str | Text] = {
        "job": job.id,
        "name": one_line(job.name),
        "user": job.user,
        "state": state_cell(job),
        "time": "" if job.elements else time_text(job, clock),
        "note": job_note(job, clock),
    }
    if wide:
        cells |= {
            "queue": job.queue,
            "project": job.project,
            "nodes": fold_counted(job.nodes),
            "priority": priority_text(job.priority),
            "submitted": clock.text(ms_of(job.submitted)),
            "command": Text(one_line(job.command), style=QUIET),
        }
    return cells


def state_cell(job: JobDocument) -> Text:
    """Of an array, how many jobs are in which state, failures first."""
    if job.elements is None:
        return Text(phase_text(job), style=PHASE_STYLES[job.phase])
    text, styles = Text(), {word: PHASE_STYLES[phases[-1]] for word, phases in WORDS.items()}
    for at, (word, count) in enumerate(phase_counts(job).items()):
        text.append(", " if at else "").append(f"{count:,} {word}", styles[word])
    return text


def job_note(job: JobDocument, clock: Clock) -> str:
    if job.elements is not None:
        return _array_note(job, clock)
    parts = [note_text(job, clock)]
    if job.phase is Phase.RUNNING and job.tasks_running < job.tasks:
        parts.append(f"{job.tasks_running} of {count_text(job.tasks, 'task')}")
    if job.tasks_failed and not job.phase.is_terminal:
        parts.append(f"{job.tasks_failed} failed")
    return ", ".join(filter(None, parts))


def _array_note(job: JobDocument, clock: Clock) -> str:
    """`array of 10, at most 4 at once; exit 3`."""
    assert job.elements is not None
    parts = [f"array of {job.elements.size:,}"]
    if job.elements.at_once is not None and not job.is_over:
        parts[0] += f", at most {job.elements.at_once:,} at once"
    # Of those that succeeded or run there is nothing to say.
    if job.phase not in (Phase.SUCCEEDED, Phase.RUNNING, Phase.SCHEDULED):
        note = note_text(job, clock)
        is_said = job.elements.at_once is not None and note.startswith("at most ")
        parts.append("" if is_said else note)
    return "; ".join(filter(None, parts))


def time_text(job: JobDocument, clock: Clock) -> str:
    """How long it waits, how long it has run of its limit, or how long it ran."""
    if job.started is None:
        until_ms = clock.now_ms if job.ended is None else ms_of(job.ended)
        return span_text(max(0, until_ms - ms_of(job.submitted)))
    until_ms = clock.now_ms if job.ended is None else ms_of(job.ended)
    ran = span_text(max(0, until_ms - ms_of(job.started)))
    if job.ended is None and job.time_limit_s is not None:
        return f"{ran} of {format_duration(round(job.time_limit_s * 1000))}"
    return ran


# -- one job


def detail_tables(detail: JobDetail, clock: Clock, *, wide: bool) -> Iterator[Shown]:
    job = detail.job
    text = Text().append(f"{job.id} {one_line(job.name)}", style="bold")
    text.append(f" {outcome_text(job, detail.attempts, clock)}", style=PHASE_STYLES[job.phase])
    yield text
    yield _facts(detail, clock)
    if detail.attempts:
        yield ""
        yield from _attempts(detail.attempts, clock, wide=wide)
    if wide:
        yield from _as_submitted(detail.spec)


def _as_submitted(spec: object) -> Iterator[Shown]:
    # Only here: lists don't wait until YAML is imported.
    from rota.cli.yaml_text import dump

    yield ""
    yield heading("As submitted")
    yield dump(spec).rstrip()


def _facts(detail: JobDetail, clock: Clock) -> Table:
    job = detail.job
    named = {
        "command": one_line(job.command),
        "project": f"{job.project}, user {job.user}",
        "queue": f"{job.queue}, priority {priority_text(job.priority)}",
        "labels": ", ".join(f"{key}={value}" for key, value in job.labels.items()),
        "tasks": _tasks_text(job) if job.tasks > 1 else "",
        "asks for": asked_for_text(detail.spec),
        "nodes": fold_counted(job.nodes),
        "waits for": fold_names(detail.depends_on),
        "submitted": _moment(ms_of(job.submitted), clock),
        "start": estimate_text(detail.estimate, clock) if job.phase in _WAITING else "",
        "start by": _start_by(detail, clock),
        "started": "" if job.started is None else _moment(ms_of(job.started), clock),
        "ended": "" if job.ended is None else _moment(ms_of(job.ended), clock),
        "retry": _retry_text(job, clock),
        "ran" if job.ended else "runs for": (
            time_text(job, clock) if job.started and job.phase not in _WAITING else ""
        ),
        "attempt": str(job.attempt) if job.attempt > 1 else "",
    }
    return facts(named)


# -- one array


def array_tables(detail: ArrayDetail, clock: Clock, *, wide: bool) -> Iterator[Shown]:
    array = detail.array
    yield Text(f"{array.id} {one_line(array.name)} ", style="bold").extend(state_cell(array))
    yield _array_facts(detail, clock)
    yield ""
    table = new_table("state", "jobs", "which", right=("jobs",))
    for phase, count in array.phases.items():
        ids = detail.first.get(phase, [])
        more = ", …" if count > len(ids) else ""
        table.add_row(
            Text(_WORDS[phase], style=PHASE_STYLES[phase]), f"{count:,}", f"{fold_names(ids)}{more}"
        )
    yield table
    if wide:
        yield from _as_submitted(detail.spec)


def _array_facts(detail: ArrayDetail, clock: Clock) -> Table:
    array = detail.array
    assert array.elements is not None
    at_once = array.elements.at_once
    limit = "" if at_once is None else f", at most {at_once:,} at once"
    start = ""
    if detail.estimate is not None:
        start = f"{detail.estimate.job}: {estimate_text(detail.estimate, clock) or 'no estimate'}"
    return facts(
        {
            "command": one_line(array.command),
            "project": f"{array.project}, user {array.user}",
            "queue": f"{array.queue}, priority {priority_text(array.priority)}",
            "labels": ", ".join(f"{key}={value}" for key, value in array.labels.items()),
            "jobs": f"{array.elements.size:,}{limit}",
            "asks for": asked_for_text(detail.spec),
            "submitted": _moment(ms_of(array.submitted), clock),
            "next start": start,
            "waits": "" if array.phase not in _WAITING else note_text(array, clock),
        }
    )


def _start_by(detail: JobDetail, clock: Clock) -> str:
    if detail.start_by is None:
        return ""
    whose = "" if detail.start_by_from == "job" else f", a rule of the {detail.start_by_from}"
    return f"{_moment(ms_of(detail.start_by), clock)}, or it fails{whose}"


def _retry_text(job: JobDocument, clock: Clock) -> str:
    """When the next attempt may begin; empty: it doesn't wait for that."""
    if job.phase not in _WAITING or job.not_before is None or ms_of(job.not_before) <= clock.now_ms:
        return ""
    return _moment(ms_of(job.not_before), clock)


def _tasks_text(job: JobDocument) -> str:
    return f"{job.tasks:,}: {job.tasks_running:,} run, {job.tasks_done:,} done, {job.tasks_failed:,} failed"


def _moment(at_ms: int, clock: Clock) -> str:
    return f"{clock.text(at_ms)}, {clock.distance_text(at_ms)}"


def _attempts(attempts: Sequence[AttemptDocument], clock: Clock, *, wide: bool) -> Iterator[Shown]:
    yield heading("Tasks")
    columns = ["rank", "node", "started", "ran", "end"]
    if wide:
        columns += ["cpu time", "memory", "gpus", "fence"]
    dropped = ("fence", "gpus", "memory", "cpu time", "started")
    table = new_table(*columns, right=("rank", "fence"), whole=("node",), dropped=dropped)
    shown = attempts if wide else attempts[-_ATTEMPTS_SHOWN:]
    for one in shown:
        end = Text(end_text(one), style=BAD if is_failure(one) else "")
        cells: dict[str, str | Text] = {
            "rank": str(one.rank),
            "node": one.node,
            "started": "" if one.started is None else clock.text(ms_of(one.started)),
            "ran": _ran_text(one, clock),
            "end": end,
            "cpu time": "" if one.cpu_s is None else span_text(round(one.cpu_s * 1000)),
            "memory": "" if one.max_memory_bytes is None else format_bytes(one.max_memory_bytes),
            "gpus": ",".join(map(str, one.gpu_devices)),
            "fence": str(one.fence),
        }
        table.add_row(*(cells[column] for column in columns))
    yield table
    if len(shown) < len(attempts):
        yield Text(f"{len(attempts) - len(shown):,} earlier attempts are shown by -o wide", style=QUIET)


def _ran_text(attempt: AttemptDocument, clock: Clock) -> str:
    if attempt.started is None:
        return ""
    until_ms = clock.now_ms if attempt.ended is None else ms_of(attempt.ended)
    return span_text(max(0, until_ms - ms_of(attempt.started)))
