"""Which indexes an array of equal jobs has: "0-9", "1-100:10", "1,5,9", or just how many. "0-99%4": at most
four of them run at once."""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from rota.intake.checking.fields import Field
from rota.intake.checking.wording import quoted

MAX_ELEMENTS = 100_000
MAX_INDEX = 999_999_999

_PART = re.compile(r"(?P<first>\d{1,10})(?:-(?P<last>\d{1,10})(?::(?P<step>\d{1,10}))?)?", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_LONGEST_TEXT = 1_000_000


class Array(NamedTuple):
    indexes: tuple[int, ...]
    """In ascending order."""
    at_once: int | None = None
    """So many of them run at the same time, at most."""


def read_array(form: str | int, at: Field) -> Array:
    if isinstance(form, int):
        # `len` can't tell how many more than 2**63 - 1 are.
        if form > MAX_INDEX:
            raise at.error("has too many elements", f"give at most {MAX_ELEMENTS:,} in one array")
        return Array(tuple(_counted(range(form), 0, at)))
    if len(form) > _LONGEST_TEXT:
        raise at.error("is too long", f"give at most {MAX_ELEMENTS:,} indexes, in ranges")
    ranges, percent, limit = form.partition("%")
    indexes: list[int] = []
    for part in ranges.split(","):
        indexes += _counted(_range(part.strip(), at), len(indexes), at)
    distinct = sorted(set(indexes))
    if len(distinct) < len(indexes):
        twice = next(index for index, group in groupby(sorted(indexes)) if len(list(group)) > 1)
        raise at.error(f"the index {twice} is there twice", "name each once")
    return Array(tuple(distinct), _at_once(limit.strip(), at) if percent else None)


def _at_once(text: str, at: Field) -> int:
    if not (_NUMBER.fullmatch(text) and int(text)):
        raise at.error(
            f"{quoted(text)} can't be how many run at once", 'write a number from 1 on, as in "0-99%4"'
        )
    return int(text)


def format_array(indexes: Sequence[int], at_once: int | None = None) -> str:
    """Reading it back gives the same; ascending indexes are written as ranges where they are."""
    ranges: list[tuple[int, int]] = []
    for index in indexes:
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], index)
        else:
            ranges.append((index, index))
    limit = "" if at_once is None else f"%{at_once}"
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges) + limit


def _range(part: str, at: Field) -> range:
    match = _PART.fullmatch(part)
    if match is None:
        raise at.error(
            f"{quoted(part)} is neither an index nor a range", 'write it like "0-9", "1-100:10" or "1,5"'
        )
    first, last, step = int(match["first"]), int(match["last"] or match["first"]), int(match["step"] or 1)
    if last < first:
        raise at.error(f"the range {quoted(part)} ends before it begins", f"write {last}-{first}")
    if step == 0:
        raise at.error(f"the range {quoted(part)} makes no steps", "give a step of 1 or more")
    if last > MAX_INDEX:
        raise at.error(f"the index {last} is too large", f"give at most {MAX_INDEX}")
    return range(first, last + 1, step)


def _counted(indexes: range, before: int, at: Field) -> range:
    if not indexes:
        raise at.error("an array without elements", "give at least one, or leave it out")
    if before + len(indexes) > MAX_ELEMENTS:
        raise at.error(
            f"has {before + len(indexes):,} elements or more", f"give at most {MAX_ELEMENTS:,} in one array"
        )
    return indexes
