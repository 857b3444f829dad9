"""How values, types and suggestions read in messages."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice

from msgspec import inspect

Choice = str | int | None

_LONGEST_SHOWN = 60
_MOST_COMPARED = 200
"""Comparing words is slow, and a suggestion is worth little time."""
_MOST_DIFFERENCE = 20
"""In length: beyond that a word isn't meant by another."""
_NOUNS: Mapping[type[inspect.Type], str] = {
    inspect.BoolType: "true or false",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.StrType: "text",
    inspect.NoneType: "nothing",
    inspect.ListType: "a list",
    inspect.SetType: "a list",
    inspect.FrozenSetType: "a list",
    inspect.VarTupleType: "a list",
    inspect.TupleType: "a list",
    inspect.DictType: "a mapping",
    inspect.StructType: "a mapping",
}


def describe_type(wanted: inspect.Type) -> str:
    match wanted:
        case inspect.Metadata():
            return describe_type(wanted.type)
        case inspect.UnionType():
            members = [member for member in wanted.types if not isinstance(member, inspect.NoneType)]
            return " or ".join(dict.fromkeys(map(describe_type, members)))
        case inspect.EnumType() | inspect.LiteralType():
            return listed(choices(wanted))
        case _:
            return _NOUNS.get(type(wanted), "another value")


def describe_value(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"text {quoted(value)}"
    if isinstance(value, int | float):
        # Python refuses to write integers of thousands of digits.
        is_long = isinstance(value, int) and abs(value) >= 10**30
        return "a number of over 30 digits" if is_long else f"the number {value}"
    return "a mapping" if isinstance(value, Mapping) else "a list"


def choices(wanted: inspect.EnumType | inspect.LiteralType) -> tuple[Choice, ...]:
    if isinstance(wanted, inspect.EnumType):
        return tuple(member.value for member in wanted.cls)
    return wanted.values


def listed(values: Iterable[Choice]) -> str:
    """As in `"In", "NotIn" or "Exists"`."""
    *most, last = (quoted(value) if isinstance(value, str) else describe_value(value) for value in values)
    return f"{', '.join(most)} or {last}" if most else last


def quoted(text: str) -> str:
    return f'"{text}"' if len(text) <= _LONGEST_SHOWN else f'"{text[: _LONGEST_SHOWN - 1]}…"'


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant; case, dashes and underscores weigh nothing."""
    likely = (one for one in known if abs(len(one) - len(word)) <= _MOST_DIFFERENCE)
    by_letters = {_letters(candidate): candidate for candidate in islice(likely, _MOST_COMPARED)}
    matches = get_close_matches(_letters(word[:_LONGEST_SHOWN]), by_letters, n=1)
    return by_letters[matches[0]] if matches else None


def _letters(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "")
