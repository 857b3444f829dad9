"""Leases: what the keeper reads of them, and what it does when nobody renews them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.agent.lease import LeaseHolder
from rota.backends.process import lease as module
from rota.backends.process.lease import NEVER, Lease, LeaseWatch, read_lease, write_lease
from rota.clock import boot_id

HERE = boot_id()


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms = 1_000_000
        monkeypatch.setattr(module, "since_boot_ms", lambda: self.now_ms)
        monkeypatch.setattr("rota.agent.lease.since_boot_ms", lambda: self.now_ms)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    lease = Lease(3, 500, 100, HERE)
    write_lease(tmp_path / "lease", lease)
    assert read_lease(tmp_path / "lease") == lease
    assert lease.asks_ms == 400
    assert [path.name for path in tmp_path.iterdir()] == ["lease"]


def test_without_a_file_there_is_none(tmp_path: Path) -> None:
    assert read_lease(tmp_path / "lease") == NEVER
    (tmp_path / "lease").write_bytes(b"nonsense")
    assert read_lease(tmp_path / "lease") == NEVER


def test_one_of_before_the_machine_started_has_ended_but_its_number_counts(tmp_path: Path) -> None:
    write_lease(tmp_path / "lease", Lease(3, 2**40, 100, "another"))
    found = read_lease(tmp_path / "lease")
    assert (found.number, found.ends_ms) == (3, 0)


def test_it_is_looked_at_when_it_is_about_to_end(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "lease"
    write_lease(path, Lease(1, clock.now_ms + 500, 100, HERE))
    watch = LeaseWatch(path)
    assert not watch.has_ended()
    assert watch.due_ms == clock.now_ms + 400
    write_lease(path, Lease(1, clock.now_ms + 5_000, 100, HERE))
    clock.now_ms += 400
    assert not watch.has_ended()
    assert watch.due_ms == clock.now_ms + 1_000, "a machine that slept is to notice soon"
    clock.now_ms += 4_500
    assert watch.has_ended()


@pytest.mark.covers("agent-6")
def test_what_was_to_start_under_an_earlier_one_may_not(tmp_path: Path, clock: Clock) -> None:
    holder = LeaseHolder(tmp_path / "lease")
    first = holder.renew(clock.now_ms, 500, 100)
    watch = LeaseWatch(tmp_path / "lease")
    assert watch.covers(first)
    clock.now_ms += 300
    assert holder.renew(clock.now_ms, 500, 100) == first
    clock.now_ms += 450
    assert not watch.covers(first), "it may end at any moment"
    second = holder.renew(clock.now_ms, 500, 100)
    assert second > first
    assert watch.covers(second)
    assert not watch.covers(first)


def test_an_agent_that_starts_anew_goes_on_with_what_is_left(tmp_path: Path, clock: Clock) -> None:
    number = LeaseHolder(tmp_path / "lease").renew(clock.now_ms, 500, 100)
    clock.now_ms += 300
    assert LeaseHolder(tmp_path / "lease").renew(clock.now_ms, 500, 100) == number
    clock.now_ms += 10_000
    assert LeaseHolder(tmp_path / "lease").renew(clock.now_ms, 500, 100) == number + 1


def test_a_word_that_was_acknowledged_late_renews_from_when_it_was_sent(tmp_path: Path, clock: Clock) -> None:
    holder = LeaseHolder(tmp_path / "lease")
    holder.renew(clock.now_ms - 450, 500, 100)
    assert LeaseWatch(tmp_path / "lease").has_ended()
