"""Commands around workflows: their arguments and options."""

from __future__ import annotations

from typing import Annotated

import typer

from rota.cli.command_list import new_app
from rota.cli.exits import EX_BAD_INPUT, EX_OK
from rota.workflows.status import Status

app = new_app()

expr = new_app(help="Evaluate expressions of workflows, and texts with expressions in them.")
app.add_typer(expr, name="expr")

Contexts = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help='JSON file with the contexts: {"github": {…}, "env": {…}}; - for standard input.'
    ),
]
StatusOption = Annotated[Status, typer.Option("--status", help="Status that success() and failure() see.")]
Workspace = Annotated[
    str | None, typer.Option(metavar="DIR", help="Folder that hashFiles() looks in. [default: this folder]")
]
Batch = Annotated[
    bool, typer.Option("--batch", help="Read one JSON document a line from standard input; one answer each.")
]


@expr.command("eval")
def evaluate(
    expression: Annotated[
        str | None, typer.Argument(metavar="EXPR", help="Expression, without the brackets around it.")
    ] = None,
    contexts: Contexts = None,
    status: StatusOption = Status.SUCCESS,
    workspace: Workspace = None,
    batch: Batch = False,
) -> None:
    """Evaluate an expression and print its kind and value as JSON.

    With --batch each line is {"expr": …, "contexts": …, "status": …, "workspace": …}.
    """
    from rota.cli.workflows import expressions as work

    is_right = work.evaluate("expr", expression, contexts, status, workspace, batch=batch)
    raise typer.Exit(EX_OK if is_right else EX_BAD_INPUT)


@expr.command()
def render(
    template: Annotated[
        str | None, typer.Argument(metavar="TEMPLATE", help="Text with ${{ … }} in it.")
    ] = None,
    contexts: Contexts = None,
    status: StatusOption = Status.SUCCESS,
    workspace: Workspace = None,
    batch: Batch = False,
) -> None:
    """Replace the expressions in a text by their values and print the text as JSON.

    With --batch each line is {"template": …, "contexts": …, "status": …, "workspace": …}.
    """
    from rota.cli.workflows import expressions as work

    is_right = work.evaluate("template", template, contexts, status, workspace, batch=batch)
    raise typer.Exit(EX_OK if is_right else EX_BAD_INPUT)
