"""`rota extend` for a job of a server: raises the limit, if nothing prevents it."""

from __future__ import annotations

import typer
from msgspec import ValidationError, convert

from rota.api.questions import ExtensionDocument
from rota.cli.client.connection import connect
from rota.cli.client.job_names import job_named
from rota.cli.output import OutputFormat, talk
from rota.cli.questions.extension_tables import extension_tables
from rota.cli.showing import clock, show_one
from rota.model.quantities import QuantityError, parse_duration_ms
from rota.sdk.errors import Conflict


def extend_on_server(job: str, limit: str, output: OutputFormat, *, dry_run: bool) -> bool:
    """Shows the answer, and whether the limit was granted."""
    try:
        parse_duration_ms(limit.removeprefix("+"))
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint="LIMIT") from None
    with connect() as server:
        try:
            extension = server.extend(job_named(server, job), limit, dry_run=dry_run).extension
        except Conflict as refusal:
            extension = _refused(refusal)
    show_one(extension, output, lambda one: extension_tables(one, clock()))
    if dry_run and extension.granted:
        talk("dry run: nothing was changed")
    return extension.granted


def _refused(refusal: Conflict) -> ExtensionDocument:
    """The engine's answer, if it was the engine that refused."""
    try:
        return convert(refusal.data.get("extension"), ExtensionDocument)
    except ValidationError:
        raise refusal from None
