"""`rota plan` for jobs that aren't submitted yet: their starts, and which other starts would change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from rota.api.questions import PlanAnswer, PlannedJob
from rota.cli.client.connection import connect
from rota.cli.job_options import JobOptions
from rota.cli.jobs.jobs_to_send import read_jobs
from rota.cli.output import OutputFormat
from rota.cli.showing import clock, show_one
from rota.cli.tables import GOOD, PASSING, QUIET, Shown, heading, new_table
from rota.cli.text import Text
from rota.intake.job_files import JobFile
from rota.views.folding import fold_counted
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
    for one in answer.jobs:
        name = jobs.submission.entries[one.index].spec.name if one.index < len(jobs.jobs) else str(one.index)
        reasons = "; ".join(one_line(reason) for reason in one.reasons)
        table.add_row(one_line(name), _start(one, now), fold_counted(one.nodes), reasons)
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


def _start(job: PlannedJob, now: Clock) -> Text:
    if _starts_now(job, now):
        return Text("now", style=GOOD)
    if job.starts is None:
        return Text("no planned start", style=PASSING)
    at_ms = ms_of(job.starts)
    promised = ", promised" if job.promised else ""
    return Text(f"{now.text(at_ms)}, {now.distance_text(at_ms)}{promised}", style=PASSING)


def _starts_now(job: PlannedJob, now: Clock) -> bool:
    return job.starts is not None and ms_of(job.starts) <= now.now_ms + _NOW_MS


def _moment(at: datetime | None, now: Clock) -> str:
    return "none" if at is None else now.text(ms_of(at))
