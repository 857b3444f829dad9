"""`rota extend` of a job that a server has: done, if nothing is in the way."""

from __future__ import annotations

import typer
from msgspec import ValidationError, convert, json

from rota.cli.client.connection import connect
from rota.cli.client.job_names import job_named
from rota.cli.output import Form, show, talk, write_document
from rota.cli.questions.extension_tables import extension_tables
from rota.cli.showing import clock
from rota.model.extension import Extension
from rota.model.quantities import QuantityError, parse_duration_ms
from rota.sdk.errors import Conflict
from rota.views.extend.document import extension_document


def extend_on_server(job: str, limit: str, form: Form, *, dry_run: bool) -> bool:
    """Shows the answer, and says whether it is yes."""
    try:
        parse_duration_ms(limit.removeprefix("+"))
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint="LIMIT") from None
    with connect() as server:
        try:
            extension = json.decode(
                server.extend(job_named(server, job), limit, dry_run=dry_run).view, type=Extension
            )
        except Conflict as refusal:
            extension = _refused(refusal)
    if form.is_table:
        show(extension_tables(extension, clock()))
    else:
        write_document(extension_document(extension), form)
    if dry_run and extension.is_granted:
        talk("nothing was changed: this was a dry run")
    return extension.is_granted


def _refused(refusal: Conflict) -> Extension:
    """The engine's answer, if it was the engine that refused."""
    try:
        return convert(refusal.data.get("view"), Extension)
    except ValidationError:
        raise refusal from None
