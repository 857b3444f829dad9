"""Plays the pages of docs/tutorials and writes what was printed into them. See `make tutorials`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.first_hour.page import read, written
from tests.first_hour.pages import FOLDER, PAGES
from tests.first_hour.play import play


def main() -> int:
    for name in sys.argv[1:] or PAGES:
        page = FOLDER / f"{name}.md"
        parts = read(page)
        with tempfile.TemporaryDirectory(prefix="rota-page.") as home, PAGES[name](Path(home)) as environment:
            printed = play(parts, Path(home), environment)
        page.write_text(written(parts, printed), encoding="utf-8")
        print(page.name)
    return 0


sys.exit(main())
