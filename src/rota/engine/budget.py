"""How long an answer may take. Told from outside: the engine knows no clock."""

from __future__ import annotations

from typing import Protocol


class Budget(Protocol):
    """Of whoever can do without some of an answer."""

    @property
    def is_spent(self) -> bool: ...


class Endless:
    is_spent = False


ENDLESS: Budget = Endless()
