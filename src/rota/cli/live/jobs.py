"""`rota ls`, `show`, `eta`, `cancel`, `hold`, `release`: jobs asked about, and told what to do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Protocol

import typer
from rich.console import RenderableType

from rota.api.documents import ChangeDocument
from rota.api.jobs import EstimateDocument
from rota.cli.job_filter import Chosen
from rota.cli.live.connection import Server, connect
from rota.cli.live.estimates import estimate_text
from rota.cli.live.given import moment_of
from rota.cli.live.job_tables import Row, detail_tables, jobs_table, rows_of
from rota.cli.live.names import job_named
from rota.cli.live.showing import clock, show_list, show_one
from rota.cli.output import Form, ListForm, show, talk, write_document
from rota.cli.tables import new_table
from rota.lifecycle.state import TERMINAL, Phase
from rota.views.folding import fold_names
from rota.views.times import Clock
from rota.views.wording import count_text

_LONGEST_PAGE = 1000


def ls(chosen: Chosen, form: ListForm) -> None:
    now = clock()
    with connect() as server:
        found = server.jobs(
            project=chosen.project,
            user=chosen.user,
            queue=chosen.queue,
            name=chosen.name,
            label=chosen.label,
            array=chosen.array,
            phases=_phases(chosen),
            limit=min(chosen.limit + 1, _LONGEST_PAGE),
            submitted_after=moment_of("--since", chosen.since, now.now_ms),
            submitted_before=moment_of("--until", chosen.until, now.now_ms),
        )
        jobs = list(islice(found, chosen.limit + 1))
    has_more, jobs = len(jobs) > chosen.limit, jobs[: chosen.limit]
    show_list(
        jobs,
        form,
        lambda job: job.id,
        lambda some: (
            [jobs_table(rows_of(some, fold=not chosen.flat), now, wide=form.is_wide)] if some else ()
        ),
    )
    if not jobs and form in (ListForm.TABLE, ListForm.WIDE):
        talk("no such jobs" if chosen.all else "nothing waits or runs; --all lists what is over, too")
    if has_more:
        talk(f"these are the newest {chosen.limit:,}; --limit says how many")


def _tables(rows: Sequence[Row], now: Clock, *, wide: bool) -> list[RenderableType]:
    return [jobs_table(rows, now, wide=wide)] if rows else []


def _phases(chosen: Chosen) -> list[Phase]:
    if not chosen.states:
        return [] if chosen.all else [phase for phase in Phase if phase not in TERMINAL]
    known = {phase.value: phase for phase in Phase}
    wanted = [name for given in chosen.states for name in given.split(",")]
    for name in wanted:
        if name not in known:
            raise typer.BadParameter(f'unknown state "{name}"; give {", ".join(known)}', param_hint="--state")
    return [known[name] for name in wanted]


def show_job(job: str, form: Form) -> None:
    with connect() as server:
        detail = server.job(job_named(server, job))
    show_one(detail, form, lambda one: detail_tables(one, clock(), wide=form is Form.WIDE))


def eta(jobs: Sequence[str], form: Form) -> None:
    with connect() as server:
        estimates = [server.eta(job_named(server, job)) for job in jobs]
    show_estimates(estimates, "job", form)


def show_estimates(estimates: Sequence[EstimateDocument], of: str, form: Form) -> None:
    """`of`: what they are of, as the table calls it."""
    if not form.is_table:
        write_document(estimates[0] if len(estimates) == 1 else estimates, form)
        return
    now = clock()
    table = new_table(of, "start")
    for one in estimates:
        table.add_row(one.job, estimate_text(one, now) or "nobody knows when")
    show([table])


class Change(Protocol):
    def __call__(self, server: Server, job: str) -> ChangeDocument: ...


def change_jobs(jobs: Sequence[str], done: str, change: Change, form: ListForm) -> None:
    """One after the other. What was done is told before the first refusal ends the command."""
    documents = []
    try:
        with connect() as server:
            for job in jobs:
                documents.append(change(server, job_named(server, job)))
    finally:
        if documents:
            _tell_changes(documents, done, form)


def _tell_changes(documents: Sequence[ChangeDocument], done: str, form: ListForm) -> None:
    if form in (ListForm.TABLE, ListForm.WIDE):
        for one in documents:
            talk(change_text(one, done))
        return
    show_list(documents, form, lambda one: "\n".join(one.changed), lambda some: ())


def change_text(document: ChangeDocument, done: str) -> str:
    """`cancelled 17`; `would have cancelled 40 jobs: 17.[0-39]`; and what the server adds."""
    verb = f"would have {done}" if document.dry_run else done
    names = document.changed
    many = f"{count_text(len(names), 'job')}: " if len(names) > 1 else ""
    what = f"{verb} {many}{fold_names(names, most=10)}" if names else f"nothing to be {done}"
    return f"{what}; {document.message}" if document.message else what
