"""Who gives way when all places are taken, and for whom some are kept."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

import pytest

from rota.server.http.limits import Limits, client_of
from rota.server.http.places import Place, Places, Rank, StreamPlaces
from rota.server.http.problems import ProblemError

pytestmark = pytest.mark.covers("trust-1")


class Room(Places):
    """Eight places for everybody, at most two unproven of an address, four of a user; three are kept."""

    def __init__(self, **limits: Any) -> None:
        super().__init__(Limits(**{"connections": 8, "connections_per_user": 4, **limits}))
        self.gone: list[str] = []

    def come(self, name: str, address: str = "") -> Place:
        place = self.enter(address or name, lambda: self.gone.append(name))
        assert place is not None
        return place

    def user(self, name: str, *, is_idle: bool = False) -> Place:
        place = self.come(name)
        place.proved(name, Rank.USER)
        if is_idle:
            place.idle()
        return place


def test_of_one_address_the_oldest_who_proved_nothing_gives_way() -> None:
    room = Room()
    for number in range(5):
        room.come(f"a{number}", "a")
    assert room.gone == ["a0", "a1", "a2"]
    room.come("b")
    assert room.gone == ["a0", "a1", "a2"]


def test_a_trusted_proxy_may_bring_many() -> None:
    room = Room(proxies=(ip_network("10.0.0.0/8"),))
    for number in range(8):
        room.come(f"a{number}", "10.1.2.3")
    assert room.gone == []
    room.come("b", "192.0.2.1")
    assert room.gone == ["a0"]


def test_when_all_is_taken_the_most_crowded_address_gives_way() -> None:
    room = Room()
    for name in ("a", "b"):
        for number in range(2):
            room.come(f"{name}{number}", name)
    room.user("u"), room.user("v"), room.user("w")
    room.come("b-too", "c")
    room.come("new")
    assert room.gone == ["a0"]


def test_those_who_ask_for_nothing_give_way_before_those_who_do() -> None:
    room = Room()
    busy = [room.user(name) for name in "abcdefg"]
    idle = room.user("h", is_idle=True)
    room.user("new")
    assert room.gone == ["h"]
    idle.leave()
    busy[0].idle()
    busy[0].busy()
    with pytest.raises(ProblemError, match="connections already"):
        room.user("another")


def test_places_are_kept_for_agents_and_operators() -> None:
    room = Room()
    for name in "abcdefgh":
        room.user(name)
    late = room.come("late")
    with pytest.raises(ProblemError) as refused:
        late.proved("late", Rank.USER)
    assert refused.value.status == 503
    late.leave()
    room.come("agent").proved("agent one", Rank.AGENT)
    second = room.come("agent")
    with pytest.raises(ProblemError):
        second.proved("agent two", Rank.AGENT)
    second.leave()
    room.come("operator").proved("operator", Rank.OPERATOR)
    room.come("operator").proved("operator", Rank.OPERATOR)
    assert room.enter("anybody", lambda: None) is None
    assert room.gone == []


def test_a_user_has_so_many_and_an_operator_as_many_as_there_are() -> None:
    room = Room()
    for _ in range(4):
        room.user("ada")
    with pytest.raises(ProblemError) as refused:
        room.user("ada")
    assert refused.value.status == 429
    boss = Room()
    for _ in range(6):
        boss.come("boss").proved("boss", Rank.OPERATOR)
    assert len(boss) == 6


def test_those_who_left_are_forgotten() -> None:
    room = Room()
    for _ in range(100):
        place = room.user("ada", is_idle=True)
        place.leave()
        place.leave()
        place.idle()
    assert (len(room), room._idle, room._known, room._unproven) == (0, {}, {}, {})


def test_streams_of_a_token_of_a_user_and_of_all() -> None:
    streams = StreamPlaces(Limits(connections=10, streams_per_user=4))
    first = [streams.take("t1", "ada", is_kept=False) for _ in range(2)]
    with pytest.raises(ProblemError, match="this token follows 2"):
        streams.take("t1", "ada", is_kept=False)
    for _ in range(2):
        streams.take("t2", "ada", is_kept=False)
    with pytest.raises(ProblemError, match="you follow 4"):
        streams.take("t3", "ada", is_kept=False)
    for _ in range(2):
        streams.take("t4", "bob", is_kept=False)
    with pytest.raises(ProblemError, match="the server sends 6"):
        streams.take("t5", "eve", is_kept=False)
    streams.take("t6", "boss", is_kept=True)
    for give_back in first:
        give_back()
    streams.take("t5", "eve", is_kept=False)


@pytest.mark.parametrize(
    ("peer", "said", "client"),
    [
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "made-up, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.3", "10.0.0.3"),
    ],
)
def test_whom_a_proxy_speaks_for(peer: str, said: str, client: str) -> None:
    scope: Any = {"client": (peer, 1), "headers": [(b"x-forwarded-for", said.encode())]}
    assert client_of(scope, (ip_network("10.0.0.0/8"),)) == client
