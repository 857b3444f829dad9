"""Pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MARKUP = re.compile(r"([\\|<>*_\[\]])")


def cell(text: str) -> str:
    """Text in a table: it stays in its cell, and means what it says."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Cells as they are; nothing at all without rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return []
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines, ""]


def paragraphs(text: str) -> list[str]:
    """Text as it stands in code, each paragraph as one line."""
    return [line for block in text.split("\n\n") for line in (" ".join(block.split()), "") if block.strip()]


MADE = "<!-- Made from the code by `make docs`: change it there. -->"
