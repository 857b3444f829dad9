"""`rota run` at a terminal: Ctrl-C asks what is meant."""

from __future__ import annotations

from pathlib import Path

from rota.lifecycle.state import Phase
from tests.real.server.rota_server import RotaServer, shell
from tests.real.server.terminals import at_terminal, ends_with, job_of


def test_who_detaches_leaves_the_job_alone(server: RotaServer) -> None:
    with at_terminal(server, "run", "--time", "1m", "--", "sh", "-c", "echo begun; sleep 60") as terminal:
        job = job_of(terminal)
        terminal.expect("begun")
        terminal.sendintr()
        terminal.expect("detach")
        terminal.sendline("d")
        terminal.expect(f"rota logs -f {job}")
        ends_with(terminal, 0)
    assert server.client.job(job).job.phase is Phase.RUNNING


def test_who_cancels_ends_it(server: RotaServer) -> None:
    with at_terminal(server, "run", "--time", "1m", "--", "sh", "-c", "echo begun; sleep 60") as terminal:
        job = job_of(terminal)
        terminal.expect("begun")
        terminal.sendintr()
        terminal.expect("cancel")
        terminal.sendline("c")
        ends_with(terminal, 125)
    assert server.over(job).phase is Phase.CANCELLED


def test_watch_shows_jobs_until_all_are_done(server: RotaServer, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    server.submit(shell(f"while [ ! -e {seen} ]; do sleep 0.02; done", name="watched"))
    with at_terminal(server, "watch", "--until-done") as terminal:
        terminal.expect("watched")
        seen.touch()
        ends_with(terminal, 0)
