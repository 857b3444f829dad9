"""Typer, imported by the first who needs it: for errors and declarations, which a command that goes well and
has no options doesn't need. It is a third of what such a command imports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer as typer
else:

    class _Later:
        def __getattr__(self, name: str) -> Any:
            import typer as real

            return getattr(real, name)

    typer = _Later()
