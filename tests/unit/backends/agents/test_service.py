"""What the server asks of an agent before a task starts there."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rota.backends.agents.messages import INPUT
from rota.backends.agents.service import check_input
from rota.model.run import Run, Stdin
from tests.unit.backends.agents.test_backend import Bench, hello, start


@pytest.mark.covers("first-1")
class TestInput:
    @pytest.mark.parametrize("stdin", [Stdin.PIPE, Stdin.TERMINAL])
    def test_an_agent_of_before_gets_no_task_that_reads(
        self, stdin: Stdin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reads = replace(start("1"), run=Run(("cat",), stdin=stdin))
        bench = Bench(tmp_path, monkeypatch)
        greeting = hello()
        greeting.version = "0.6.0"
        session = bench.admit(greeting)
        with pytest.raises(
            ValueError, match=r"the agent of a \(Rota 0\.6\.0\) passes no input on; upgrade it"
        ):
            check_input(session, reads)
        check_input(session, start("2"))

    def test_one_that_can_gets_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        greeting = hello()
        greeting.features.append(INPUT)
        session = Bench(tmp_path, monkeypatch).admit(greeting)
        check_input(session, replace(start("1"), run=Run(("cat",), stdin=Stdin.PIPE)))
