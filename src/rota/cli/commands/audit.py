"""`rota audit`."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.options import Output
from rota.cli.output import Form

app = new_app()


@app.command()
def audit(
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Only what this user did.")] = None,
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="Only with the token of this id.")
    ] = None,
    address: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Only from this address.")] = None,
    verdict: Annotated[
        str | None, typer.Option(metavar="VERDICT", help="Only these: done, refused or failed.")
    ] = None,
    subject: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only about this job, node, token …")
    ] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Only of this project.")] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Since then: 2026-05-01T12:00:00Z, or 2h for two hours ago."),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Before then.")] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=1_000_000, metavar="NUMBER", help="At most so many, the newest.")
    ] = 100,
    check: Annotated[
        bool,
        typer.Option("--check", help="Check that no record was changed or removed since it was written."),
    ] = False,
    output: Output = Form.TABLE,
) -> None:
    """Show who did what and who was refused what, the newest last. -o json: a line each.

    For operators and admins. Project-admins see what is about their projects.
    """
    from rota.cli.people import audit as live

    if check:
        live.check(output)
    else:
        live.audit(user, token, address, verdict, subject, project, since, until, limit, output)
