"""Reports that may wait for others do, but not for long, and not when one that may not comes after them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.backends.backend import TaskEnded, TaskRef, TaskStart, TaskStarted
from rota.backends.process.keeper import outbox as module
from rota.backends.process.keeper.ledger import Ledger
from rota.backends.process.keeper.outbox import HOLD_MS, Outbox
from rota.backends.process.keeper.recovery.journal import Journal
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import JobId, NodeName
from rota.model.run import Run

SUCCESS = TaskEnd(EndReason.EXITED, exit_code=0)


class Clock:
    def __init__(self) -> None:
        self.now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "since_boot_ms", clock)
    return clock


def ref(index: int) -> TaskRef:
    return TaskRef(JobId(f"7.{index}"), 0, 1)


def report(index: int) -> TaskStarted:
    return TaskStarted(ref(index), 0)


class TestOutbox:
    def test_is_empty_at_first(self, clock: Clock) -> None:
        outbox = Outbox()
        assert outbox.due_ms is None
        assert outbox.take_due() == []

    def test_what_may_not_wait_goes_at_once(self, clock: Clock) -> None:
        outbox = Outbox()
        outbox.add(report(1), may_wait=False)
        assert outbox.take_due() == [report(1)]
        assert outbox.due_ms is None

    def test_what_may_wait_goes_with_those_that_come_meanwhile(self, clock: Clock) -> None:
        outbox = Outbox()
        outbox.add(report(1), may_wait=True)
        clock.now_ms += HOLD_MS - 1
        outbox.add(report(2), may_wait=True)
        assert outbox.take_due() == []
        assert outbox.due_ms == clock.now_ms + 1
        clock.now_ms += 1
        assert outbox.take_due() == [report(1), report(2)]

    def test_what_may_not_wait_takes_the_others_along_in_their_order(self, clock: Clock) -> None:
        outbox = Outbox()
        outbox.add(report(1), may_wait=True)
        outbox.add(report(2), may_wait=False)
        outbox.add(report(3), may_wait=True)
        assert outbox.take_due() == [report(1), report(2), report(3)]

    def test_all_can_be_had_before_they_are_due(self, clock: Clock) -> None:
        outbox = Outbox()
        outbox.add(report(1), may_wait=True)
        assert outbox.take_all() == [report(1)]
        assert outbox.due_ms is None


class TestLedger:
    """Whose reports may wait."""

    def test_an_end_waits_while_others_of_its_lane_stand_by(self, clock: Clock, tmp_path: Path) -> None:
        ledger = Ledger(Journal(tmp_path / "journal", ()))
        for index in range(3):
            ledger.told(start(index, lane="7", standby=index > 0))
        self.end(ledger, 0)
        assert ledger.outbox.take_due() == []
        self.end(ledger, 1)
        ended = [one.ref for one in ledger.outbox.take_due() if isinstance(one, TaskEnded)]
        assert ended == [ref(0), ref(1)], "nobody stands by any more, so the server is waited for"

    def test_the_end_of_a_job_by_itself_never_waits(self, clock: Clock, tmp_path: Path) -> None:
        ledger = Ledger(Journal(tmp_path / "journal", ()))
        ledger.told(start(0))
        ledger.told(start(1))
        self.end(ledger, 0)
        assert len(ledger.outbox.take_due()) == 1

    def end(self, ledger: Ledger, index: int) -> None:
        task = ledger.get(ref(index))
        assert task is not None
        ledger.over(task, SUCCESS)


def start(index: int, lane: str = "", standby: bool = False) -> TaskStart:
    return TaskStart(ref(index), NodeName("n1"), Run(("true",)), lane=lane, standby=standby)
