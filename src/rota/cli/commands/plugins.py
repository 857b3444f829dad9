"""`rota plugins`."""

from __future__ import annotations

from rota.cli.command_list import new_app
from rota.cli.options import Output
from rota.cli.output import Form

app = new_app()


@app.command()
def plugins(output: Output = Form.TABLE) -> None:
    """List installed scheduling plugins and their state."""
    from rota.cli.policies import plugins

    plugins.plugins(output)
