"""`rota eff`."""

from __future__ import annotations

from rota.cli.command_list import new_app
from rota.cli.options import JobArguments, Output
from rota.cli.output import Form

app = new_app()


@app.command()
def eff(jobs: JobArguments, output: Output = Form.TABLE) -> None:
    """Compare what jobs used with what they asked for."""
    from rota.cli.jobs.efficiency import eff

    eff(jobs, output)
