"""`rota eta` of jobs of a server: when they will start."""

from __future__ import annotations

from collections.abc import Sequence

from rota.api.jobs import EstimateDocument
from rota.cli.client.connection import connect
from rota.cli.client.job_names import job_named
from rota.cli.client.several import Several
from rota.cli.jobs.estimates import estimate_text
from rota.cli.output import OutputFormat, show, write_document
from rota.cli.showing import clock
from rota.cli.tables import new_table


def eta(jobs: Sequence[str], output: OutputFormat) -> None:
    several = Several()
    with connect() as server:
        estimates = several.done(jobs, lambda job: server.eta(job_named(server, job)))
    if estimates:
        show_estimates(estimates, "job", output)
    several.tell()


def show_estimates(estimates: Sequence[EstimateDocument], of: str, output: OutputFormat) -> None:
    """`of`: the heading of the first column."""
    if not output.is_table:
        write_document(estimates[0] if len(estimates) == 1 else estimates, output)
        return
    now = clock()
    table = new_table(of, "start")
    for one in estimates:
        table.add_row(one.job, estimate_text(one, now) or "no estimate")
    show([table])
