"""What an agent says while it is connected: hello, heartbeats, and what it gives up after silence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rota.agent import attendance as module
from rota.agent.attendance import _News
from rota.agent.session import rest_url
from rota.wire import agents_pb2 as wire

HELLO = wire.AgentNews(hello=wire.Hello(name="a"))


class Line:
    """One connection under a clock of the test's. Waiting for news takes no time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms = 1_000_000
        monkeypatch.setattr(module, "since_boot_ms", lambda: self.now_ms)
        self.news = _News(HELLO, self._heartbeat)
        self.cut = False
        self.news.on_silence = self._cut
        self.said: Iterator[wire.AgentNews] = iter(self.news)

    def _heartbeat(self, number: int, round_trip_ms: int) -> wire.AgentNews:
        return wire.AgentNews(heartbeat=wire.Heartbeat(number=number, round_trip_ms=round_trip_ms))

    def _cut(self) -> None:
        self.cut = True

    def heartbeat(self, after_ms: int) -> wire.Heartbeat:
        self.now_ms += after_ms
        return next(self.said).heartbeat


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    return Line(monkeypatch)


def test_hello_then_a_heartbeat_at_once_then_one_after_the_other(line: Line) -> None:
    assert next(line.said) == HELLO
    line.news.welcomed(5_000)
    assert line.heartbeat(0).number == 1
    assert line.heartbeat(5_000).number == 2
    assert line.heartbeat(5_000).number == 3


def test_the_lease_counts_from_when_the_acknowledged_word_was_sent(line: Line) -> None:
    next(line.said)
    line.news.welcomed(5_000)
    sent_ms = line.now_ms
    line.heartbeat(0)
    line.now_ms += 300
    assert line.news.acknowledged(1) == sent_ms
    assert line.news.acknowledged(1) is None, "a second time says nothing new"
    assert line.news.acknowledged(7) is None, "one that was never sent neither"
    assert line.heartbeat(5_000).round_trip_ms == 300


def test_later_words_stand_for_those_before(line: Line) -> None:
    next(line.said)
    line.news.welcomed(5_000)
    line.heartbeat(0)
    line.heartbeat(5_000)
    second_ms = line.now_ms
    assert line.news.acknowledged(2) == second_ms
    assert line.news.acknowledged(1) is None


def test_other_news_goes_before_the_next_heartbeat(line: Line) -> None:
    next(line.said)
    line.news.welcomed(5_000)
    line.heartbeat(0)
    settled = wire.AgentNews(settled=wire.Settled())
    line.news.say(settled)
    assert next(line.said) == settled


def test_a_server_that_says_nothing_is_given_up(line: Line) -> None:
    next(line.said)
    line.news.welcomed(5_000)
    line.heartbeat(0)
    line.news.acknowledged(1)
    for _ in range(3):
        line.heartbeat(5_000)
    line.now_ms += 5_000
    assert next(line.said, None) is None
    assert line.cut
    assert line.news.was_silent


def test_one_that_never_welcomes_is_given_up(line: Line) -> None:
    next(line.said)
    line.now_ms += 10_000
    assert next(line.said, None) is None
    assert line.cut


def test_goodbye_ends_it_without_a_cut(line: Line) -> None:
    next(line.said)
    line.news.welcomed(5_000)
    line.heartbeat(0)
    line.news.finish()
    assert next(line.said, None) is None
    assert not line.cut


@pytest.mark.parametrize(
    ("target", "is_tls", "url"),
    [
        ("rota.example.org:8427", True, "https://rota.example.org:8426"),
        ("127.0.0.1:1", False, "http://127.0.0.1:8426"),
        ("[::1]:1", False, "http://[::1]:8426"),
        ("dns:///a:1", False, "http://a:8426"),
    ],
)
def test_rest_is_on_the_host_that_was_dialled(target: str, is_tls: bool, url: str) -> None:
    assert rest_url(target, 8426, is_tls) == url
