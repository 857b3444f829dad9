"""What was left out of a cluster and why, where that is no error."""

from typing import NamedTuple

from rota.intake.checking.fields import Field

_SHOWN = 3


class Note(NamedTuple):
    file: str
    reason: str
    subjects: tuple[str, ...]

    def __str__(self) -> str:
        names = ", ".join(self.subjects[:_SHOWN])
        more = f" and {len(self.subjects) - _SHOWN} more" if len(self.subjects) > _SHOWN else ""
        return f"{self.file}: {self.reason}: {names}{more}"


class Notes:
    def __init__(self) -> None:
        self._subjects: dict[tuple[str, str], list[str]] = {}

    def add(self, place: Field, reason: str, subject: str) -> None:
        self._subjects.setdefault((place.document.path, reason), []).append(subject)

    def all(self) -> tuple[Note, ...]:
        return tuple(Note(*key, tuple(subjects)) for key, subjects in self._subjects.items())
