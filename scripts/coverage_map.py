"""Which tests show which requirement of docs/requirements.md. Called by `make coverage-map`.

A test names the requirements it shows by `@pytest.mark.covers("gang-2")`, on the test, its class or
its module (`pytestmark`); a scenario file by its key `covers`. Tests are read, never run.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

REQUIREMENT = re.compile(r"^- ([a-z]+-\d+) ", re.MULTILINE)
ASKED_LINE = re.compile(r"^Asked for so far: (.+)$", re.MULTILINE)
ASKED_RANGE = re.compile(r"([a-z]+)-(\d+)(?: … \1-(\d+))?")


class Claim(NamedTuple):
    """A test says that it shows a requirement."""

    id: str
    test: str


@dataclass(frozen=True)
class CoverageMap:
    """The tests by requirement, in the order of the requirements, and what is wrong with them."""

    tests: dict[str, list[str]]
    asked: frozenset[str]
    problems: list[str]

    def lines(self) -> Iterator[str]:
        width = max(map(len, self.tests), default=0)
        for id_, tests in self.tests.items():
            if id_ in self.asked:
                entries = tests or ["NOT SHOWN BY ANY TEST"]
            else:
                entries = ["open", *tests]
            yield f"{id_:{width}}  {entries[0]}"
            yield from (f"{'':{width}}  {entry}" for entry in entries[1:])

    def summary(self) -> str:
        shown = sum(1 for id_ in self.asked if self.tests.get(id_))
        tests = len({test for tests in self.tests.values() for test in tests})
        waiting = len(self.tests.keys() - self.asked)
        return (
            f"{shown} of {len(self.asked)} requirements asked for are shown (tests: {tests}); open: {waiting}"
        )


def read_requirements(text: str) -> tuple[list[str], frozenset[str], list[str]]:
    """All ids, those asked for, and what is wrong with the page."""
    problems = []
    ids = REQUIREMENT.findall(text)
    for id_ in sorted({id_ for id_ in ids if ids.count(id_) > 1}):
        problems.append(f"requirement {id_} is listed twice")

    asked: set[str] = set()
    line = ASKED_LINE.search(text)
    if line is None:
        problems.append('the requirements have no line "Asked for so far: …"')
    else:
        for part in line[1].split(","):
            match = ASKED_RANGE.fullmatch(part.strip())
            if match is None:
                problems.append(f'"Asked for so far": {part.strip()!r} is neither an id nor "a-1 … a-9"')
                continue
            area, first, last = match.groups()
            asked.update(f"{area}-{number}" for number in range(int(first), int(last or first) + 1))
    for id_ in sorted(asked - set(ids)):
        problems.append(f'"Asked for so far": there is no requirement {id_}')
    return list(dict.fromkeys(ids)), frozenset(asked), problems


class _MarkReader(ast.NodeVisitor):
    """Collects the `pytest.mark.covers(…)` of a module, each with the test or class it stands on."""

    def __init__(self, file: str) -> None:
        self.claims: list[Claim] = []
        self.problems: list[str] = []
        self._file = file
        self._scope: list[str] = []

    def _visit_scope(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._scope.append(node.name)
        self.generic_visit(node)
        self._scope.pop()

    visit_FunctionDef = _visit_scope  # noqa: N815 – the names that ast looks for
    visit_AsyncFunctionDef = _visit_scope  # noqa: N815 – the names that ast looks for
    visit_ClassDef = _visit_scope  # noqa: N815 – the names that ast looks for

    def visit_Call(self, node: ast.Call) -> None:
        match node.func:
            case ast.Attribute(attr="covers", value=ast.Attribute(attr="mark") | ast.Name(id="mark")):
                self._read_mark(node)
        self.generic_visit(node)

    def _read_mark(self, node: ast.Call) -> None:
        where = f"{self._file}:{node.lineno}"
        # pytest would not run these, so they show nothing.
        for name in self._scope:
            if not name.lower().startswith("test"):
                self.problems.append(f"{where}: covers() stands on {name}, which is not a test")
        if not node.args or node.keywords:
            self.problems.append(f'{where}: covers() takes ids, as in covers("gang-2")')
        for argument in node.args:
            match argument:
                case ast.Constant(value=str(id_)):
                    self.claims.append(Claim(id_, "::".join([self._file, *self._scope])))
                case _:
                    self.problems.append(
                        f"{where}: covers() takes ids written out, not {ast.unparse(argument)}"
                    )


def read_test_module(path: Path, file: str) -> tuple[list[Claim], list[str]]:
    reader = _MarkReader(file)
    try:
        reader.visit(ast.parse(path.read_text(encoding="utf-8"), filename=file))
    except SyntaxError as error:
        return [], [f"{file}:{error.lineno}: {error.msg}"]
    return reader.claims, reader.problems


def read_scenario(path: Path, file: str) -> tuple[list[Claim], list[str]]:
    text = path.read_text(encoding="utf-8")
    # A scenario may be broken YAML on purpose; it then shows what the test that runs it names.
    if re.search(r"^covers\b", text, re.MULTILINE) is None:
        return [], []
    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        return [], [f"{file}: {error}"]
    claims, problems = [], []
    for document in documents:
        if not isinstance(document, dict) or "covers" not in document:
            continue
        ids = document["covers"]
        if isinstance(ids, list) and ids and all(isinstance(id_, str) for id_ in ids):
            claims += [Claim(id_, file) for id_ in ids]
        else:
            problems.append(f"{file}: covers takes a list of ids, as in covers: [gang-2]")
    return claims, problems


def coverage_map(root: Path) -> CoverageMap:
    ids, asked, problems = read_requirements((root / "docs/requirements.md").read_text(encoding="utf-8"))
    tests: dict[str, list[str]] = {id_: [] for id_ in ids}

    readers = [(path, read_test_module) for path in root.glob("tests/**/test_*.py")]
    readers += [(path, read_scenario) for path in root.glob("tests/scenarios/**/*.y*ml")]
    for path, read in sorted(readers, key=lambda entry: entry[0]):
        claims, found = read(path, path.relative_to(root).as_posix())
        problems += found
        for claim in claims:
            if claim.id not in tests:
                problems.append(f"{claim.test} names {claim.id}, which is no requirement")
            elif claim.test not in tests[claim.id]:
                tests[claim.id].append(claim.test)
    problems += [
        f"{id_} is asked for, and no test shows it" for id_ in ids if id_ in asked and not tests[id_]
    ]
    return CoverageMap(tests, asked, problems)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Print for every requirement the tests that show it.")
    parser.add_argument("--check", action="store_true", help="print only what is wrong, and a summary")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    options = parser.parse_args(arguments)

    result = coverage_map(options.root)
    if not options.check:
        print(*result.lines(), sep="\n", end="\n\n")
    for problem in result.problems:
        print(f"coverage-map: {problem}", file=sys.stderr)
    print(f"coverage-map: {result.summary()}")
    return 1 if result.problems else 0


if __name__ == "__main__":
    sys.exit(main())
