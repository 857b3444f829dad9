"""`rota why` of a job that a server has."""

from __future__ import annotations

from msgspec import json

from rota.cli.client.connection import connect
from rota.cli.client.job_names import job_named
from rota.cli.output import Form, show, write_document
from rota.cli.showing import clock
from rota.model.vocabulary import read_coded
from rota.views.why.view import WhyView


def why_of_server(job: str, form: Form) -> None:
    with connect() as server:
        answer = server.why(job_named(server, job))
    if form.is_table:
        from rota.cli.questions.why_tables import why_tables

        view = json.decode(answer.view, type=WhyView, dec_hook=read_coded)
        show(why_tables(view, clock(), wide=form is Form.WIDE))
    else:
        write_document(answer.why, form)
