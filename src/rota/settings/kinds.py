"""How the value of a setting is read, from TOML or from text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import inspect

from rota.model.quantities import (
    QuantityError,
    format_bytes,
    format_cpu,
    format_duration,
    format_price,
    parse_bytes,
    parse_cpu_milli,
    parse_duration_ms,
    parse_price_micro,
)

DURATION = "duration"
BYTES = "bytes"
PRICE = "price"
CPU = "cpu"
FOLDER_OR_FILE = "path"
SECRET = "secret"

_PARSERS: Mapping[str, Callable[[object], int]] = {
    DURATION: parse_duration_ms,
    BYTES: parse_bytes,
    PRICE: parse_price_micro,
    CPU: parse_cpu_milli,
}
_FORMATS: Mapping[str, Callable[[int], str]] = {
    DURATION: format_duration,
    BYTES: format_bytes,
    PRICE: format_price,
    CPU: format_cpu,
}
_BOOLEANS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


class Kind:
    """Of one setting, by its type in `settings`."""

    def __init__(self, wanted: inspect.Type) -> None:
        self._extra = ""
        while isinstance(wanted, inspect.Metadata):
            self._extra = (wanted.extra or {}).get("kind", self._extra)
            wanted = wanted.type
        self._wanted = wanted

    @property
    def is_path(self) -> bool:
        return self._extra == FOLDER_OR_FILE

    @property
    def is_secret(self) -> bool:
        return self._extra == SECRET

    def written(self, value: object) -> object:
        """As it may stand in a file."""
        form = _FORMATS.get(self._extra)
        return form(value) if form is not None and isinstance(value, int) else value

    def read(self, value: object, *, is_text: bool) -> Any:
        """QuantityError says what is wrong with it. `is_text`: of the environment, where all is text."""
        parse = _PARSERS.get(self._extra)
        if parse is not None:
            return self._within_range(parse(value))
        match self._wanted:
            case inspect.BoolType():
                return _boolean(value, is_text)
            case inspect.IntType(ge=least, le=most):
                return _number(value, is_text, int, least, most)
            case inspect.FloatType(ge=least, le=most):
                return _number(value, is_text, float, least, most)
            case inspect.LiteralType(values=allowed):
                return _choice(value, tuple(map(str, allowed)))
            case inspect.VarTupleType():
                return _texts(value)
            case _:
                return _text(value)

    def _within_range(self, amount: int) -> int:
        match self._wanted:
            case inspect.IntType(ge=int(least), le=int(most)) if not least <= amount <= most:
                shown, first, last = map(_FORMATS[self._extra], (amount, least, most))
                raise QuantityError(f"{shown} is out of range", f"give {first} to {last}")
        return amount


def _boolean(value: object, is_text: bool) -> bool:
    if is_text and isinstance(value, str) and value.lower() in _BOOLEANS:
        return _BOOLEANS[value.lower()]
    if isinstance(value, bool):
        return value
    raise QuantityError(f"{_shown(value)} is neither true nor false", "write true or false")


def _number(
    value: object, is_text: bool, read: type[int] | type[float], least: float | None, most: float | None
) -> int | float:
    noun = "a whole number" if read is int else "a number"
    number: int | float
    if is_text and isinstance(value, str):
        try:
            number = read(value)
        except ValueError:
            raise QuantityError(f"{_shown(value)} is not {noun}", _between(least, most)) from None
    elif isinstance(value, bool) or not isinstance(value, int if read is int else int | float):
        raise QuantityError(f"{_shown(value)} is not {noun}", _between(least, most))
    else:
        number = value
    if not (least is None or number >= least) or not (most is None or number <= most):
        raise QuantityError(f"{number} is out of range", _between(least, most))
    return number


def _between(least: float | None, most: float | None) -> str:
    return f"give one from {least} to {most}"


def _choice(value: object, allowed: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    raise QuantityError(f"{_shown(value)} is not an allowed value", f"allowed: {', '.join(allowed)}")


def _text(value: object) -> str:
    if isinstance(value, str) and "\0" not in value:
        return value
    raise QuantityError(f"{_shown(value)} is not text", "put it in quotes")


def _texts(value: object) -> tuple[str, ...]:
    """A list of texts, or a text with commas."""
    parts = value if isinstance(value, list) else _text(value).split(",")
    return tuple(filter(None, (_text(part).strip() for part in parts)))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return "a table" if isinstance(value, dict) else "a list" if isinstance(value, list) else str(value)
