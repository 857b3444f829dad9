"""`rota eta`."""

from __future__ import annotations

from rota.cli.command_list import new_app
from rota.cli.options import JobArguments, Output
from rota.cli.output import Form

app = new_app()


@app.command()
def eta(jobs: JobArguments, output: Output = Form.TABLE) -> None:
    """Say when waiting jobs will start: expected, and by when in nine of ten cases."""
    from rota.cli.live.jobs import eta

    eta(jobs, output)
