"""`rota submit`: sends jobs, and shows their ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from rota.api.jobs import ElementsDocument, JobDocument, Submitted, SubmittedEntry
from rota.cli.client.connection import connect
from rota.cli.job_options import JobOptions
from rota.cli.jobs.job_tables import jobs_table
from rota.cli.jobs.jobs_to_send import read_jobs, send
from rota.cli.jobs.parts import CutShort
from rota.cli.output import ListFormat, OutputFormat, show, talk, write, write_document
from rota.cli.showing import clock
from rota.cli.text import Text
from rota.views.amounts import count_text
from rota.views.quoting import one_line

_FEW = 20


def submit(
    file: str | None, command: Sequence[str], options: JobOptions, output: ListFormat, *, dry_run: bool
) -> None:
    jobs = read_jobs(file, command, options)
    with connect() as server:
        try:
            _tell(send(server, jobs, dry_run=dry_run), output)
        except CutShort as cut:
            _tell(cut.kept, output)
            talk(cut.note)
            raise cut.cause from None


def _tell(answer: Submitted, output: ListFormat) -> None:
    match output:
        case ListFormat.NAME:
            write("".join(f"{entry.id}\n" for entry in answer.entries))
        case ListFormat.JSON | ListFormat.YAML:
            write_document(answer, OutputFormat(output.value))
        case ListFormat.WIDE:
            show([jobs_table(_folded(answer), clock(), wide=True)])
        case ListFormat.TABLE:
            show(_lines(answer.entries, dry_run=answer.dry_run))
    if answer.dry_run:
        talk("dry run: nothing was submitted")


def _folded(answer: Submitted) -> list[JobDocument]:
    """Each array as one. Of more jobs than a server shows, the first."""
    shown = {job.id: job for job in answer.jobs}
    found = []
    for entry in answer.entries:
        job = shown.get(entry.first)
        if job is not None and entry.is_array:
            elements = ElementsDocument(size=entry.count, phases={job.phase: entry.count})
            job = replace(job, id=entry.id, elements=elements)
        if job is not None:
            found.append(job)
    return found


def _lines(entries: Sequence[SubmittedEntry], *, dry_run: bool) -> Iterator[Text]:
    verb = "would submit" if dry_run else "submitted"
    for entry in entries[:_FEW]:
        many = f", an array of {count_text(entry.count, 'job')}" if entry.is_array else ""
        yield Text(f"{verb} {entry.id} ({one_line(entry.name)}){many}")
    if len(entries) > _FEW:
        yield Text(f"… and {len(entries) - _FEW:,} more; -o name lists all")
