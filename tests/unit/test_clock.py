"""Time goes on as it does, whatever is done to the machine's clock."""

from __future__ import annotations

import pytest

from rota.clock import BELIEVED_AFTER_MS, SMALL_MS, SteadyTime

pytestmark = pytest.mark.covers("trust-5")

START_MS = 1_700_000_000_000
DAY_MS = 86_400_000


class Machine:
    def __init__(self) -> None:
        self.boot_ms = 5_000
        self.wall_ms = START_MS
        self.time = SteadyTime(lambda: self.wall_ms, lambda: self.boot_ms)

    def passes(self, ms: int, step_ms: int = 500) -> int:
        """Looked at twice a second, as it would be. What time it is then, since the beginning."""
        before_ms = now_ms = self.time.now_ms()
        for _ in range(0, ms, step_ms):
            self.boot_ms += step_ms
            self.wall_ms += step_ms
            now_ms = self.time.now_ms()
            assert now_ms >= before_ms
            before_ms = now_ms
        return now_ms - START_MS

    def is_set(self, by_ms: int) -> None:
        self.wall_ms += by_ms


@pytest.mark.parametrize("by_ms", [DAY_MS, -DAY_MS, SMALL_MS + 1000])
def test_a_jump_for_seconds_is_none(by_ms: int) -> None:
    machine = Machine()
    machine.passes(1000)
    machine.is_set(by_ms)
    assert machine.passes(3000) == 4000
    assert machine.time.off_ms() == by_ms
    machine.is_set(-by_ms)
    assert machine.passes(1000) == 5000
    assert machine.time.off_ms() == 0


def test_jumps_again_and_again_are_none() -> None:
    machine = Machine()
    for turn in range(1, 200):
        machine.is_set(DAY_MS if turn % 2 else -DAY_MS)
        assert machine.passes(2000) == turn * 2000


def test_a_jump_ahead_that_stays_is_made() -> None:
    machine = Machine()
    machine.is_set(DAY_MS)
    assert machine.passes(BELIEVED_AFTER_MS - 1000) == BELIEVED_AFTER_MS - 1000
    assert machine.passes(2000) == BELIEVED_AFTER_MS + 1000 + DAY_MS
    assert machine.time.off_ms() == 0


def test_after_a_jump_back_that_stays_time_is_slower_and_never_stands_still() -> None:
    machine = Machine()
    machine.is_set(-60_000)
    machine.passes(BELIEVED_AFTER_MS)
    before_ms = machine.time.now_ms()
    machine.passes(10_000)
    assert machine.time.now_ms() - before_ms == pytest.approx(5_000, abs=500)
    machine.passes(2 * 60_000)
    assert machine.time.now_ms() == machine.wall_ms
    assert machine.time.off_ms() == 0


def test_time_is_as_slow_however_often_somebody_looks() -> None:
    machine = Machine()
    machine.is_set(-2000)
    before_ms = machine.time.now_ms()
    machine.passes(1000, step_ms=1)
    assert machine.time.now_ms() - before_ms == pytest.approx(500, abs=5)


@pytest.mark.parametrize("by_ms", [1000, SMALL_MS])
def test_small_steps_ahead_are_followed_at_once(by_ms: int) -> None:
    machine = Machine()
    machine.is_set(by_ms)
    assert machine.passes(500) == 500 + by_ms


def test_a_machine_that_slept_has_aged() -> None:
    machine = Machine()
    machine.boot_ms += DAY_MS
    machine.wall_ms += DAY_MS
    assert machine.passes(500) == DAY_MS + 500


def test_a_clock_that_is_set_in_several_steps_is_believed_once_it_stands() -> None:
    machine = Machine()
    for _ in range(3):
        machine.is_set(DAY_MS)
        machine.passes(BELIEVED_AFTER_MS // 2)
    assert machine.time.now_ms() < START_MS + DAY_MS
    machine.passes(BELIEVED_AFTER_MS)
    assert machine.time.now_ms() == machine.wall_ms
