"""All tables of the command line, one after the other, on the terminal that this runs in: `python -m …`.

Commands are answered with what is recorded of a server, with longer names. What each table says of itself
goes to a file: which line of the source has made it, its names, and what came of it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any
from unittest import mock

from msgspec import inspect, json

from rota.api.jobs import ArrayDetail
from rota.cli import tables
from rota.cli.all_commands import app
from rota.cli.exits import ensure_streams, exit_code
from rota.cli.output import show
from rota.cli.showing import clock
from rota.cli.text import terminal_width
from rota.sdk import client
from tests.unit.sdk.test_recorded_answers import VERSIONS, Recorded

ROOT = Path(__file__).parents[3]
MIXED = [str(ROOT / "examples" / "mixed" / name) for name in ("cluster.yaml", "jobs.yaml")]
CLI = ROOT / "src" / "rota" / "cli"
SUFFIX = "-of-a-longer-name"
_LOOKS_LIKE_TIME = re.compile(r"\d{4}-\d\d-\d\dT|[0-9.]+$")

COMMANDS: list[list[str]] = [
    ["ls"],
    ["ls", "-o", "wide"],
    ["show", "1"],
    ["show", "1", "-o", "wide"],
    ["show", "2"],
    ["why", "1"],
    ["why", "1", "-o", "wide"],
    ["eta", "1", "2"],
    ["eff", "1"],
    ["fetch", "1", "--list"],
    ["extend", "1", "+1h"],
    ["plan", "--", "true"],
    ["nodes"],
    ["nodes", "-o", "wide"],
    ["queues"],
    ["top", "--once"],
    ["limits"],
    ["quota"],
    ["usage"],
    ["plugins"],
    ["plugins", "--local"],
    ["maintenance"],
    ["reserve"],
    ["project"],
    ["secret", "--project", "vision"],
    ["token"],
    ["agent", "ls"],
    ["agent", "ls", "-o", "wide"],
    ["audit"],
    ["audit", "-o", "wide"],
    ["server", "reload", "--dry-run"],
    ["config", "check"],
    ["plan", *MIXED],
    ["plan", *MIXED, "-o", "wide"],
    ["why", "workshop", *MIXED],
    ["why", "workshop", *MIXED, "-o", "wide"],
]


def longer(data: Any, kind: inspect.Type) -> Any:
    """Every name and text of an answer, made longer; what isn't free text stays."""
    match kind:
        case inspect.StructType(fields=fields) if isinstance(data, dict):
            types = {one.encode_name: one.type for one in fields}
            return {name: longer(value, types[name]) for name, value in data.items()}
        case inspect.ListType(item_type=item) if isinstance(data, list):
            return [longer(one, item) for one in data]
        case inspect.DictType(value_type=value) if isinstance(data, dict):
            return {name: longer(one, value) for name, one in data.items()}
        case inspect.UnionType(types=types) if data is not None:
            fitting = (inspect.StructType, inspect.ListType, inspect.DictType, inspect.StrType)
            one = next((one for one in types if isinstance(one, fitting)), None)
            return data if one is None else longer(data, one)
        case inspect.StrType() if isinstance(data, str) and data and not _LOOKS_LIKE_TIME.match(data):
            return data if data in _WORDS or len(data) > 20 else data + SUFFIX
        case _:
            return data


_WORDS = frozenset(("not-now", "never", "waiting", "placed", "running", "evicted", "job", "user", "project"))
"""Words with a meaning, in fields of text."""


AT = "2026-05-01T12:00:00Z"
FAULT = {"call": "on_job_scheduled", "count": 3, "first": AT, "last": AT}
MORE: dict[str, dict[str, Any]] = {
    "/limits": {
        "limits": [
            {"limit": "running jobs", "value": "100,000", "used": "17", "of": "user ada", "set_by": "x"}
        ]
    },
    "/jobs/1/outputs": {
        "items": [{"rank": 12, "path": f"out/{SUFFIX * 4}.csv", "size_bytes": 1 << 40, "executable": False}]
    },
    "/jobs/1/why": {
        "why": {
            "faults": [{"plugin": "licences", "call": "filter", "error": "ValueError: " + "no idea " * 20}],
            "weights": {"utilisation": 40, "load": 30, "affinity": 20, "proximity": 10, "cost": 7},
            "scores": [
                {
                    "node": f"n{number}{SUFFIX}",
                    "total": 99.9,
                    "criteria": dict.fromkeys(
                        ("utilisation", "load", "affinity", "proximity", "cost"), 100.0
                    ),
                    "chosen": number == 0,
                }
                for number in range(3)
            ],
        }
    },
    "/plan": {
        "changes": [{"job": "123456.789", "before": "2026-05-01T12:00:00Z", "after": "2026-05-02T12:00:00Z"}]
    },
}
"""What was recorded has none of: by the path that it is asked for."""


class Answers(Recorded):
    def _answer(self, method: str, path: str, *, is_first: bool) -> bytes:
        answer = json.decode(super()._answer(method, path, is_first=is_first))
        for name, value in MORE.get(path, {}).items():
            answer[name] = {**answer[name], **value} if isinstance(value, dict) else value
        if path == "/plugins":
            answer["items"][0]["faults"] = [{**FAULT, "error": "KeyError: " + "x" * 90, "job": "123456.789"}]
        return json.encode(answer)


def main(report: str) -> None:
    told: list[dict[str, object]] = []
    shown = tables.Table.lines
    new_table = tables.new_table

    def made(*columns: str, **settings: Any) -> tables.Table:
        table = new_table(*columns, **settings)
        frame = sys._getframe(1)
        table.made_at = f"{Path(frame.f_code.co_filename).relative_to(CLI)}:{frame.f_lineno}"  # type: ignore[attr-defined]
        return table

    def lines(table: tables.Table, width: int | None, *, colours: bool) -> list[str]:
        found = shown(table, width, colours=False)
        told.append(
            {
                "command": current,
                "made_at": getattr(table, "made_at", ""),
                "names": [row[0].plain for row in table._rows],
                "columns": [column.header for column in table._columns],
                "lines": found,
            }
        )
        return shown(table, width, colours=colours)

    client.Client = lambda **given: Answers(VERSIONS[-1], longer)  # type: ignore[assignment, misc]
    tables.Table.lines = lines  # type: ignore[method-assign, assignment]
    ensure_streams()
    failed = []
    with mock.patch.object(tables, "new_table", made):
        current = ["arrays"]
        # Only here: what is imported before is made by the other function.
        from rota.cli.jobs.job_tables import array_tables

        recorded = (VERSIONS[-1] / "show_array.200.json").read_bytes()
        show(array_tables(json.decode(recorded, type=ArrayDetail), clock(), wide=False))
        for current in COMMANDS:
            code = exit_code(lambda: app(current, prog_name="rota", standalone_mode=False))  # noqa: B023
            if code not in (0, 2, 3):  # 2: a job would wait; 3: an output is missing
                failed.append([*current, str(code)])
    document = {"width": terminal_width(), "tables": told, "failed": failed}
    Path(report).write_bytes(json.encode(document))


if __name__ == "__main__":
    main(sys.argv[1])
