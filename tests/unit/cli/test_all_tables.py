"""Every table at a real terminal, narrow and wide: it fits, and names its rows in full."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest
from msgspec import json

from rota.cli.text import width_of
from tests.unit.cli.all_tables import CLI, ROOT
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import a_node
from tests.unit.cli.fake_server import FakeServer

pytestmark = pytest.mark.covers("first-6")

ELSEWHERE = {
    "jobs/watch.py": "is drawn anew, by another library: tests/unit/cli/terminal",
    "policies/replay/tables.py": "tests/unit/cli/policies/test_replay.py",
    "policies/sim/openb.py": "numbers alone",
    "policies/sim/tables.py": "numbers alone",
    "questions/extension_tables.py": "tests/unit/cli/questions/test_extend.py",
    "services/config.py": "tests/unit/cli/services/test_config.py",
}
"""Tables that no command here shows. A fixture checks all of them where they are tested."""


def shown_at(columns: int, folder: Path) -> Any:
    report = folder / "report.json"
    terminal: pexpect.spawn[str] = pexpect.spawn(
        sys.executable,
        ["-m", "tests.unit.cli.all_tables", str(report)],
        cwd=str(ROOT),
        # Else that would be the width, whatever the terminal's is.
        env={name: value for name, value in os.environ.items() if name != "COLUMNS"},
        dimensions=(40, columns),
        encoding="utf-8",
        timeout=300,
    )
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0, terminal.before
    return json.decode(report.read_bytes())


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 200])
def test_every_table_fits_and_names_its_rows_in_full(columns: int, tmp_path: Path) -> None:
    report = shown_at(columns, tmp_path)
    assert (report["width"], report["failed"]) == (columns, [])
    for table in report["tables"]:
        assert max(map(width_of, table["lines"]), default=0) <= columns, table
        for name in table["names"]:
            if name and width_of(name) <= 40 and "\n" not in name:
                assert any(line.strip().startswith(name) for line in table["lines"]), (name, table)
    made = {table["made_at"].partition(":")[0] for table in report["tables"]} - {""}
    assert {path for path in made_in_source() if path not in ELSEWHERE} <= made


def made_in_source() -> set[str]:
    """The modules that make tables."""
    return {
        str(path.relative_to(CLI))
        for path in CLI.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "new_table"
    } - {"tables.py"}


def test_wide_nodes_at_80_columns(server: FakeServer) -> None:
    """Words were broken letter by letter."""
    labels = {f"topology.example.org/rack-{number}": "value" for number in range(4)}
    server.node_list = [
        a_node(
            "gpu-node-17.cluster.example.org",
            labels=labels,
            taints=["dedicated=machine-learning:NoSchedule"],
            gpus=8,
            gpus_used=8,
            gpu_model="NVIDIA H200 141GB HBM3e",
            capacity={"cpu": 192, "memory": 2 << 40},
            used={"cpu": 191.5, "memory": 1 << 40},
            memory_used=1 << 40,
            message="it can't hold tasks to limits of memory, because its kernel has no cgroups",
        )
    ]
    narrow, wide = rota("nodes", "-o", "wide"), rota("nodes", "-o", "wide", columns=300)
    assert max(map(width_of, narrow.lines)) <= 80
    assert narrow.lines[1].startswith("gpu-node-17.cluster.example.org  ready")
    assert "dedicated=machine-learning:NoSchedule" in wide.out
    assert rota("nodes", "-o", "json").out == rota("nodes", "-o", "json", columns=300).out
    [node] = rota("nodes", "-o", "json").data
    assert (node["labels"], node["gpu_model"]) == (labels, "NVIDIA H200 141GB HBM3e")
