"""Tasks see for themselves what was given away twice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rota.backends.backend import TaskRef
from rota.model.ids import JobId
from tests.crash.diary import CPUS, Diary, Word
from tests.crash.jobs import Form
from tests.crash.task import LEFT, left_by, text_of

PATIENCE_S = 30.0
LONG_S = 60.0


class Ground:
    """What nodes share, and tasks that run on them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.diary = Diary(folder, ["a", "b"])
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, form: Form, ref: str, node: str = "a", attempt: int = 1) -> subprocess.Popen[bytes]:
        environment = {"ROTA_TASK_REF": f"k/{ref}", "ROTA_NODE": node, "ROTA_ATTEMPT": str(attempt)}
        command = form.document(self.folder, "")["command"]
        process = subprocess.Popen(command, env=environment)
        self._running.append(process)
        return process

    def words(self, ref: str) -> list[Word]:
        self.diary.read()
        job, rank, fence = ref.split("/")
        wanted = TaskRef(JobId(job), int(rank), int(fence))
        return [entry.word for entry in self.diary.entries if entry.ref == wanted]

    def until(self, ref: str, holds: Callable[[list[Word]], bool]) -> list[Word]:
        deadline_s = time.monotonic() + PATIENCE_S
        while not holds(words := self.words(ref)):
            assert time.monotonic() < deadline_s, words
            time.sleep(0.01)
        return words

    def run(self, form: Form, ref: str, node: str = "a", attempt: int = 1) -> list[Word]:
        self.start(form, ref, node, attempt).wait(PATIENCE_S)
        return self.words(ref)

    def occupy(self, form: Form, ref: str, node: str = "a") -> subprocess.Popen[bytes]:
        """It has all its locks when this returns."""
        process = self.start(form, ref, node)
        self.until(ref, bool)
        deadline_s = time.monotonic() + PATIENCE_S
        while _locks(process.pid) < _wanted(form):
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        return process

    def end(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()


def _locks(pid: int) -> int:
    return sum(f" {pid} " in line for line in Path("/proc/locks").read_text().splitlines())


def _wanted(form: Form) -> int:
    return 2 + form.cpu + form.memory + form.port


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    made = Ground(tmp_path / "ground")
    yield made
    made.end()


def test_one_that_is_alone(ground: Ground) -> None:
    form = Form(seconds=0, cpu=CPUS, memory=2, fails=1, port=True, exclusive=True)
    assert ground.run(form, "1/0/1") == [Word.START, Word.FAILED]
    assert ground.run(form, "1/0/2", attempt=2) == [Word.START, Word.ENDED]


def test_what_it_writes_and_leaves_is_known(ground: Ground, tmp_path: Path) -> None:
    command = Form(seconds=0.1, lines=250, leaves=True).action(ground.folder)["command"]
    environment = {"ROTA_TASK_REF": "k/1/0/7", "ROTA_NODE": "a", "ROTA_ATTEMPT": "1"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S)
    assert done.stdout == text_of(7, 250)
    assert (tmp_path / LEFT).read_bytes() == left_by(7)
    assert text_of(7, 250) != text_of(8, 250)


def test_two_of_the_same_rank_at_once(ground: Ground) -> None:
    first = ground.occupy(Form(seconds=LONG_S), "1/0/1")
    assert Word.TWICE in ground.run(Form(seconds=0), "1/0/2", node="b")
    assert Word.TWICE not in ground.run(Form(seconds=0), "1/1/3", node="b")
    first.kill()
    first.wait()
    assert Word.TWICE not in ground.run(Form(seconds=0), "1/0/4", node="b")


def test_one_that_left_something_behind_is_still_alive(ground: Ground) -> None:
    first = ground.start(Form(seconds=0, brood=True), "1/0/1")
    first.wait()
    child = _left_behind("k/1/0/1")
    try:
        assert Word.TWICE in ground.run(Form(seconds=0), "1/0/2")
    finally:
        os.kill(child, signal.SIGKILL)


def _left_behind(mark: str) -> int:
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"ROTA_TASK_REF={mark}".encode() in path.read_bytes().split(b"\0"):
                return int(path.parent.name)
        except OSError:
            continue
    raise AssertionError("nothing was left behind")


@pytest.mark.parametrize(
    ("there", "comes", "word"),
    [
        (Form(seconds=LONG_S, cpu=3), Form(seconds=0, cpu=2), Word.CPU),
        (Form(seconds=LONG_S, memory=4), Form(seconds=0, memory=3), Word.MEMORY),
        (Form(seconds=LONG_S, port=True), Form(seconds=0, port=True), Word.PORT),
        (Form(seconds=LONG_S), Form(seconds=0, exclusive=True), Word.EXCLUSIVE),
        (Form(seconds=LONG_S, exclusive=True), Form(seconds=0), Word.EXCLUSIVE),
    ],
)
def test_too_much_on_one_node(ground: Ground, there: Form, comes: Form, word: Word) -> None:
    ground.occupy(there, "1/0/1")
    assert ground.run(comes, "2/0/1") == [Word.START, word, Word.ENDED]
    assert ground.run(comes, "3/0/1", node="b") == [Word.START, Word.ENDED]


def test_as_much_as_there_is(ground: Ground) -> None:
    ground.occupy(Form(seconds=LONG_S, cpu=2, memory=3), "1/0/1")
    assert ground.run(Form(seconds=0, cpu=2, memory=3), "2/0/1") == [Word.START, Word.ENDED]
