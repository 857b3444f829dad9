"""Patterns of files as `hashFiles` and the actions that follow it read them.

`*` and `?` stay within a folder, `**` as a part of its own stands for any folders, `[a-z]` for one letter.
Hidden files count. `!` takes away what patterns before it gave. A pattern that a folder matches means all
that is in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

MOST_PATTERN_CHARACTERS = 4_096
_WILD = re.compile(r"[*?\[]")


class GlobError(Exception):
    """What is wrong with a pattern."""


class _Pattern(Struct, frozen=True):
    takes_away: bool
    root: Path
    """The folder or file that all it can match is in or is."""
    matches: re.Pattern[str]
    """Whole paths."""


def files_in(workspace: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """The files beneath the workspace that the patterns select, folder by folder in the order of their names.
    Links to folders are not followed."""
    read = [
        _read(workspace, line.strip()) for text in patterns for line in text.splitlines() if _is_one(line)
    ]
    seen: set[Path] = set()
    for root in _roots([one.root for one in read if not one.takes_away]):
        for path in _walk(root):
            if path not in seen and _is_beneath(path, workspace) and _is_selected(path, read):
                seen.add(path)
                yield path


def _is_one(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("#")


def _read(workspace: Path, text: str) -> _Pattern:
    if len(text) > MOST_PATTERN_CHARACTERS:
        raise GlobError(f"a pattern has more than {MOST_PATTERN_CHARACTERS:,} characters")
    marks = len(text) - len(text.lstrip("!"))
    text = text[marks:].strip()
    if not text:
        raise GlobError("a pattern is empty")
    if ".." in text.split("/"):
        raise GlobError(f"{text}: a pattern can't go up by '..'")
    if text.startswith("~"):
        raise GlobError(f"{text}: a pattern begins in the workspace, not in a home folder")
    parts = [
        one for one in (Path(text) if os.path.isabs(text) else workspace / text).as_posix().split("/") if one
    ]
    literal = []
    for part in parts:
        if _WILD.search(part):
            break
        literal.append(part)
    return _Pattern(marks % 2 == 1, Path("/", *literal), re.compile(_expression(parts), re.DOTALL))


def _expression(parts: Sequence[str]) -> str:
    made = ""
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if part == "**":
            made += "(?:/.+)" if is_last else "(?:/[^/]+)*"
        else:
            made += "/" + _part(part)
    return made + "(?:/.*)?"


def _part(text: str) -> str:
    made, at = "", 0
    while at < len(text):
        letter = text[at]
        if letter == "[" and (end := _class_end(text, at)):
            inside = text[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            made += f"(?!/)[{'^' + inside[1:] if inside[0] in '!^' else inside}]"
            at = end
        elif letter == "*":
            made += "[^/]*"
        elif letter == "?":
            made += "[^/]"
        elif letter == "\\" and at + 1 < len(text):
            at += 1
            made += re.escape(text[at])
        else:
            made += re.escape(letter)
        at += 1
    # `**` within a name is two of `*`: one says as much, and costs less.
    return re.sub(r"(?:\[\^/\]\*){2,}", "[^/]*", made)


def _class_end(text: str, at: int) -> int:
    """Where a class of letters ends; 0 where the bracket is just a letter."""
    first = at + 2 if text[at + 1 : at + 2] in ("!", "^") else at + 1
    end = text.find("]", first + 1)
    if end < 0:
        return 0
    try:
        re.compile(f"[{text[at + 1 : end]}]")
    except re.error:
        return 0
    return end


def _roots(roots: Sequence[Path]) -> Iterator[Path]:
    """Without those that are within another."""
    for number, root in enumerate(roots):
        if root in roots[:number] or any(other in root.parents for other in roots):
            continue
        yield root


def _walk(path: Path) -> Iterator[Path]:
    if not path.is_symlink() and path.is_dir():
        for name in sorted(os.listdir(path), key=os.fsencode):
            yield from _walk(path / name)
    elif path.is_file():
        yield path


def _is_beneath(path: Path, workspace: Path) -> bool:
    return workspace in path.parents


def _is_selected(path: Path, patterns: Sequence[_Pattern]) -> bool:
    is_selected, text = False, path.as_posix()
    for pattern in patterns:
        if is_selected == pattern.takes_away and pattern.matches.fullmatch(text):
            is_selected = not pattern.takes_away
    return is_selected
