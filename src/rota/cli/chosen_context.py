"""The server that `rota --context NAME …` names."""

from __future__ import annotations

import sys


def chosen_context() -> str | None:
    """None: none was named."""
    if "typer" not in sys.modules:
        # Nobody has read any options.
        return None
    from typer._click.globals import get_current_context

    ctx = get_current_context(silent=True)
    name: str | None = ctx.find_root().params.get("context") if ctx else None
    return name
