"""`rota run` at a terminal: Ctrl-C asks what is meant."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect

from rota.lifecycle.state import Phase
from tests.real.server.rota_server import PATIENCE_S, RotaServer, shell


@contextmanager
def at_terminal(server: RotaServer, *words: str) -> Iterator[pexpect.spawn[str]]:
    terminal: pexpect.spawn[str] = pexpect.spawn(
        sys.executable,
        ["-m", "rota", *words],
        env=server.environment,
        cwd=str(server.home),
        encoding="utf-8",
        timeout=int(PATIENCE_S),
        dimensions=(30, 120),
    )
    try:
        yield terminal
    finally:
        terminal.close(force=True)


def _ends_with(terminal: pexpect.spawn[str], status: int) -> None:
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == status


def _job_of(terminal: pexpect.spawn[str]) -> str:
    terminal.expect(r"job (\d+) \(")
    assert isinstance(terminal.match, re.Match)
    return str(terminal.match[1])


def test_who_detaches_leaves_the_job_alone(server: RotaServer) -> None:
    with at_terminal(server, "run", "--time", "1m", "--", "sh", "-c", "echo begun; sleep 60") as terminal:
        job = _job_of(terminal)
        terminal.expect("begun")
        terminal.sendintr()
        terminal.expect("detach")
        terminal.sendline("d")
        terminal.expect(f"rota logs -f {job}")
        _ends_with(terminal, 0)
    assert server.client.job(job).job.phase is Phase.RUNNING


def test_who_cancels_ends_it(server: RotaServer) -> None:
    with at_terminal(server, "run", "--time", "1m", "--", "sh", "-c", "echo begun; sleep 60") as terminal:
        job = _job_of(terminal)
        terminal.expect("begun")
        terminal.sendintr()
        terminal.expect("cancel")
        terminal.sendline("c")
        _ends_with(terminal, 125)
    assert server.over(job).phase is Phase.CANCELLED


def test_watch_shows_jobs_until_all_are_done(server: RotaServer, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    server.submit(shell(f"while [ ! -e {seen} ]; do sleep 0.02; done", name="watched"))
    with at_terminal(server, "watch", "--until-done") as terminal:
        terminal.expect("watched")
        seen.touch()
        _ends_with(terminal, 0)
