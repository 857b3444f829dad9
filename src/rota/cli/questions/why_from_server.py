"""`rota why` of a job that a server has."""

from __future__ import annotations

from rota.cli.client.connection import connect
from rota.cli.client.job_names import job_named
from rota.cli.output import OutputFormat
from rota.cli.questions.why_tables import why_tables
from rota.cli.showing import clock, show_one


def why_of_server(job: str, output: OutputFormat) -> None:
    with connect() as server:
        answer = server.why(job_named(server, job))
    show_one(answer.why, output, lambda why: why_tables(why, clock(), wide=output is OutputFormat.WIDE))
