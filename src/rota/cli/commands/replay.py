"""`rota replay`: recorded cycles, decided again."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.exits import EX_BAD_INPUT, EX_DIFFERENT, EX_OK
from rota.cli.options import Output
from rota.cli.output import Form

app = new_app()


@app.command()
def replay(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="Where cycles were recorded (--record).")],
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="FILE",
            help="Decide by this policy, and show what would differ. [default: each cycle's own]",
        ),
    ] = None,
    cycle: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Only this cycle, in detail.")
    ] = None,
    output: Output = Form.TABLE,
) -> None:
    """Decide recorded cycles again, and show every plan that differs.

    Exits with 0 if all plans are equal, 2 if one differs, 1 on bad input or a damaged record.
    """
    from rota.cli.policies.replay import command

    outcome = command.replay(folder, policy, cycle, output)
    codes = {command.Outcome.EQUAL: EX_OK, command.Outcome.DIFFERENT: EX_DIFFERENT}
    raise typer.Exit(codes.get(outcome, EX_BAD_INPUT))
