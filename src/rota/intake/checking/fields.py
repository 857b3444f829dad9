"""A field of a document as a thing to hold: what reads it can say what is wrong with it, and where."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

from rota.intake.checking.convert import MAX_ERRORS
from rota.intake.documents.document import Document
from rota.intake.errors import FieldPath, InputError
from rota.model.quantities import QuantityError

V = TypeVar("V")
R = TypeVar("R")

Amount = int | float | str
"""A quantity as it stands in a file, to be read by one of `model.quantities`."""


class Field(NamedTuple):
    document: Document
    path: FieldPath = ()

    def at(self, *steps: str | int) -> "Field":
        return Field(self.document, (*self.path, *steps))

    @property
    def data(self) -> object:
        return self.document.at(self.path)

    @property
    def line(self) -> int:
        return self.document.locate(self.path).line

    def error(self, problem: str, remedy: str = "") -> InputError:
        return self.document.error(self.path, problem, remedy)

    def read(self, parse: Callable[[object], R], value: object) -> R:
        """The value by one of the parsers of `model.quantities`."""
        try:
            return parse(value)
        except QuantityError as error:
            raise self.error(error.problem, error.remedy) from None


def read_each(values: Iterable[V], read: Callable[[V, Field], R], at: Field) -> list[R]:
    """Each item of a list; all are tried, so that one run names all that are wrong."""
    read_values: list[R] = []
    errors: list[InputError] = []
    for index, value in enumerate(values):
        try:
            read_values.append(read(value, at.at(index)))
        except InputError as error:
            errors.extend(error.all)
            if len(errors) >= MAX_ERRORS:
                break
    raise_all(errors)
    return read_values


def raise_all(errors: list[InputError]) -> None:
    """As one error, if there are any."""
    if errors:
        first, *others = errors
        first.also = tuple(others[: MAX_ERRORS - 1])
        raise first
