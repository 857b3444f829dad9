"""JSON of a request by msgspec, with the checks that a plain decoder lacks, made cheaply on the whole."""

import re

import msgspec

from rota.intake.documents.source import MAX_DEPTH
from rota.intake.errors import InputError

STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRINGS = re.compile(STRING)
TOO_DEEP = object()


def decode_json_body(body: bytes) -> object:
    """Of a request: where in the text an error is matters less than that it costs a sender nothing to make
    one, so the text isn't gone through again for it."""
    try:
        text = body.decode()
        data = msgspec.json.decode(text)
    except UnicodeDecodeError as error:
        raise InputError("", f"byte {error.start} is not UTF-8 text", "send JSON in UTF-8") from None
    except RecursionError:
        data = TOO_DEEP
    except msgspec.DecodeError as error:
        raise InputError("", f"not valid JSON: {error}", "correct it") from None
    if not is_sound(data, text):
        raise InputError(
            "",
            f"a key is there twice in one object, or it is nested deeper than {MAX_DEPTH} levels",
            "write each key once, and make it flatter",
        )
    return data


def is_sound(data: object, text: str) -> bool:
    return data is not TOO_DEEP and _count_keys(data) == _count_written_keys(text)


def _count_written_keys(text: str) -> int:
    """In valid JSON a colon outside of strings follows a key."""
    return _STRINGS.sub("", text).count(":")


def _count_keys(data: object) -> int | None:
    """None if it is nested too deep."""
    keys = 0
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        below: list[object] = []
        for value in level:
            if isinstance(value, dict):
                keys += len(value)
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        if not below:
            return keys
        level = below
    return None
