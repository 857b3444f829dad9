"""`rota version`."""

from __future__ import annotations

import platform

from rota import __version__
from rota.cli.command_list import new_app
from rota.cli.options import Output
from rota.cli.output import Form, write, write_document

app = new_app()


@app.command()
def version(output: Output = Form.TABLE) -> None:
    """Show the version."""
    if output.is_table:
        write(f"rota {__version__}\n")
    else:
        write_document({"rota": __version__, "python": platform.python_version()}, output)
