"""What an agent says while it is connected: hello, heartbeats, and what it gives up after silence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rota.agent.attendance import News
from rota.agent.lease import LeaseHolder
from rota.agent.presence import Agent, Presence
from rota.agent.session import Session, rest_url
from rota.backends.backend import TaskRef
from rota.backends.process.lease import read_lease
from rota.clock import CLOCK
from rota.model.ids import JobId, NodeName
from rota.model.node import Node, NodeSpec
from rota.model.resources import Resources
from rota.wire import agents_pb2 as wire

WELCOME = wire.Welcome(
    session="secret", heartbeat_ms=5_000, lease_ms=54_000, grace_ms=10_000, rest_port=8426, rest_tls=True
)
REF = TaskRef(JobId("7"), 0, 1)


class Machine:
    def look(self) -> Node:
        return Node(NodeName("a"), NodeSpec(Resources(1000, 1 << 30)))


class Listener:
    def __init__(self) -> None:
        self.told: list[Any] = []

    async def has(self) -> Sequence[TaskRef]:
        return [REF]

    def begins(self, session: Session, kept: Sequence[TaskRef]) -> None:
        self.told.append(("begins", session.secret, list(kept)))

    def ordered(self, session: Session, order: wire.AgentOrders) -> None:
        self.told.append(("ordered", order.WhichOneof("order")))

    def ends(self, session: Session) -> None:
        self.told.append(("ends", session.is_open))


class Line:
    """One connection under a clock of the test's."""

    def __init__(self, folder: Path) -> None:
        self.clock_ms = 1_000_000
        self.lease = folder / "lease"
        self.listener = Listener()
        self.agent = Agent(NodeName("a"), "instance", Machine(), LeaseHolder(self.lease))
        self.presence = Presence(self.agent, "rota.example.org:8427", [REF], self.listener)

    def now_ms(self) -> int:
        return self.clock_ms + 10**12

    def since_boot_ms(self) -> int:
        return self.clock_ms

    def boot_id(self) -> str:
        return "this one"

    def welcome(self) -> None:
        self.presence.hello()
        self.presence.hears(wire.AgentOrders(welcome=WELCOME))

    def heartbeat(self, after_ms: int) -> wire.Heartbeat:
        self.clock_ms += after_ms
        said = self.presence.heartbeat_if_due()
        assert said is not None
        return said.heartbeat

    def acknowledge(self, number: int) -> None:
        self.presence.hears(wire.AgentOrders(acknowledged=wire.Acknowledged(number=number)))

    @property
    def leased_until_ms(self) -> int:
        return read_lease(self.lease).ends_ms


@pytest.fixture
def line(tmp_path: Path) -> Any:
    """Made under its own clock, which is that of the test as well."""
    clock: Any = Line.__new__(Line)
    clock.clock_ms = 1_000_000
    before = CLOCK.set(clock)
    try:
        clock.__init__(tmp_path)
        yield clock
    finally:
        CLOCK.reset(before)


def test_hello_says_who_it_is_and_what_it_has(line: Line) -> None:
    line.agent.message = "no disk"
    hello = line.presence.hello().hello
    assert (hello.name, hello.instance, hello.node.message) == ("a", "instance", "no disk")
    assert [(ref.job, ref.rank, ref.fence) for ref in hello.tasks] == [("7", 0, 1)]
    assert hello.clock_ms == line.now_ms()


def test_a_welcome_begins_a_session_and_a_heartbeat_follows_at_once(line: Line) -> None:
    line.welcome()
    assert line.listener.told == [("begins", "secret", [REF])]
    assert line.heartbeat(0).number == 1
    assert line.presence.wait_ms() == 5_000
    assert line.presence.heartbeat_if_due() is None, "nothing is due yet"
    assert line.heartbeat(5_000).number == 2
    assert line.heartbeat(5_000).number == 3


def test_before_it_is_welcome_it_says_nothing_more(line: Line) -> None:
    line.presence.hello()
    line.presence.hurry()
    assert line.presence.heartbeat_if_due() is None
    line.presence.hears(wire.AgentOrders(settle=wire.Settle()))
    assert line.listener.told == []


@pytest.mark.covers("agent-6")
def test_the_lease_counts_from_when_the_acknowledged_word_was_sent(line: Line) -> None:
    line.presence.hello()
    line.clock_ms += 700
    line.presence.hears(wire.AgentOrders(welcome=WELCOME))
    assert line.leased_until_ms == 1_000_000 + 54_000
    sent_ms = line.clock_ms
    line.heartbeat(0)
    line.clock_ms += 300
    line.acknowledge(1)
    assert line.leased_until_ms == sent_ms + 54_000
    line.clock_ms += 300
    line.acknowledge(1)
    line.acknowledge(7)
    assert line.leased_until_ms == sent_ms + 54_000, "neither a second time nor one never sent says anything"
    assert line.heartbeat(5_000).round_trip_ms == 300


def test_later_words_stand_for_those_before(line: Line) -> None:
    line.welcome()
    line.heartbeat(0)
    line.heartbeat(5_000)
    second_ms = line.clock_ms
    line.acknowledge(2)
    line.clock_ms += 1_000
    line.acknowledge(1)
    assert line.leased_until_ms == second_ms + 54_000


def test_orders_are_handed_on_until_the_connection_ends(line: Line) -> None:
    line.welcome()
    line.presence.hears(wire.AgentOrders(offer=wire.Offer()))
    line.presence.ends()
    assert line.listener.told[1:] == [("ordered", "offer"), ("ends", False)]


def test_a_server_that_says_nothing_is_given_up(line: Line) -> None:
    line.welcome()
    line.heartbeat(0)
    line.acknowledge(1)
    for _ in range(3):
        line.heartbeat(5_000)
    assert not line.presence.is_silent()
    line.clock_ms += 5_000
    assert line.presence.is_silent()


def test_one_that_never_welcomes_is_given_up(line: Line) -> None:
    line.presence.hello()
    line.clock_ms += 9_999
    assert not line.presence.is_silent()
    line.clock_ms += 1
    assert line.presence.is_silent()


def test_grpc_is_given_hello_other_news_and_heartbeats(line: Line) -> None:
    news = News(line.presence)
    said = iter(news)
    assert next(said).HasField("hello")
    line.presence.hears(wire.AgentOrders(welcome=WELCOME))
    settled = wire.AgentNews(settled=wire.Settled())
    news.say(settled)
    assert next(said) == settled
    assert next(said).heartbeat.number == 1
    news.hurry()
    assert next(said).heartbeat.number == 2


def test_after_silence_the_call_is_cut(line: Line) -> None:
    news, cut = News(line.presence), []
    news.on_silence = lambda: cut.append(True)
    said = iter(news)
    next(said)
    line.clock_ms += 10_000
    assert next(said, None) is None
    assert cut
    assert news.was_silent


def test_goodbye_ends_it_without_a_cut(line: Line) -> None:
    news = News(line.presence)
    said = iter(news)
    next(said)
    news.finish()
    assert next(said, None) is None
    assert not news.was_silent


@pytest.mark.parametrize(
    ("target", "host", "is_tls", "url"),
    [
        ("rota.example.org:8427", "", True, "https://rota.example.org:8426"),
        ("127.0.0.1:1", "", False, "http://127.0.0.1:8426"),
        ("[::1]:1", "", False, "http://[::1]:8426"),
        ("dns:///a:1", "", False, "http://a:8426"),
        ("unix:/run/rota/agents.sock", "127.0.0.1", True, "https://127.0.0.1:8426"),
    ],
)
def test_rest_is_on_the_host_that_was_dialled(target: str, host: str, is_tls: bool, url: str) -> None:
    assert rest_url(target, host, 8426, is_tls) == url
