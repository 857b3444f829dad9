"""`rota extend` of a job that a server has: done, if nothing is in the way."""

from __future__ import annotations

import typer
from msgspec import ValidationError, convert

from rota.api.questions import ExtensionDocument
from rota.cli.client.connection import connect
from rota.cli.client.job_names import job_named
from rota.cli.output import Form, talk
from rota.cli.questions.extension_tables import extension_tables
from rota.cli.showing import clock, show_one
from rota.model.quantities import QuantityError, parse_duration_ms
from rota.sdk.errors import Conflict


def extend_on_server(job: str, limit: str, form: Form, *, dry_run: bool) -> bool:
    """Shows the answer, and says whether it is yes."""
    try:
        parse_duration_ms(limit.removeprefix("+"))
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint="LIMIT") from None
    with connect() as server:
        try:
            extension = server.extend(job_named(server, job), limit, dry_run=dry_run).extension
        except Conflict as refusal:
            extension = _refused(refusal)
    show_one(extension, form, lambda one: extension_tables(one, clock()))
    if dry_run and extension.granted:
        talk("nothing was changed: this was a dry run")
    return extension.granted


def _refused(refusal: Conflict) -> ExtensionDocument:
    """The engine's answer, if it was the engine that refused."""
    try:
        return convert(refusal.data.get("extension"), ExtensionDocument)
    except ValidationError:
        raise refusal from None
