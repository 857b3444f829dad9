"""What only a terminal can show: questions, keys, lines that are drawn anew."""

from __future__ import annotations

import sys
from pathlib import Path

import pexpect
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[4]


def start(scene: str, *arguments: str, columns: int = 80) -> pexpect.spawn[str]:
    return pexpect.spawn(
        sys.executable,
        ["-m", "tests.unit.cli.on_terminal", scene, *arguments],
        cwd=str(ROOT),
        dimensions=(24, columns),
        encoding="utf-8",
        timeout=30,
    )


class TestRun:
    def test_counts_down_while_it_waits(self) -> None:
        shell = start("waits", "run", "--", "x", columns=120)
        shell.expect("job 17 waiting; 3 jobs ahead; expected about")
        shell.sendintr()
        shell.expect("detach and let it run")
        shell.send("d\n")
        shell.expect(r"exit 0, asked \[\]")

    def test_a_second_ctrl_c_cancels(self) -> None:
        shell = start("runs", "run", "--", "x")
        shell.expect("first line")
        shell.sendintr()
        shell.expect("detach and let it run")
        shell.sendintr()
        shell.expect(r"exit 125, asked \['cancel'\]")

    def test_whoever_goes_on_watching_misses_nothing(self) -> None:
        shell = start("runs", "run", "--", "x")
        shell.expect("first line")
        shell.sendintr()
        shell.expect("detach and let it run")
        shell.send("\n")
        shell.expect("following job 17 again")
        shell.sendintr()
        shell.expect("detach and let it run")
        shell.send("c\n")
        shell.expect(r"exit 125, asked \['cancel'\]")
        assert "first line" not in (shell.before or "")


@pytest.mark.parametrize("command", ["watch", "top"])
@pytest.mark.parametrize("columns", [80, 200])
def test_q_ends_what_is_drawn_anew(command: str, columns: int) -> None:
    shell = start("runs", command, columns=columns)
    shell.expect("running|RUNNING")
    shell.send("q")
    shell.expect(r"exit 0, asked \[\]")


def test_ctrl_c_too() -> None:
    shell = start("runs", "watch")
    shell.expect("q quits")
    shell.sendintr()
    shell.expect(r"exit 0, asked \[\]")
