"""A controller's ledger: what it says again after its controller was killed, and what others read in it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rota.stateless_scheduler.client import Action, Ended, FilePart, Output, Piece, Placement, Refused
from tests.crash.jobs import Form
from tests.crash.ledger import (
    DiskLedger,
    Kept,
    LedgerReader,
    Left,
    NotTaken,
    Over,
    Placed,
    Runs,
    Waits,
    Wrote,
)

FORM = Form(seconds=1.0, cpu=2)
BUILD = Action("build", {"command": ["true"]}, submitted_ms=5)
PLACE = Placement("build", 7, "a", (1,))
END = Ended("build", 7, "succeeded", "exited", 0, None, "", 1, 2, 3, 4)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ledger = DiskLedger(tmp_path / "ledger.db")
    ledger.add(BUILD, FORM)
    return tmp_path / "ledger.db"


def tell(path: Path, *words: str) -> None:
    """By a controller that is killed right after."""
    program = (
        "import asyncio, os, signal, sys; from pathlib import Path\n"
        "from rota.stateless_scheduler.client import *; from tests.crash.ledger import DiskLedger\n"
        "ledger = DiskLedger(Path(sys.argv[1]))\n"
        "for word in sys.argv[2:]: asyncio.run(eval(word))\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, str(path), *words], cwd=Path(__file__).parents[2])


def say(*words: Coroutine[Any, Any, None]) -> None:
    for word in words:
        asyncio.run(word)


def test_a_new_action_waits(path: Path) -> None:
    assert list(DiskLedger(path).unfinished()) == [BUILD]
    assert (DiskLedger(path).count(), DiskLedger(path).count_unfinished()) == (1, 1)
    assert DiskLedger(path).latest(5) == [("build", FORM)]


def test_what_a_killed_one_was_told_is_there(path: Path) -> None:
    tell(path, "ledger.placed([Placement('build', 7, 'a', (1,))])", "ledger.output(Output('build', 7, 0, "
         "(Piece(0, False, b'one'), Piece(0, True, b'two'))))")  # fmt: skip
    [action] = DiskLedger(path).unfinished()
    assert (action.placement, action.output_bytes) == (PLACE, 6)
    tell(path, f"ledger.ended({END})")
    assert list(DiskLedger(path).unfinished()) == []
    words = [told.word for told in LedgerReader(path).told()]
    assert words == [Placed(7, "a"), Wrote(7, 0, b"onetwo"), Over(END)]


def test_output_of_another_start_counts_for_nothing(path: Path) -> None:
    ledger = DiskLedger(path)
    say(ledger.placed([PLACE]), ledger.output(Output("build", 6, 0, (Piece(0, False, b"old"),))))
    assert next(iter(ledger.unfinished())).output_bytes == 0


def test_one_that_waits_again_is_placed_nowhere(path: Path) -> None:
    ledger = DiskLedger(path)
    say(
        ledger.placed([PLACE]),
        ledger.output(Output("build", 7, 0, (Piece(0, False, b"old"),))),
        ledger.waiting(["build"], "lost"),
    )
    assert list(ledger.unfinished()) == [replace(BUILD, last_fence=7)]


def test_those_to_be_cancelled_are_remembered_until_they_are_over(path: Path) -> None:
    DiskLedger(path).cancel(["build"])
    ledger = DiskLedger(path)
    assert (ledger.cancelled(), LedgerReader(path).kept()) == (["build"], [Kept("build", FORM, True)])
    say(ledger.ended(END))
    assert ledger.cancelled() == []


def test_somebody_else_reads_what_is_new(path: Path) -> None:
    ledger, reader = DiskLedger(path), LedgerReader(path)
    say(ledger.waiting(["build"], "no room"), ledger.running("build", 7, 1))
    assert [told.word for told in reader.told()] == [Waits("no room"), Runs(7)]
    assert reader.told() == []
    say(
        ledger.file(FilePart("build", 7, "out", 0, b"x", True)),
        ledger.refused(Refused("build", "id", "no", "")),
    )
    assert [told.word for told in reader.told()] == [Left(7, "out", 0, b"x", True), NotTaken("id", "no")]
    assert reader.count_told() == 4
