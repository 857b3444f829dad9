"""The section of the changelog that belongs to a tag. Fails unless tag, version and changelog agree.

scripts/release_notes.py v0.7.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import rota

CHANGELOG = Path(__file__).resolve().parent.parent / "CHANGELOG.md"
_HEADING = re.compile(r"^## (?P<version>\S+) — \d{4}-\d{2}-\d{2}$", re.MULTILINE)


def notes(changelog: str, version: str) -> str:
    headings = list(_HEADING.finditer(changelog))
    for number, heading in enumerate(headings):
        if heading["version"] == version:
            end = headings[number + 1].start() if number + 1 < len(headings) else len(changelog)
            return changelog[heading.end() : end].strip() + "\n"
    raise ValueError(f"CHANGELOG.md has no section `## {version} — DATE`: give it one")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: scripts/release_notes.py TAG", file=sys.stderr)
        return 2
    version = arguments[0].removeprefix("v")
    if version != rota.__version__:
        print(f"the tag says {version}, and rota.__version__ {rota.__version__}", file=sys.stderr)
        return 1
    try:
        print(notes(CHANGELOG.read_text(encoding="utf-8"), version), end="")
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
