"""`rota submit`: jobs sent, and the ids they got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from rota.api.documents import JobDocument, Submitted
from rota.cli.job_options import Wishes
from rota.cli.live.connection import connect
from rota.cli.live.job_tables import Row, jobs_table, rows_of
from rota.cli.live.jobs_to_send import read_jobs, send
from rota.cli.live.parts import CutShort
from rota.cli.live.showing import clock
from rota.cli.output import Form, ListForm, show, talk, write, write_document
from rota.views.quoting import one_line
from rota.views.wording import count_text

_FEW = 20


def submit(
    file: str | None, command: Sequence[str], wishes: Wishes, form: ListForm, *, dry_run: bool
) -> None:
    jobs = read_jobs(file, command, wishes)
    with connect() as server:
        try:
            _tell(send(server, jobs, dry_run=dry_run), form)
        except CutShort as cut:
            _tell(cut.kept, form)
            talk(cut.note)
            raise cut.cause from None


def _tell(answer: Submitted, form: ListForm) -> None:
    rows = rows_of(answer.jobs)
    match form:
        case ListForm.NAME:
            write("".join(f"{id_of(row)}\n" for row in rows))
        case ListForm.JSON | ListForm.YAML:
            write_document(answer, Form(form.value))
        case ListForm.WIDE:
            show([jobs_table(rows, clock(), wide=True)])
        case ListForm.TABLE:
            show(_lines(rows, dry_run=answer.dry_run))
    if answer.dry_run:
        talk("nothing was submitted: this was a dry run")


def _lines(rows: Sequence[Row], *, dry_run: bool) -> Iterator[Text]:
    verb = "would submit" if dry_run else "submitted"
    for row in rows[:_FEW]:
        many = f", an array of {count_text(len(row.jobs), 'job')}" if row.first.array else ""
        yield Text(f"{verb} {id_of(row)} ({one_line(row.first.name)}){many}")
    if len(rows) > _FEW:
        yield Text(f"… and {len(rows) - _FEW:,} more; -o name lists all")


def id_of(row: Row) -> str:
    """Of an array, the number that stands for all of it."""
    job: JobDocument = row.first
    return job.array or job.id
