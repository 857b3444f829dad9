"""`rota logout`."""

from __future__ import annotations

from rota.cli.command_list import new_app

app = new_app()


@app.command()
def logout() -> None:
    """Sign out: the token, and all that were made with it, are no longer valid."""
    from rota.cli.people.sign_in import logout

    logout()
