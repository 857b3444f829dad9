"""Limits connections, and decides which one is closed when all are in use.

Those who have proved nothing give way first, the oldest of the most crowded address; then those who have
proved who they are and ask for nothing. Beyond the places that everybody may have, some are kept for agents
and operators: whoever comes in there and turns out to be somebody else is sent away.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum, auto
from http import HTTPStatus

from rota.server.http.limits import Limits, is_proxy
from rota.server.http.problems import ProblemError

PLACE = "place"
"""In the scope's state: that of the request's connection. Put there by `connections.py`."""
_SPARE_SHARE = 4
"""One in this many, on top of those for all clients, is reserved for agents and operators."""
_ADDRESS_SHARE = 4
"""One address may hold one in this many of the places of unauthenticated clients."""
_Crowd = dict[str, dict["Place", None]]
"""Places by their owner, the oldest first."""


class Rank(IntEnum):
    """Classes of clients: each may use the places of the ones before it, and some more."""

    USER = auto()
    AGENT = auto()
    OPERATOR = auto()


class Place:
    """The place of one connection. The client is unauthenticated at first."""

    def __init__(self, places: Places, address: str, give_way: Callable[[], None]) -> None:
        self._places = places
        self.address = address
        self.give_way = give_way
        """Closes the connection."""
        self.owner = ""
        """A user or an agent; empty: unknown."""

    def proved(self, owner: str, rank: Rank) -> None:
        """A request showed who it is: raises a problem where they may not stay."""
        self._places.know(self, owner, rank)

    def busy(self) -> None:
        self._places.wake(self)

    def idle(self) -> None:
        """Answered, and nothing asked since."""
        self._places.rest(self)

    def leave(self) -> None:
        self._places.leave(self)


class Places:
    def __init__(self, limits: Limits) -> None:
        spare = max(len(Rank), limits.connections // _SPARE_SHARE)
        self._most = {
            Rank.USER: limits.connections,
            Rank.AGENT: limits.connections + spare // 2,
            Rank.OPERATOR: limits.connections + spare,
        }
        self._most_of_a_user = limits.connections_per_user
        self._most_unproven = max(1, limits.connections // _ADDRESS_SHARE)
        self._proxies = limits.proxies
        self._all: set[Place] = set()
        self._unproven: _Crowd = {}
        self._known: _Crowd = {}
        self._idle: _Crowd = {}

    def __len__(self) -> int:
        return len(self._all)

    def enter(self, address: str, give_way: Callable[[], None]) -> Place | None:
        """None: there is none, not even among the reserved ones."""
        mine = self._unproven.get(address, {})
        if len(mine) >= self._most_unproven and not is_proxy(address, self._proxies):
            self._send_away(next(iter(mine)))
        if len(self._all) >= self._most[Rank.USER]:
            self._make_room()
        if len(self._all) >= self._most[Rank.OPERATOR]:
            return None
        place = Place(self, address, give_way)
        self._all.add(place)
        self._unproven.setdefault(address, {})[place] = None
        return place

    def know(self, place: Place, owner: str, rank: Rank) -> None:
        if place not in self._all or place.owner == owner:
            return
        if rank is Rank.USER and len(self._known.get(owner, ())) >= self._most_of_a_user:
            raise _too_many_of_a_user(self._most_of_a_user)
        self._forget(place)
        place.owner = owner
        self._known.setdefault(owner, {})[place] = None
        if len(self._all) > self._most[rank] and not self._make_room():
            raise too_many_connections(self._most[Rank.USER])

    def wake(self, place: Place) -> None:
        _remove(self._idle, place.owner, place)

    def rest(self, place: Place) -> None:
        if place in self._all and place.owner:
            self._idle.setdefault(place.owner, {})[place] = None

    def leave(self, place: Place) -> None:
        if place in self._all:
            self._all.discard(place)
            self._forget(place)

    def _make_room(self) -> bool:
        """Whether a connection was closed to make room."""
        for crowd in (self._unproven, self._idle):
            if crowd:
                most = max(crowd.values(), key=len)
                self._send_away(next(iter(most)))
                return True
        return False

    def _send_away(self, place: Place) -> None:
        self.leave(place)
        place.give_way()

    def _forget(self, place: Place) -> None:
        _remove(self._unproven, place.address, place)
        _remove(self._known, place.owner, place)
        _remove(self._idle, place.owner, place)


def _remove(crowd: _Crowd, key: str, place: Place) -> None:
    places = crowd.get(key)
    if places is not None and place in places:
        del places[place]
        if not places:
            del crowd[key]


def too_many_connections(most: int) -> ProblemError:
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "too-many-connections",
        f"the server has {most:,} connections already",
        help="ask again later; use one connection for many requests",
        headers=(("retry-after", "1"), ("connection", "close")),
    )


def _too_many_of_a_user(most: int) -> ProblemError:
    return ProblemError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too-many-connections",
        f"you have {most:,} connections to this server already",
        help="use one connection for many requests; operators set server.limits.connections_per_user",
        headers=(("retry-after", "1"), ("connection", "close")),
    )


class StreamPlaces:
    """How many streamed answers may run at a time: per token, per user, and in total."""

    def __init__(self, limits: Limits) -> None:
        self._most_of_a_user = limits.streams_per_user
        self._most_of_a_token = max(1, limits.streams_per_user // 2)
        self._most = max(1, limits.connections * 3 // 5)
        self._open: dict[str, int] = {}

    def take(self, token: str, user: str, *, is_kept: bool) -> Callable[[], None]:
        """What gives it back. `is_kept`: an operator's, for whom there is always one."""
        by_token, by_user, everybody = f"token {token}", f"user {user}", ""
        if self._count(by_token) >= self._most_of_a_token:
            raise _too_many_streams(f"this token follows {self._most_of_a_token:,} logs or events already")
        if self._count(by_user) >= self._most_of_a_user:
            raise _too_many_streams(f"you follow {self._most_of_a_user:,} logs or events already")
        if self._count(everybody) >= self._most and not is_kept:
            raise _too_many_streams(f"the server sends {self._most:,} logs or events already")
        keys = (by_token, by_user, everybody)
        for key in keys:
            self._open[key] = self._count(key) + 1

        def give_back() -> None:
            for key in keys:
                self._open[key] -= 1
                if not self._open[key]:
                    del self._open[key]

        return give_back

    def _count(self, key: str) -> int:
        return self._open.get(key, 0)


def _too_many_streams(detail: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too-many-streams",
        detail,
        help="end some of them; one stream of events tells of many jobs. "
        "Operators set server.limits.streams_per_user",
        headers=(("retry-after", "5"),),
    )
