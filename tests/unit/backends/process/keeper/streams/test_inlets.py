"""What tasks read, and when nobody sends it any more."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from rota.backends.backend import Fed, InputPiece, TaskRef, TaskStart
from rota.backends.process.keeper.streams import inlets as module
from rota.backends.process.keeper.streams.inlets import MOST_WAITING_BYTES, SILENT_MS, Inlets
from rota.backends.process.keeper.task import KeptTask
from rota.backends.process.keeper.watch import Watch
from rota.model.ids import JobId, NodeName
from rota.model.run import Run, Stdin

REF = TaskRef(JobId("1"), 0, 1)


class Desk:
    """A task with a pipe, or a terminal, and a clock that stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, terminal: bool = False) -> None:
        self.now_ms = 1_000_000
        monkeypatch.setattr(module, "since_boot_ms", lambda: self.now_ms)
        self.over: list[TaskRef] = []
        self.hung_up: list[TaskRef] = []
        self.answers: list[Fed] = []
        self.watch = Watch()
        self.inlets = Inlets(
            self.watch, lambda task: self.over.append(task.ref), lambda task: self.hung_up.append(task.ref)
        )
        stdin = Stdin.TERMINAL if terminal else Stdin.PIPE
        self.task = KeptTask(TaskStart(REF, NodeName("n"), Run(("cat",), stdin=stdin)))
        slave: int | None = None
        if terminal:
            writing, slave = os.openpty()
            self.reading = os.dup(slave)
        else:
            self.reading, writing = os.pipe()
        for fd in (self.reading, writing):
            os.set_blocking(fd, False)
        self.inlets.open(self.task, writing, slave)

    def feed(self, offset: int, data: bytes = b"", *, ends: bool = False) -> None:
        self.inlets.feed(REF, InputPiece(offset, data, ends), self.answers.append)

    def passes(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        self.inlets.do_what_is_due()

    def read(self) -> bytes:
        return os.read(self.reading, 1 << 20)

    def close(self) -> None:
        self.inlets.close(self.task)
        os.close(self.reading)
        self.watch.close()


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    made = Desk(monkeypatch)
    yield made
    made.close()


@pytest.fixture
def at_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    made = Desk(monkeypatch, terminal=True)
    yield made
    made.close()


@pytest.mark.covers("first-1")
class TestSilence:
    def test_input_ends_when_nothing_was_heard_for_long(self, desk: Desk) -> None:
        desk.feed(0, b"half")
        assert desk.inlets.next_due_ms() == desk.now_ms + SILENT_MS
        desk.passes(SILENT_MS - 1)
        assert desk.over == []
        desk.passes(1)
        assert desk.over == [REF]
        assert desk.read() == b"half"
        assert desk.read() == b""
        assert desk.inlets.next_due_ms() is None

    def test_who_says_that_it_is_there_is_waited_for(self, desk: Desk) -> None:
        for _ in range(3):
            desk.passes(SILENT_MS - 1)
            desk.feed(0)
        assert desk.over == []
        assert desk.answers == [Fed(0)] * 3

    def test_who_comes_too_late_is_told(self, desk: Desk) -> None:
        desk.passes(SILENT_MS)
        desk.feed(0, b"late")
        assert desk.answers == [Fed(0, is_open=False)]

    def test_a_terminal_is_hung_up(self, at_terminal: Desk) -> None:
        at_terminal.passes(SILENT_MS)
        assert at_terminal.hung_up == [REF]

    def test_a_pipe_is_not(self, desk: Desk) -> None:
        desk.passes(SILENT_MS)
        assert desk.hung_up == []


@pytest.mark.covers("first-1")
class TestTaking:
    def test_a_piece_that_comes_again_counts_once(self, desk: Desk) -> None:
        for _ in range(2):
            desk.feed(0, b"once")
        assert desk.read() == b"once"
        assert desk.answers == [Fed(4), Fed(4)]

    def test_one_from_beyond_is_told_where_this_one_is(self, desk: Desk) -> None:
        desk.feed(7, b"later")
        assert desk.answers == [Fed(0)]

    def test_there_is_an_end_to_what_waits(self, desk: Desk) -> None:
        desk.feed(0, b"x" * (2 * MOST_WAITING_BYTES))
        desk.feed(2 * MOST_WAITING_BYTES, b"y")
        assert desk.answers == [Fed(2 * MOST_WAITING_BYTES)]
        while len(desk.answers) < 2:
            desk.read()
            desk.watch.wait(0)
        assert desk.answers[-1] == Fed(2 * MOST_WAITING_BYTES + 1)

    def test_who_reads_no_more_is_told_of(self, desk: Desk) -> None:
        os.close(desk.reading)
        desk.feed(0, b"nobody")
        assert desk.over == [REF]
        assert desk.answers == [Fed(6, is_open=False)]
        desk.reading = os.open(os.devnull, os.O_RDONLY)

    def test_a_task_that_is_gone_takes_nothing(self, desk: Desk) -> None:
        desk.inlets.close(desk.task)
        desk.feed(0, b"late")
        assert desk.answers == [Fed(0, is_open=False)]
