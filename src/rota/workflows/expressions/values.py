"""Values of expressions, and how one kind becomes another.

    null, true/false, numbers, strings    None, bool, float, str
    arrays, objects                       list, ObjectValue: equal only to themselves

The rules are GitHub's: https://docs.github.com/en/actions/reference/workflows-and-actions/expressions
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import TypeAlias

Value: TypeAlias = "bool | float | str | list[Value] | ObjectValue | None"


class Kind(Enum):
    NULL = "Null"
    BOOLEAN = "Boolean"
    NUMBER = "Number"
    STRING = "String"
    ARRAY = "Array"
    OBJECT = "Object"


class ObjectValue:
    """Keys are found whatever the case of their letters, and keep the one that they were first written in."""

    __slots__ = ("_keys", "_values")

    def __init__(self, items: Iterable[tuple[str, Value]] = ()) -> None:
        self._keys: dict[str, str] = {}
        self._values: dict[str, Value] = {}
        for key, value in items:
            folded = fold(key)
            self._keys.setdefault(folded, key)
            self._values[folded] = value

    def get(self, key: str) -> Value:
        return self._values.get(fold(key))

    def __contains__(self, key: str) -> bool:
        return fold(key) in self._values

    def __len__(self) -> int:
        return len(self._values)

    def items(self) -> Iterator[tuple[str, Value]]:
        for folded, value in self._values.items():
            yield self._keys[folded], value

    def values(self) -> Iterable[Value]:
        return self._values.values()


class FilteredArray(list["Value"]):
    """What `.*` gives: an index after it is one into each of its elements."""


def value_of(plain: object) -> Value:
    """Plain data, as JSON and YAML have them."""
    match plain:
        case None | bool() | str():
            return plain
        case int() | float():
            return float(plain)
        case Mapping():
            return ObjectValue((str(key), value_of(value)) for key, value in plain.items())
        case list() | tuple():
            return [value_of(one) for one in plain]
    raise TypeError(f"no value of an expression: {type(plain)}")


def plain_of(value: Value) -> object:
    """The other way round."""
    if isinstance(value, ObjectValue):
        return {key: plain_of(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain_of(one) for one in value]
    return value


def kind_of(value: Value) -> Kind:
    if value is None:
        return Kind.NULL
    if isinstance(value, bool):
        return Kind.BOOLEAN
    if isinstance(value, float):
        return Kind.NUMBER
    if isinstance(value, str):
        return Kind.STRING
    return Kind.ARRAY if isinstance(value, list) else Kind.OBJECT


def is_primitive(value: Value) -> bool:
    return not isinstance(value, list | ObjectValue)


# -- conversions


def to_boolean(value: Value) -> bool:
    if isinstance(value, float):
        return value != 0 and not math.isnan(value)
    if isinstance(value, list | ObjectValue):
        return True
    return bool(value)


def to_number(value: Value) -> float:
    """NaN for what is no number."""
    match value:
        case None:
            return 0.0
        case bool():
            return float(value)
        case float():
            return value
        case str():
            return parse_number(value)
    return math.nan


_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_RADIX = re.compile(r"0(?:x(?P<hex>[0-9a-fA-F]+)|o(?P<octal>[0-7]+))")
_INFINITY = {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}


def parse_number(text: str) -> float:
    text = text.strip()
    if not text:
        return 0.0
    if _DECIMAL.fullmatch(text):
        return float(text)
    if radix := _RADIX.fullmatch(text):
        digits = radix["hex"] or radix["octal"]
        # What has more digits than any number needs is infinite, and isn't worth its multiplication.
        return float(int(digits, 16 if radix["hex"] else 8)) if len(digits) <= 255 else math.inf
    return _INFINITY.get(text, math.nan)


def to_string(value: Value) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return number_text(value)
        case str():
            return value
        case list():
            return "Array"
    return "Object"


def number_text(value: float) -> str:
    """With 15 significant digits, as GitHub's runner prints them."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "0" if value == 0 else format(value, ".15G")


# -- comparisons

_ASCII = 128


def fold(text: str) -> str:
    """Equal for texts that differ in the case of their letters only. Letter by letter, so `ß` stays; and no
    letter beyond ASCII becomes one within it, so `ı` is no `I`."""
    if text.isascii():
        return text.upper()
    return "".join(map(_upper, text))


def _upper(letter: str) -> str:
    upper = letter.upper()
    if len(upper) != 1 or (ord(letter) >= _ASCII and ord(upper) < _ASCII):
        return letter
    return upper


def are_equal(left: Value, right: Value) -> bool:
    left, right = _alike(left, right)
    if isinstance(left, str) and isinstance(right, str):
        return fold(left) == fold(right)
    if isinstance(left, list | ObjectValue) or isinstance(right, list | ObjectValue):
        return left is right
    return type(left) is type(right) and left == right


def is_less(left: Value, right: Value) -> bool:
    left, right = _alike(left, right)
    if isinstance(left, str) and isinstance(right, str):
        return _sort_key(left) < _sort_key(right)
    if isinstance(left, bool) and isinstance(right, bool):
        return left < right
    if isinstance(left, float) and isinstance(right, float):
        return left < right
    return False


def _sort_key(text: str) -> bytes:
    return fold(text).encode("utf-16-be", "surrogatepass")


def _alike(left: Value, right: Value) -> tuple[Value, Value]:
    """Primitives of two kinds are compared as numbers."""
    if type(left) is type(right) or not (is_primitive(left) and is_primitive(right)):
        return left, right
    return to_number(left), to_number(right)
