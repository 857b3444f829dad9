"""What shells offer while one types."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

import rota as package
from rota.cli.client import known_names as completion
from rota.lifecycle.state import Phase
from rota.sdk.errors import Unreachable
from tests.unit.cli.documents import a_job, a_node, a_queue, over, running
from tests.unit.cli.fake_server import FakeServer


def test_unfinished_jobs_with_their_names(server: FakeServer) -> None:
    server.has(running("18"), a_job("17"), over(Phase.FAILED, "16"))
    assert completion.unfinished_jobs(None, 5, 10) == [("18", "running: train"), ("17", "waiting: train")]


def test_no_more_than_one_reads(server: FakeServer) -> None:
    server.has(*(a_job(str(number)) for number in range(20)))
    assert len(completion.unfinished_jobs(None, 5, 10)) == 10


def test_nodes_and_queues(server: FakeServer) -> None:
    server.node_list, server.queue_list = [a_node("n1")], [a_queue("gpu")]
    assert (completion.nodes(None, 5), completion.queues(None, 5)) == (["n1"], ["gpu"])


def test_silent_where_there_is_no_server(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable() -> None:
        raise Unreachable("nobody there")

    monkeypatch.setattr(server, "nodes", unreachable)
    assert completion.nodes(None, 5) == []


def test_silent_where_it_takes_long(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = Event()
    monkeypatch.setattr(server, "nodes", lambda: answered.wait(60) and [])
    assert completion.nodes(None, 0.01) == []
    answered.set()


@pytest.mark.slow
@pytest.mark.parametrize("words", ["rota show ", "rota nodes cordon ", "rota logs -f 1"])
def test_the_shell_gets_nothing_and_no_error(words: str, tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "rota"],
        env={
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(package.__file__).parents[1]),
            "_ROTA_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) if words.endswith(" ") else len(words.split()) - 1),
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (process.stdout.strip(), process.stderr) == ("", "")
