"""Which files a job's `outputs` mean: by name, by folder, or by pattern.

`results` is a file, or all that is below a folder; in `logs/*.txt` a star stands for what has no slash in
it, and `**` for any number of folders. Both ends ask here: whoever keeps files, and whoever hands them out.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

_SPECIAL = frozenset("*?[")
_ANY_FOLDERS = "**"


def is_pattern(output: str) -> bool:
    return not _SPECIAL.isdisjoint(output)


def is_meant(path: str, outputs: Iterable[str]) -> bool:
    """Whether a file of this path is one of them."""
    parts = PurePosixPath(path).parts
    return any(_matches(PurePosixPath(output).parts, parts) or output == path for output in outputs)


def plain_beginning(output: str) -> str:
    """The folder that all it can mean is in; empty: the task's own."""
    parts: list[str] = []
    for part in PurePosixPath(output).parts:
        if is_pattern(part):
            break
        parts.append(part)
    return "/".join(parts)


def _matches(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """What is below a folder that matches does, too. One step of the pattern at a time: `reached` are all
    places in the path where it may stand, so that no pattern takes long."""
    reached = {0}
    for step in pattern:
        if step == _ANY_FOLDERS:
            reached = set(range(min(reached), len(path)))
        else:
            reached = {at + 1 for at in reached if at < len(path) and fnmatchcase(path[at], step)}
        if not reached:
            return False
    return True
