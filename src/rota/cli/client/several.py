"""Commands that take several jobs: each is tried, whatever became of those before it. What couldn't be done
is told in the end, and the exit status says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import typer

from rota.cli.client.refusals import code_of, text_of
from rota.cli.exits import EX_BAD_INPUT
from rota.cli.output import talk
from rota.sdk.errors import NoServer, RotaError, Unauthorised, Unreachable, Untrusted

T = TypeVar("T")
_OF_ALL = (Unreachable, Untrusted, Unauthorised, NoServer)
"""What would meet all the others as well."""


class Several:
    def __init__(self) -> None:
        self._failures: list[tuple[str, RotaError]] = []

    def done(self, names: Iterable[str], do: Callable[[str], T]) -> list[T]:
        """What came of those that it could be done for."""
        found: list[T] = []
        for name in names:
            try:
                found.append(do(name))
            except _OF_ALL:
                raise
            except RotaError as error:
                self._failures.append((name, error))
        return found

    def tell(self) -> None:
        """What couldn't be done. Ends the command, if there is such."""
        for _, error in self._failures:
            talk(text_of(error))
        if self._failures:
            codes = {code_of(error) or EX_BAD_INPUT for _, error in self._failures}
            raise typer.Exit(codes.pop() if len(codes) == 1 else EX_BAD_INPUT)
