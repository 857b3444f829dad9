"""On which line of a TOML file each key stands: the decoder of the standard library doesn't say."""

from __future__ import annotations

import re
from collections.abc import Mapping

KeyPath = tuple[str, ...]

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_TABLE = re.compile(rf"\s*\[\[?\s*({_KEY})\s*\]")
_ASSIGNMENT = re.compile(rf"\s*({_KEY})\s*=\s*(.*)")
_PARTS = re.compile(_PART)
_FENCES = ('"""', "'''")


def lines_of_keys(text: str) -> Mapping[KeyPath, int]:
    """Of text that is valid TOML. Keys within inline tables aren't there: the line of their table is."""
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if fence:
            fence = "" if fence in line else fence
        elif match := _TABLE.match(line):
            table = _path(match[1])
            lines.setdefault(table, number)
        elif match := _ASSIGNMENT.match(line):
            lines.setdefault((*table, *_path(match[1])), number)
            fence = next((one for one in _FENCES if line.count(one) == 1), "")
    return lines


def nearest_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Of the key, or of what is around it."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


def _path(text: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in _PARTS.findall(text))
