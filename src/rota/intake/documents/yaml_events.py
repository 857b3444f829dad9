"""YAML text as a stream of parser events, with errors that a person can act on."""

from collections.abc import Iterator

import yaml
from yaml.events import Event
from yaml.reader import ReaderError

from rota.intake.errors import InputError, Position

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def yaml_events(file: str, text: str) -> Iterator[Event]:
    try:
        yield from yaml.parse(text, Loader=_Loader)
    except ReaderError as error:
        raise _unprintable(file, text, chr(error.character)) from None
    except yaml.MarkedYAMLError as error:
        raise _malformed(file, text, error) from None
    except (ValueError, OverflowError) as error:
        # Escapes and tags that denote no character.
        raise InputError(file, f"not valid YAML: {error}") from None


def _unprintable(file: str, text: str, character: str) -> InputError:
    before, _, _ = text.partition(character)
    position = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
    problem = f"the control character U+{ord(character):04X} is not allowed"
    return InputError(file, problem, "remove it", position=position)


def _malformed(file: str, text: str, error: yaml.MarkedYAMLError) -> InputError:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return InputError(file, f"not valid YAML: {error.problem}")
    # The end of the text counts as a line of its own, which nobody could go to.
    last_line = text.rstrip("\n").count("\n")
    position = Position(min(mark.line, last_line) + 1, mark.column + 1)
    if error.problem and "cannot start any token" in error.problem:
        character = text[mark.index]
        if character == "\t":
            return InputError(file, "a tab cannot indent YAML", "use spaces", position=position)
        return InputError(
            file, f"a value cannot begin with {character}", "put it in quotes", position=position
        )
    reason = ", ".join(part for part in (error.context, error.problem) if part)
    return InputError(file, f"not valid YAML: {reason}", position=position)
