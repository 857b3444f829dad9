"""Tables of the documents from bench/results: what the documents say is what was measured last.

A document names a table in a comment, and the rows go between that comment and the next one that ends it:

    <!-- table: engine -->
    <!-- /table -->

Run it to write them anew: python -m bench.tables. With --check it only says which document is out of date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench/results"
DOCUMENTS = ("README.md", "docs/benchmarks.md")

_BLOCK = re.compile(
    r"(?P<begin><!-- table: (?P<name>[a-z0-9-]+) -->\n).*?(?P<end><!-- /table -->)", re.DOTALL
)


class Row(msgspec.Struct, frozen=True):
    """One measurement as bench.harness.report writes it."""

    case: str
    metric: str
    higher_is_better: bool
    ours: float
    peer: float
    peer_name: str
    goal: str
    ratio: float


class Measured(msgspec.Struct, frozen=True):
    """One file of results: with what it was measured, and the rows."""

    versions: dict[str, str]
    python: str
    cores: int
    rows: tuple[Row, ...]


class Highlight(msgspec.Struct, frozen=True):
    """A row of the README: which measurement, and how to say it to somebody who knows none of the cases."""

    file: str
    case: str
    metric: str
    peer_name: str
    text: str
    unit: str


HIGHLIGHTS = (
    Highlight(
        "server",
        "5,000 × /bin/true, 2 at a time",
        "tasks/s",
        "HyperQueue 0.27.0",
        "An array of 5,000 empty tasks on two cores",
        "tasks/s",
    ),
    Highlight(
        "server",
        "one job on an idle server",
        "ms from submit to start, median",
        "goal",
        "One job on an idle server, from submit to start",
        "ms, median",
    ),
    Highlight(
        "server",
        "100,000 waiting",
        "why, ms, p95",
        "goal",
        "`rota why` while 100,000 jobs wait",
        "ms, p95",
    ),
    Highlight(
        "engine",
        "50,000 jobs of 200 shapes",
        "tasks/s at 5,000 nodes",
        "bare scan",
        "The engine alone: 50,000 jobs of 200 shapes, 5,000 nodes",
        "tasks/s",
    ),
    Highlight(
        "kube-plain",
        "plain: 5,000 pods on 1,000 nodes",
        "pods/s",
        "kube-scheduler",
        "Kubernetes: 5,000 pods on 1,000 nodes",
        "pods/s",
    ),
    Highlight(
        "sim-waits",
        "swf, load 1.0",
        "mean wait, s",
        "easy",
        "Mean wait on a public trace at full load",
        "s",
    ),
)

_MADE_PLAIN = {"goal": "the goal", "easy": "EASY backfill"}


def read(name: str, folder: Path = RESULTS) -> Measured:
    header, *rows = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return Measured(
        header["versions"], header["python"], header["cores"], tuple(msgspec.convert(rows, list[Row]))
    )


def number(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 100 else f"{value:,.0f}"


def table(names: tuple[str, ...], folder: Path = RESULTS) -> str:
    """All rows of some files of results, and with what they were measured."""
    measured = [read(name, folder) for name in names]
    lines = [
        "| case | metric | Rota | beside it | ratio | goal |",
        "|---|---|---:|---:|---:|---|",
        *(_line(row) for each in measured for row in each.rows),
    ]
    return "\n".join(lines) + "\n\n" + _origin(names, measured)


def fastest_growing(count: int = 12, folder: Path = RESULTS) -> str:
    measured = read("growth", folder)
    rows = sorted(measured.rows, key=lambda row: (-row.ours, row.case))
    lines = [
        f"The {count} of {len(rows)} cases that grow fastest:",
        "",
        "| case, and how many | × per doubling | at most |",
        "|---|---:|---:|",
        *(f"| {row.case} | {number(row.ours)} | {number(row.peer)} |" for row in rows[:count]),
    ]
    return "\n".join(lines) + "\n\n" + _origin(("growth",), [measured])


def highlights(folder: Path = RESULTS) -> str:
    lines = ["| what | Rota | beside it |", "|---|---:|---:|"]
    for wanted in HIGHLIGHTS:
        row = _row_of(wanted, folder)
        peer = _MADE_PLAIN.get(row.peer_name, row.peer_name)
        lines.append(f"| {wanted.text}, {wanted.unit} | {number(row.ours)} | {number(row.peer)} ({peer}) |")
    return "\n".join(lines) + "\n"


TABLES: dict[str, Callable[[], str]] = {
    "highlights": highlights,
    "engine": lambda: table(("engine",)),
    "growth": fastest_growing,
    "sim": lambda: table(("sim-makespans", "sim-waits", "sim-estimates", "sim-speed")),
    "server": lambda: table(("server",)),
    "cli": lambda: table(("cli",)),
    "isolation": lambda: table(("isolation",)),
    "hostile": lambda: table(("hostile",)),
    "agents": lambda: table(
        ("agents-recovery", "agents-busy", "agents-many", "agents-logs", "agents-scheduler")
    ),
    "kube": lambda: table(
        (
            "kube-plain",
            "kube-large",
            "kube-apart",
            "kube-together",
            "kube-spread",
            "kube-churn",
            "kube-steady",
        )
    ),
    "kube-soak": lambda: table(("kube-soak",)),
    "openb": lambda: table(("openb",)),
}


def filled(text: str, tables: dict[str, Callable[[], str]] = TABLES) -> str:
    """A document with its tables as they are measured now."""

    def block(match: re.Match[str]) -> str:
        return match["begin"] + tables[match["name"]]() + match["end"]

    return _BLOCK.sub(block, text)


def stale(root: Path = ROOT) -> list[Path]:
    paths = [root / name for name in DOCUMENTS]
    return [path for path in paths if filled(path.read_text(encoding="utf-8")) != path.read_text("utf-8")]


def refresh(root: Path = ROOT) -> None:
    for path in stale(root):
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")


def _line(row: Row) -> str:
    return (
        f"| {row.case} | {row.metric} | {number(row.ours)} | {number(row.peer)} ({row.peer_name}) "
        f"| {row.ratio:.2f} | {row.goal} |"
    )


def _origin(names: tuple[str, ...], measured: list[Measured]) -> str:
    files = ", ".join(f"[{name}.json](../bench/results/{name}.json)" for name in names)
    rota = " and ".join(sorted({each.versions["rota"] for each in measured}))
    cores = measured[0].cores
    return f"Measured with Rota {rota} and Python {measured[0].python} on {cores} cores: {files}.\n"


def _row_of(wanted: Highlight, folder: Path) -> Row:
    for row in read(wanted.file, folder).rows:
        if (row.case, row.metric, row.peer_name) == (wanted.case, wanted.metric, wanted.peer_name):
            return row
    raise LookupError(f"{wanted.file}.json has no row for {wanted.case!r}, {wanted.metric!r}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the tables of the documents from bench/results.")
    parser.add_argument("--check", action="store_true", help="only say which documents are out of date")
    if not parser.parse_args().check:
        refresh()
        return 0
    for path in (old := stale()):
        print(f"{path.relative_to(ROOT)} is out of date: run make docs-tables", file=sys.stderr)
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
