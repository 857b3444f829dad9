"""`rota ls`, `show`, `cancel`, `hold` and `release`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Protocol

import typer

from rota.api.documents import ChangeDocument
from rota.cli.client.connection import Server, connect
from rota.cli.client.job_names import array_of, job_named
from rota.cli.client.several import Several
from rota.cli.jobs.job_tables import array_tables, detail_tables, jobs_table
from rota.cli.jobs.options import JobFilter
from rota.cli.option_values import moment_of
from rota.cli.output import ListFormat, OutputFormat, talk
from rota.cli.showing import clock, show_list, show_one
from rota.lifecycle.state import TERMINAL, Phase
from rota.sdk.errors import NotFound
from rota.views.amounts import count_text
from rota.views.folding import fold_names
from rota.views.jobs import WORDS, phase_text

_LONGEST_PAGE = 1000
_LINES, _ITEMS = 100, 1000
"""That are shown if nobody says how many: to a person, and to a program."""


def ls(chosen: JobFilter, output: ListFormat) -> None:
    now, limit = clock(), _limit(chosen, output)
    with connect() as server:
        found = server.jobs(
            project=chosen.project,
            user=chosen.user,
            queue=chosen.queue,
            name=chosen.name,
            label=chosen.label,
            array=chosen.array,
            phases=_phases(chosen),
            fold=not chosen.is_flat,
            limit=min(limit + 1, _LONGEST_PAGE),
            submitted_after=moment_of("--since", chosen.since, now.now_ms),
            submitted_before=moment_of("--until", chosen.until, now.now_ms),
        )
        if _states(chosen) == ["held"]:
            found = (job for job in found if "held" in phase_text(job))
        jobs = list(islice(found, limit + 1))
    has_more, jobs = len(jobs) > limit, jobs[:limit]
    show_list(
        jobs,
        output,
        lambda job: job.id,
        lambda some: [jobs_table(some, now, wide=output.is_wide)] if some else (),
    )
    if not jobs and output in (ListFormat.TABLE, ListFormat.WIDE):
        talk(
            "no job matches"
            if chosen.with_finished or chosen.state
            else "no job waits or runs; --all lists finished jobs too"
        )
    if has_more:
        talk(f"showing the newest {limit:,} jobs; raise --limit to see more")


def _limit(chosen: JobFilter, output: ListFormat) -> int:
    if chosen.limit is not None:
        return chosen.limit
    return _LINES if output in (ListFormat.TABLE, ListFormat.WIDE) and not chosen.array else _ITEMS


def _states(chosen: JobFilter) -> list[str]:
    return [name.strip().lower() for given in chosen.state or () for name in given.split(",")]


def _phases(chosen: JobFilter) -> list[Phase]:
    """Words as tables have them, and phases as data has them."""
    wanted = _states(chosen)
    if not wanted:
        return [] if chosen.with_finished else [phase for phase in Phase if phase not in TERMINAL]
    known = {phase.value: (phase,) for phase in Phase} | WORDS
    for name in wanted:
        if name not in known:
            raise typer.BadParameter(
                f'unknown state "{name}"; states are {", ".join(WORDS)}', param_hint="--state"
            )
    return list(dict.fromkeys(phase for name in wanted for phase in known[name]))


def show_job(job: str, output: OutputFormat) -> None:
    now, wide = clock(), output is OutputFormat.WIDE
    with connect() as server:
        name = job_named(server, job)
        try:
            detail = server.job(name)
        except NotFound as error:
            if array_of(error) is None:
                raise
            array = server.array(name)
            show_one(array, output, lambda one: array_tables(one, now, wide=wide))
            return
    show_one(detail, output, lambda one: detail_tables(one, now, wide=wide))


class Change(Protocol):
    def __call__(self, server: Server, job: str) -> ChangeDocument: ...


def change_jobs(jobs: Sequence[str], done: str, change: Change, output: ListFormat) -> None:
    """Each of them, whatever became of those before it."""
    several = Several()
    with connect() as server:
        documents = several.done(jobs, lambda job: change(server, job_named(server, job)))
    if documents:
        _tell_changes(documents, done, output)
    several.tell()


def _tell_changes(documents: Sequence[ChangeDocument], done: str, output: ListFormat) -> None:
    if output in (ListFormat.TABLE, ListFormat.WIDE):
        for one in documents:
            talk(change_text(one, done))
        return
    show_list(documents, output, lambda one: "\n".join(one.changed), lambda some: ())


def change_text(document: ChangeDocument, done: str) -> str:
    """`cancelled 17`; `dry run: 40 jobs would be cancelled: 17.[0-39]`; and the server's remark."""
    names = document.changed
    which = fold_names(names, most=10)
    many = count_text(len(names), "job")
    if document.dry_run:
        subject = f"{which} would" if len(names) == 1 else f"{many} would" if names else "no job would"
        what = f"dry run: {subject} be {done}" + (f": {which}" if len(names) > 1 else "")
    elif names:
        what = f"{done} {which}" if len(names) == 1 else f"{done} {many}: {which}"
    else:
        what = f"no job was {done}"
    return f"{what}; {document.message}" if document.message else what
