"""What is wrong with objects: all of it in one go, each with the field it was found in."""

from collections.abc import Iterator
from contextlib import contextmanager

from rota.intake._fields import Field, raise_all
from rota.intake.convert import MAX_ERRORS
from rota.intake.errors import InputError
from rota.kube_objects.errors import FieldError


class Faults:
    """Collects errors, so that one bad object doesn't hide the next."""

    def __init__(self) -> None:
        self._errors: list[InputError] = []

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

    def _add(self, errors: "list[InputError] | tuple[InputError, ...]") -> None:
        self._errors.extend(errors)
        if len(self._errors) >= MAX_ERRORS:
            self.raise_any()
