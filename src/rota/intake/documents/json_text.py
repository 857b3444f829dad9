"""JSON by msgspec, with the checks and positions that a plain decoder lacks.

The checks are made cheaply on the whole; only where one fails is the text gone through token by token, as
the events that YAML would give for it.
"""

import re
from collections.abc import Iterator

import msgspec
from yaml.error import Mark
from yaml.events import (
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from rota.intake.documents.compose import compose
from rota.intake.documents.json_body import STRING, TOO_DEEP, is_sound
from rota.intake.errors import InputError, Position

_TOKENS = re.compile(rf"{STRING}|[{{}}\[\]]|[^\s\"{{}}\[\],:]+")
_DECODE_MESSAGE = re.compile(
    r"(?:JSON is malformed: )?(?P<reason>.*?)(?: \(byte (?P<offset>\d+)\)| - at `.*`)?"
)


def decode_json(file: str, text: str) -> object:
    try:
        data = msgspec.json.decode(text)
    except RecursionError:
        data = TOO_DEEP
    except msgspec.DecodeError as error:
        raise _malformed(file, text, error) from None
    if not is_sound(data, text):
        # Raises at the key that is there twice, or where the nesting becomes too deep.
        list(compose(file, json_events(text)))
    return data


def json_events(text: str) -> Iterator[Event]:
    """The events of text that is known to be JSON."""
    start = Mark("", 0, 0, 0, None, 0)
    yield DocumentStartEvent(start, start)
    for token, mark in _tokens(text):
        yield _event(token, mark)
    yield DocumentEndEvent(start, start)


def _event(token: str, mark: Mark) -> Event:
    match token:
        case "{":
            return MappingStartEvent(None, None, True, mark, mark)
        case "[":
            return SequenceStartEvent(None, None, True, mark, mark)
        case "}":
            return MappingEndEvent(mark, mark)
        case "]":
            return SequenceEndEvent(mark, mark)
    if token.startswith('"'):
        return ScalarEvent(None, None, (False, True), msgspec.json.decode(token), mark, mark)
    return ScalarEvent(None, None, (True, False), token, mark, mark)


def _tokens(text: str) -> Iterator[tuple[str, Mark]]:
    line, line_start, end = 0, 0, 0
    for match in _TOKENS.finditer(text):
        newlines = text.count("\n", end, match.start())
        if newlines:
            line += newlines
            line_start = text.rindex("\n", end, match.start()) + 1
        yield match[0], Mark("", match.start(), line, match.start() - line_start, None, 0)
        end = match.end()


def _malformed(file: str, text: str, error: msgspec.DecodeError) -> InputError:
    message = _DECODE_MESSAGE.fullmatch(str(error))
    assert message is not None
    if message["offset"]:
        before = text.encode()[: int(message["offset"])].decode(errors="ignore")
        position = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
    else:
        position = _first_bad_token(text)
    looks_like_json = text.lstrip().startswith(("{", "["))
    remedy = "" if looks_like_json else "if it is YAML, give the file a name that ends in .yaml"
    return InputError(file, f"not valid JSON: {message['reason']}", remedy, position=position)


def _first_bad_token(text: str) -> Position:
    """Or the last line, where the text ended too early."""
    for token, mark in _tokens(text):
        if token not in "{}[]":
            try:
                msgspec.json.decode(token)
            except msgspec.DecodeError:
                return Position(mark.line + 1, mark.column + 1)
    return Position(text.rstrip("\n").count("\n") + 1, 1)
