"""`rota plan` for jobs that aren't submitted yet: their starts, and which other starts would change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from rota.api.questions import PlanAnswer, PlannedJob
from rota.cli.client.connection import connect
from rota.cli.job_options import JobOptions
from rota.cli.jobs.jobs_to_send import read_jobs
from rota.cli.output import OutputFormat
from rota.cli.showing import clock, show_one
from rota.cli.tables import BAD, GOOD, PASSING, QUIET, Shown, heading, new_table
from rota.cli.text import Text
from rota.intake.job_files import JobFile
from rota.model.verdict import Kind
from rota.views.folding import fold_counted, fold_names
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of
from rota.views.wording import others_moved_text

_NOW_MS = 1000
"""What would start within a second starts now."""


def plan_submission(
    file: str | None, command: Sequence[str], options: JobOptions, output: OutputFormat
) -> bool:
    """Shows the plan, and answers whether all jobs would start now."""
    jobs = read_jobs(file, command, options)
    with connect() as server:
        answer = server.plan(*jobs.jobs)
    now = clock()
    show_one(answer, output, lambda one: plan_tables(one, jobs, now))
    return all(_starts_now(job, now) for job in answer.jobs)


def plan_tables(answer: PlanAnswer, jobs: JobFile, now: Clock) -> Iterator[Shown]:
    yield heading("Plan for this job" if len(answer.jobs) == 1 else "Plan for these jobs")
    table = new_table("job", "starts", "nodes", "why")
    for alike in _rows(answer.jobs, jobs, now):
        name = fold_names(map(_label, alike))
        nodes = fold_counted(node for one in alike for node in one.nodes)
        reasons = "; ".join(one_line(reason) for reason in alike[0].reasons)
        table.add_row(one_line(name), _start(alike, now), nodes, reasons)
    yield table
    if answer.changes:
        yield ""
        yield heading("Planned starts that would change")
        table = new_table("job", "from", "to")
        for change in answer.changes:
            table.add_row(change.job, _moment(change.before, now), _moment(change.after, now))
        yield table
    if answer.others_changed:
        yield ""
        yield Text(others_moved_text(answer.others_changed), style=QUIET)


def _rows(planned: Iterable[PlannedJob], jobs: JobFile, now: Clock) -> Iterator[list[PlannedJob]]:
    """One job a row; elements of an array that fare alike are one."""
    alike: dict[tuple[object, ...], list[PlannedJob]] = {}
    for one in planned:
        if not one.name and one.index < len(jobs.submission.entries):  # A server of 0.6.
            one = replace(one, name=jobs.submission.entries[one.index].spec.name)
        kind = (_starts_now(one, now), one.starts is None, one.promised, *one.reasons)
        which = (one.name, *kind) if one.array_index is not None else (one.index,)
        alike.setdefault(which, []).append(one)
    yield from alike.values()


def _label(job: PlannedJob) -> str:
    return job.name if job.array_index is None else f"{job.name}.{job.array_index}"


def _start(jobs: Sequence[PlannedJob], now: Clock) -> Text:
    if _starts_now(jobs[0], now):
        return Text("now", style=GOOD)
    starts_ms = sorted(ms_of(job.starts) for job in jobs if job.starts is not None)
    if not starts_ms:
        is_never = jobs[0].verdict == Kind.NEVER.value
        return Text("never", style=BAD) if is_never else Text("no planned start", style=PASSING)
    first, last = now.text(starts_ms[0]), now.text(starts_ms[-1])
    text = f"{first}, {now.distance_text(starts_ms[0])}" if first == last else f"{first} to {last}"
    return Text(f"{text}{', promised' if jobs[0].promised else ''}", style=PASSING)


def _starts_now(job: PlannedJob, now: Clock) -> bool:
    return job.starts is not None and ms_of(job.starts) <= now.now_ms + _NOW_MS


def _moment(at: datetime | None, now: Clock) -> str:
    return "none" if at is None else now.text(ms_of(at))
