"""Lists of names, made short: `node-[0-3,7]` as Slurm's users know it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_NUMBERED = re.compile(r"(.*?(?<![0-9]))(0|[1-9][0-9]{0,17})", re.DOTALL | re.ASCII)
"""A number with leading zeros is none: `n01` and `n1` are two nodes."""
_FEWEST = 3
"""Two names are as easily read one by one."""


def fold_names(names: Iterable[str], most: int | None = None) -> str:
    """Each name once, in order; numbered ones that differ in the number alone as one.
    Of more than `most` such parts the rest is left out."""
    parts = _folded(names)
    return ", ".join(parts if most is None or len(parts) <= most else [*parts[:most], "…"])


def fold_counted(names: Iterable[str]) -> str:
    """The same, with how often each occurs: `n-[0-2] ×4, n-3`."""
    by_count: dict[int, list[str]] = {}
    for name, count in Counter(names).items():
        by_count.setdefault(count, []).append(name)
    parts = []
    for count in sorted(by_count, reverse=True):
        times = f" ×{count}" if count > 1 else ""
        parts += [f"{folded}{times}" for folded in _folded(by_count[count])]
    return ", ".join(parts)


def stem(name: str) -> str:
    """The name without the number at its end."""
    return _numbered(name)[0]


def _numbered(name: str) -> tuple[str, int | None]:
    match = _NUMBERED.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)


def _folded(names: Iterable[str]) -> list[str]:
    numbers: dict[str, list[int]] = {}
    parts: dict[str, str] = {}
    for name in set(names):
        before, number = _numbered(name)
        if number is None:
            parts[name] = name
        else:
            numbers.setdefault(before, []).append(number)
    for before, found in numbers.items():
        if len(found) < _FEWEST:
            parts |= {f"{before}{number}": f"{before}{number}" for number in found}
        else:
            parts[before] = f"{before}[{_ranges(sorted(found))}]"
    return [parts[key] for key in sorted(parts)]


def _ranges(numbers: Sequence[int]) -> str:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
