"""A page of the documentation as a script: files to write, commands to type, and what is printed.

In a page, a block of `console` has commands behind `$ ` and below each what it prints. With a title, such as
`title="second terminal"`, it is another terminal, whose commands may go on for as long as the page does;
there, `^C` on a line of its own is Ctrl-C. Any other block with a title is a file of that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

_FENCE = re.compile(r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?$")
INTERRUPT = "^C"


class Step(msgspec.Struct, frozen=True):
    """Something typed, and the lines that are printed for it."""

    typed: str
    printed: tuple[str, ...]
    line: int


class Dialogue(msgspec.Struct, frozen=True):
    """A block of one terminal; the first one has no name."""

    terminal: str
    steps: tuple[Step, ...]


class GivenFile(msgspec.Struct, frozen=True):
    name: str
    text: str


class Prose(msgspec.Struct, frozen=True):
    """What stays as it is when a page is written anew."""

    lines: tuple[str, ...]


Part = Prose | Dialogue | GivenFile
Printed = Mapping[int, Sequence[str]]
"""What was printed for each step, by the line at which it stands in its page."""


def read(page: Path) -> list[Part]:
    lines = page.read_text(encoding="utf-8").splitlines()
    return list(_parts(lines))


def _parts(lines: Sequence[str]) -> Iterator[Part]:
    prose: list[str] = []
    at = 0
    while at < len(lines):
        prose.append(lines[at])
        fence = _FENCE.match(lines[at])
        at += 1
        if fence is None:
            continue
        end = lines.index("```", at)
        block, first = lines[at:end], at + 1
        at = end
        if fence["language"] == "console":
            yield Prose(tuple(prose))
            prose = []
            yield Dialogue(fence["title"] or "", tuple(_steps(block, first)))
        elif fence["title"]:
            yield Prose((*prose, *block))
            prose = []
            yield GivenFile(fence["title"], "\n".join(block) + "\n")
        else:
            prose += block
        prose.append(lines[at])
        at += 1
    yield Prose(tuple(prose))


def _steps(block: Sequence[str], first: int) -> Iterator[Step]:
    typed: str | None = None
    began, printed, continued = first, list[str](), False
    for number, line in enumerate(block, first):
        if continued and typed is not None:
            typed += "\n" + line
        elif line.startswith("$ ") or line == INTERRUPT:
            if typed is not None:
                yield Step(typed, tuple(printed), began)
            typed, began, printed = line.removeprefix("$ "), number, []
        else:
            assert typed is not None, f"line {number}: something is printed before anything was typed"
            printed.append(line)
            continue
        continued = line.endswith("\\")
    if typed is not None:
        yield Step(typed, tuple(printed), began)


def written(parts: Sequence[Part], printed: Printed) -> str:
    """The page, with what was really printed."""
    lines: list[str] = []
    for part in parts:
        if isinstance(part, Prose):
            lines += part.lines
        elif isinstance(part, Dialogue):
            for step in part.steps:
                lines.append(step.typed if step.typed == INTERRUPT else f"$ {step.typed}")
                lines += printed[step.line]
    return "\n".join(lines) + "\n"


_VARYING = (
    (re.compile(r"\s+"), " "),
    (re.compile(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?"), "<time>"),
    (re.compile(r"\b\d\d:\d\d(?::\d\d)?\b"), "<time>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|min|h|d)\b(?: \d+ ?(?:ms|s|min|h|d)\b)*"), "<duration>"),
    (re.compile(r"\b[\d.,]+ ?(?:[kKMG]i?B?|bytes)\b"), "<size>"),
    (re.compile(r"(?<=:)\d{4,5}\b"), "<port>"),
    (re.compile(r"\brota_[\w-]{16,}"), "<token>"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "<digits>"),
    (re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "-<random>"),  # the end of a pod's name
    (re.compile(r"\b0\.\d\d\b"), "<hours>"),
    (re.compile(r"(?<![\d-])\d+%(?!\d)"), "<share>"),
    (re.compile(r"[━─╸╺]+"), "─"),
    (re.compile(r"\s+"), " "),
    (re.compile(r"<time>, (?:now|in <duration>|<duration> ago)"), "<time>"),
    (re.compile(r"next in its queue; (?:expected about <time>|not worked out yet)"), ""),
    (re.compile(r";? ?expected about <time>"), ""),
    (re.compile(r"; in nine of ten cases by <time>"), ""),
    (re.compile(r"; by limits alone <time>"), ""),
    (re.compile(r"\s+"), " "),
)


def alike(lines: Sequence[str]) -> str:
    """What is printed, without what differs from run to run: clocks, durations, ports, tokens, the width of
    columns, and estimates, which a server may or may not have worked out by then."""
    text = "\n".join(lines)
    for pattern, name in _VARYING:
        text = pattern.sub(name, text)
    return text.strip()
