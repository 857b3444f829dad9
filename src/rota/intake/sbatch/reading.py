"""Options while they are read: which were asked for, what was noted, and which field came from which."""

from collections.abc import Mapping

from rota.intake.checking.wording import quoted
from rota.intake.errors import InputError
from rota.intake.sbatch.options import Note, Option, refusal

_LARGEST = 1_000_000


class Reading:
    def __init__(self, options: Mapping[str, Option], notes: list[Note], file: str) -> None:
        self._options = options
        self._asked: set[str] = set()
        self._fields: dict[str, Option] = {}
        self._file = file
        self.notes = notes

    def has(self, name: str) -> bool:
        self._asked.add(name)
        return name in self._options

    def value(self, name: str) -> str | None:
        return self._options[name].value if self.has(name) else None

    def is_absolute(self, name: str) -> bool:
        """A path that is the same wherever one stands."""
        return (self.value(name) or "").startswith("/")

    def number(self, name: str) -> int | None:
        value = self.value(name)
        if value is None:
            return None
        if not (value.isascii() and value.isdecimal()) or not 1 <= int(value[:9]) <= _LARGEST:
            raise self.error(name, "is not a number of them", f"give one from 1 to {_LARGEST}")
        return int(value)

    def note(self, name: str, text: str) -> None:
        self.notes.append(Note(self._options[name].line, f"--{name}: {text}"))

    def error(self, name: str, problem: str, remedy: str) -> InputError:
        option = self._options[name]
        shown = f"{quoted(option.value)} {problem}" if problem.startswith("is ") else problem
        return refusal(self._file, option.line, f"--{name}: {shown}", remedy)

    def stands_for(self, field: str, *names: str) -> None:
        """What is wrong with the field of the job is said of the first of these that is there."""
        for name in names:
            if name in self._options:
                self._fields.setdefault(field, self._options[name])

    def in_terms_of_options(self, error: InputError) -> InputError:
        """An error about the job that the options were made into."""
        field = next((step for step in error.path[2:] if isinstance(step, str)), "")
        option = self._fields.get(field)
        if option is None:
            return InputError(self._file, error.problem, error.remedy)
        return refusal(self._file, option.line, f"--{option.name}: {error.problem}", error.remedy)

    def not_asked(self) -> list[Option]:
        return [option for name, option in self._options.items() if name not in self._asked]
