"""A command without options is run without their declarations, and in no other way than with them."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from rota.cli.all_commands import command
from rota.cli.job_options import JobOptions
from rota.cli.jobs import commands
from rota.cli.shortcut import shortcut
from rota.lifecycle.state import Phase
from tests.unit.cli.calling import rota
from tests.unit.cli.documents import an_attempt, detail, over
from tests.unit.cli.fake_server import FakeServer


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("run",),
        ("run", "--"),
        ("run", "make"),
        ("run", "--cpus", "2", "--", "make"),
        ("--context", "lab", "run", "--", "make"),
        ("submit", "--", "make"),
    ],
)
def test_anything_else_is_read_by_its_declarations(words: tuple[str, ...]) -> None:
    assert shortcut(words) is None


def test_so_is_what_a_shell_asks_to_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shortcut(("run", "--", "make")) is not None
    monkeypatch.setenv("_ROTA_COMPLETE", "complete_bash")
    assert shortcut(("run", "--", "make")) is None


def test_what_it_leaves_out_is_what_is_declared_as_default() -> None:
    declared = inspect.signature(commands.run).parameters.values()
    given = {one.name: one.default for one in declared if one.default is not inspect.Parameter.empty}
    assert given.pop("stdin") is None
    assert given.pop("pty") is False
    assert JobOptions() == JobOptions(**given)


@pytest.mark.covers("first-1")
def test_the_same_is_submitted(server: FakeServer) -> None:
    server.has(detail(over(Phase.SUCCEEDED), an_attempt()))
    words = ["run", "--", "sh", "-c", "echo --cpus 3", "--", "x"]
    told = rota(*words)
    by_declarations = command()(words, prog_name="rota", standalone_mode=False)
    assert (told.code, by_declarations) == (0, 0)
    shortly, declared = server.submitted
    assert shortly == declared


@pytest.mark.slow
def test_it_imports_no_declarations() -> None:
    program = (
        "import sys\n"
        "from rota.cli import main\n"
        "import rota.cli.job_options, rota.cli.jobs.run, rota.cli.jobs.following\n"
        "print(*sys.modules)"
    )
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert {"typer", "rota.cli.all_commands", "rota.cli.jobs.commands"}.isdisjoint(process.stdout.split())
