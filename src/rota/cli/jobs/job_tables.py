"""Jobs as tables: lists with arrays folded into one line each, and one job in full."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from rota.api.jobs import AttemptDocument, JobDetail, JobDocument
from rota.cli.jobs.estimates import estimate_text
from rota.cli.tables import BAD, GOOD, PASSING, QUIET, heading, new_table
from rota.cli.yaml_text import dump
from rota.lifecycle.state import Phase
from rota.model.quantities import format_bytes, format_duration
from rota.views.folding import fold_counted, fold_names
from rota.views.jobs import end_text, is_failure, note_text, outcome_text, phase_text
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of, span_text
from rota.views.wording import count_text, priority_text

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
_WIDE_COLUMNS = {
    "queue": 0,
    "user": 0,
    "project": 100,
    "nodes": 120,
    "priority": 130,
    "submitted": 150,
    "command": 170,
}
"""The least width of the terminal for each column: a column of a few letters says nothing."""


class Row(Struct, frozen=True):
    """A job by itself, or those of an array."""

    jobs: tuple[JobDocument, ...]

    @property
    def is_array(self) -> bool:
        return len(self.jobs) > 1

    @property
    def first(self) -> JobDocument:
        return self.jobs[0]


def rows_of(jobs: Sequence[JobDocument], *, fold: bool = True) -> list[Row]:
    """Arrays stand where the first of their jobs does."""
    alike: dict[str, list[JobDocument]] = {}
    for job in jobs:
        alike.setdefault(job.array if fold and job.array else job.id, []).append(job)
    return [Row(tuple(same)) for same in alike.values()]


def jobs_table(rows: Sequence[Row], clock: Clock, *, wide: bool) -> Table:
    columns = ["job", "name", "state", "time", "note"]
    if wide:
        width = shutil.get_terminal_size().columns
        columns += [column for column, from_width in _WIDE_COLUMNS.items() if width >= from_width]
    table = new_table(*columns)
    for row in rows:
        cells = _array_cells(row, clock) if row.is_array else _job_cells(row.first, clock)
        cells |= _common_cells(row, clock)
        table.add_row(*(cells[column] for column in columns))
    for column in table.columns:
        if column.header in ("JOB", "STATE", "TIME"):
            column.no_wrap = True
    return table


def _common_cells(row: Row, clock: Clock) -> dict[str, RenderableType]:
    job = row.first
    return {
        "name": one_line(job.name),
        "project": job.project,
        "user": job.user,
        "queue": job.queue,
        "priority": priority_text(job.priority),
        "nodes": fold_counted(node for one in row.jobs for node in one.nodes),
        "submitted": clock.text(ms_of(job.submitted)),
        "command": Text(one_line(job.command), style=QUIET),
    }


def _job_cells(job: JobDocument, clock: Clock) -> dict[str, RenderableType]:
    return {
        "job": job.id,
        "state": Text(phase_text(job), style=PHASE_STYLES[job.phase]),
        "time": time_text(job, clock),
        "note": _job_note(job, clock),
    }


def _job_note(job: JobDocument, clock: Clock) -> str:
    parts = [note_text(job, clock)]
    if job.phase is Phase.RUNNING and job.tasks_running < job.tasks:
        parts.append(f"{job.tasks_running} of {count_text(job.tasks, 'task')}")
    if job.tasks_failed and not job.phase.is_terminal:
        parts.append(f"{job.tasks_failed} failed")
    return ", ".join(filter(None, parts))


def _array_cells(row: Row, clock: Clock) -> dict[str, RenderableType]:
    by_phase = Counter(phase_text(job) for job in row.jobs)
    styles = {phase_text(job): PHASE_STYLES[job.phase] for job in row.jobs}
    (most, _), *_ = by_phase.most_common(1)
    counts = ", ".join(f"{count:,} {phase}" for phase, count in sorted(by_phase.items()))
    return {
        "job": f"{row.first.array}.*",
        "state": Text(f"{by_phase[most]:,} {most}", style=styles[most]),
        "time": time_text(row.jobs[-1], clock) if len(by_phase) == 1 else "",
        "note": f"array of {len(row.jobs):,}: {counts}"
        if len(by_phase) > 1
        else f"array of {len(row.jobs):,}",
    }


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


def detail_tables(detail: JobDetail, clock: Clock, *, wide: bool) -> Iterator[RenderableType]:
    job = detail.job
    text = Text().append(f"{job.id} {one_line(job.name)}", style="bold")
    text.append(f" {outcome_text(job, detail.attempts, clock)}", style=PHASE_STYLES[job.phase])
    yield text
    yield _facts(detail, clock)
    if detail.attempts:
        yield ""
        yield from _attempts(detail.attempts, clock, wide=wide)
    if wide:
        yield ""
        yield heading("As submitted")
        yield dump(detail.spec).rstrip()


def _facts(detail: JobDetail, clock: Clock) -> Table:
    job = detail.job
    facts = {
        "command": one_line(job.command),
        "project": f"{job.project}, user {job.user}",
        "queue": f"{job.queue}, priority {priority_text(job.priority)}",
        "labels": ", ".join(f"{key}={value}" for key, value in job.labels.items()),
        "tasks": _tasks_text(job) if job.tasks > 1 else "",
        "nodes": fold_counted(job.nodes),
        "waits for": fold_names(detail.depends_on),
        "submitted": _moment(ms_of(job.submitted), clock),
        "start": estimate_text(detail.estimate, clock) if job.phase in _WAITING else "",
        "started": "" if job.started is None else _moment(ms_of(job.started), clock),
        "ended": "" if job.ended is None else _moment(ms_of(job.ended), clock),
        "retry": _retry_text(job, clock),
        "ran" if job.ended else "runs for": (
            time_text(job, clock) if job.started and job.phase not in _WAITING else ""
        ),
        "attempt": str(job.attempt) if job.attempt > 1 else "",
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style=QUIET, no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value:
            table.add_row(name, value)
    return table


def _retry_text(job: JobDocument, clock: Clock) -> str:
    """When the next attempt may begin; empty: it doesn't wait for that."""
    if job.phase not in _WAITING or job.not_before is None or ms_of(job.not_before) <= clock.now_ms:
        return ""
    return _moment(ms_of(job.not_before), clock)


def _tasks_text(job: JobDocument) -> str:
    return f"{job.tasks:,}: {job.tasks_running:,} run, {job.tasks_done:,} done, {job.tasks_failed:,} failed"


def _moment(at_ms: int, clock: Clock) -> str:
    return f"{clock.text(at_ms)}, {clock.distance_text(at_ms)}"


def _attempts(attempts: Sequence[AttemptDocument], clock: Clock, *, wide: bool) -> Iterator[RenderableType]:
    yield heading("Tasks")
    columns = ["rank", "node", "started", "ran", "end"]
    if wide:
        columns += ["cpu time", "memory", "gpus", "fence"]
    table = new_table(*columns, right=("rank", "fence"))
    shown = attempts if wide else attempts[-_ATTEMPTS_SHOWN:]
    for one in shown:
        end = Text(end_text(one), style=BAD if is_failure(one) else "")
        cells: dict[str, RenderableType] = {
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
