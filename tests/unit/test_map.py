"""From each module of src one finds its tests: by name, or by the table in tests/README.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path, PurePosixPath

import pytest
from msgspec import Struct

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src" / "rota"
HEADING = "| module | tested by |"


class Line(Struct, frozen=True):
    """One of the table."""

    modules: tuple[str, ...]
    """As patterns."""
    tests: tuple[str, ...]

    def names(self, module: PurePosixPath) -> bool:
        return any(
            len(module.parts) == pattern.count("/") + 1 and module.match(pattern) for pattern in self.modules
        )


def lines_of(text: str) -> Iterator[Line]:
    for row in text.partition(HEADING)[2].splitlines()[2:]:
        if row.startswith("|"):
            modules, tests = row.strip("| ").split(" | ")
            yield Line(tuple(spread(modules)), tuple(tests.split(", ")))


def spread(pattern: str) -> Iterator[str]:
    """`a/{b, c}/*` → `a/b/*`, `a/c/*`."""
    parts = [
        part.strip("{}").split(", ") if part.startswith("{") else [part]
        for part in re.split(r"(\{[^}]*\})", pattern)
    ]
    return map("".join, product(*parts))


def modules() -> list[PurePosixPath]:
    found = (PurePosixPath(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))
    return sorted(
        one.with_suffix("") for one in found if not one.name.startswith("__") and "_pb2" not in one.name
    )


def has_mirror(module: PurePosixPath) -> bool:
    unit = TESTS / "unit" / module
    return unit.with_name(f"test_{module.name.lstrip('_')}.py").exists() or any(unit.glob("test_*.py"))


TABLE = list(lines_of((TESTS / "README.md").read_text()))
ELSEWHERE = [module for module in modules() if not has_mirror(module)]


def test_each_module_has_a_test_file_or_a_line_of_the_table() -> None:
    lost = [str(module) for module in ELSEWHERE if not any(line.names(module) for line in TABLE)]
    assert not lost, f"no tests/unit/…/test_*.py by that name, and no line in tests/README.md: {lost}"


@pytest.mark.parametrize("line", TABLE, ids=lambda line: line.modules[0])
def test_a_line_names_modules_that_need_it_and_tests_that_exist(line: Line) -> None:
    for pattern in line.modules:
        one = Line((pattern,), line.tests)
        assert any(one.names(module) for module in ELSEWHERE), f"{pattern}: no module is tested elsewhere"
    for tests in line.tests:
        place = TESTS / tests
        is_there = (
            place.name.startswith("test_") and place.is_file()
            if place.suffix
            else any(place.rglob("test_*.py"))
        )
        assert is_there, f"{tests}: no tests there"


def test_a_pattern_may_name_several() -> None:
    assert list(spread("cli/{plan, why}/*")) == ["cli/plan/*", "cli/why/*"]
    assert list(spread("engine/order")) == ["engine/order"]
