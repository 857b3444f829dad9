"""What a dispatcher asks when a task that names secrets is to start."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from rota.model.ids import Labels


class NoSecret(Exception):
    """It can't be had; the text names it and says why, and what to do."""


Reveal: TypeAlias = Callable[[str, Labels], Labels]
"""Of a project: variables with names of secrets to variables with their values. May read files, so it is
called in a thread. Raises NoSecret."""


def no_secrets(project: str, wanted: Labels) -> Labels:
    raise NoSecret("this scheduler stores no secrets")
