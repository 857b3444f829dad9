"""Decides which calls get their own line: the first few of a minute from one caller; the others are counted.
So an attacker who guesses tokens, from one address or many, can't fill the log or the disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from rota.api.audit import Verdict
from rota.control.origin import Origin

FIRST = 5
"""Of one kind, from one caller, within a minute."""
MOST_CALLERS = 200
"""Callers that are counted separately within a minute; all others are counted together."""
WINDOW_MS = 60_000
_NETWORK_BITS = 64
"""What one subscriber has of IPv6."""

_Caller = tuple[str, str, str]
_OTHERS: _Caller = ("", "", "")


@dataclass(slots=True)
class Repeated:
    """The latest of equal calls that got no line of their own, and how many they were."""

    origin: Origin
    verdict: Verdict
    status: int
    times: int = 0


class Repetitions:
    def __init__(self) -> None:
        self._began_ms = 0
        self._told: dict[_Caller, int] = {}
        self._repeated: dict[_Caller, Repeated] = {}

    def is_told(self, origin: Origin, verdict: Verdict, status: int, now_ms: int) -> bool:
        """Whether it gets a line of its own; else it is counted. `due` is to be asked before."""
        if not self._told:
            self._began_ms = now_ms
        caller = (_network(origin.address), origin.token, origin.problem or origin.route)
        if caller not in self._told and len(self._told) >= MOST_CALLERS:
            caller = _OTHERS
        told = self._told.get(caller, 0)
        if told < FIRST:
            self._told[caller] = told + 1
            return True
        latest = self._repeated.setdefault(caller, Repeated(origin, verdict, status))
        latest.origin, latest.verdict, latest.status = origin, verdict, status
        latest.times += 1
        return False

    def due(self, now_ms: int) -> list[Repeated]:
        """The counts, once a minute."""
        if not self._told or 0 <= now_ms - self._began_ms < WINDOW_MS:
            return []
        self._told.clear()
        repeated, self._repeated = list(self._repeated.values()), {}
        return repeated


def _network(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed, _NETWORK_BITS), strict=False))
    return address
