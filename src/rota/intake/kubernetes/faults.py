"""What is wrong with objects: all of it in one go, each with the field it was found in."""

from collections.abc import Iterator
from contextlib import contextmanager

from rota.intake.checking.convert import MAX_ERRORS
from rota.intake.checking.fields import Field, raise_all
from rota.intake.errors import InputError
from rota.kube_objects.errors import FieldError

MOST_PASSED_OVER = 1000


class Faults:
    """Collects errors, so that one bad object doesn't hide the next."""

    def __init__(self, go_on: bool = False) -> None:
        """`go_on`: until there are so many that the rest isn't worth reading; the first are kept."""
        self._errors: list[InputError] = []
        self._count = 0
        self._most = MOST_PASSED_OVER if go_on else MAX_ERRORS

    @contextmanager
    def of(self, place: Field) -> Iterator[None]:
        """What goes wrong within is wrong with the object at this place, which is then left out."""
        try:
            yield
        except FieldError as error:
            self.add(place, error)
        except InputError as error:
            self._add(error.all)

    def add(self, place: Field, error: FieldError) -> None:
        self._add([place.at(*error.path).error(error.problem, error.remedy)])

    def raise_any(self) -> None:
        raise_all(self._errors)

    def all(self) -> tuple[InputError, ...]:
        return tuple(self._errors)

    def _add(self, errors: "list[InputError] | tuple[InputError, ...]") -> None:
        self._errors = [*self._errors, *errors][:MAX_ERRORS]
        self._count += len(errors)
        if self._count >= self._most:
            self.raise_any()
