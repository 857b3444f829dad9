"""What a page says that is printed, beside what was printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.first_hour.page import Dialogue, Part, Printed, Step, alike


def differences(page: str, parts: Sequence[Part], printed: Printed) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Dialogue):
            for step in part.steps:
                now = printed[step.line]
                if not _same(step, now):
                    yield _told(page, step, now)


def _same(step: Step, now: Sequence[str]) -> bool:
    return alike(step.printed) == alike(now)


def _told(page: str, step: Step, now: Sequence[str]) -> str:
    where = f"{page}:{step.line}: $ {step.typed}"
    return "\n".join((where, "the page says:", *_quoted(step.printed), "printed:", *_quoted(now)))


def _quoted(lines: Sequence[str]) -> Iterator[str]:
    return (f"    {line}" for line in lines or ("(nothing)",))
