"""`rota why` of a job that a server has."""

from __future__ import annotations

from rota.cli.live.connection import connect
from rota.cli.live.names import job_named
from rota.cli.live.showing import clock, show_one
from rota.cli.output import Form
from rota.cli.why.tables import why_tables


def why_of_server(job: str, form: Form) -> None:
    with connect() as server:
        answer = server.why(job_named(server, job))
    show_one(answer.why, form, lambda why: why_tables(why, clock(), wide=form is Form.WIDE))
