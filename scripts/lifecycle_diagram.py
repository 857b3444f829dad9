"""Draw the phases of a job into docs/lifecycle.md, from the table that the tests hold the code to.

scripts/lifecycle_diagram.py            rewrites the diagram
scripts/lifecycle_diagram.py --check    only tells whether it is current
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from rota.lifecycle.events import Event
from rota.lifecycle.state import Phase
from rota.lifecycle.transitions import STARTS_IN, TRANSITIONS

DOCUMENT = Path(__file__).resolve().parent.parent / "docs/lifecycle.md"
BLOCK = re.compile(r"^```mermaid\nstateDiagram-v2\n.*?^```$", re.MULTILINE | re.DOTALL)


def diagram() -> str:
    lines = [f"[*] --> {phase.name}" for phase in STARTS_IN]
    lines += [
        f"{one.before.name} --> {one.after.name}: {', '.join(map(_in_words, one.events))}"
        for one in TRANSITIONS
    ]
    lines += [f"{phase.name} --> [*]" for phase in Phase if phase.is_terminal]
    return "\n".join(["```mermaid", "stateDiagram-v2", *(f"    {line}" for line in lines), "```"])


def _in_words(event: type[Event]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", event.__name__).lower()


def drawn_into(text: str) -> str:
    """The document with the diagram as it is now."""
    if len(BLOCK.findall(text)) != 1:
        raise ValueError("there must be one diagram, which begins with ```mermaid and stateDiagram-v2")
    return BLOCK.sub(lambda _: diagram(), text)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Draw the phases of a job into docs/lifecycle.md.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail if it isn't current")
    parser.add_argument("--document", type=Path, default=DOCUMENT)
    options = parser.parse_args(arguments)

    text = options.document.read_text(encoding="utf-8")
    try:
        current = drawn_into(text)
    except ValueError as error:
        print(f"lifecycle-diagram: {options.document}: {error}", file=sys.stderr)
        return 1
    if current == text:
        return 0
    if options.check:
        print(f"lifecycle-diagram: {options.document} isn't current: run it without --check", file=sys.stderr)
        return 1
    options.document.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
