"""Which changes of a job its owner's limits allow: nobody is told to do what would be refused."""

from __future__ import annotations

from rota.limits.applying import Asked
from rota.limits.checking import intolerable, longer_than_allowed
from rota.model.changes import RaisePriority, ShortenTimeLimit
from rota.model.explanation import Change
from rota.plugins.taints import Tolerate


def is_allowed(change: Change, limits: Asked) -> bool:
    """Whatever asks for less, or insists on less, always is."""
    match change:
        case RaisePriority(priority=priority):
            most = limits.value("priority")
            return most is None or priority <= most
        case ShortenTimeLimit(most_ms=most_ms):
            return longer_than_allowed(most_ms, limits) is None
        case Tolerate(taints=taints):
            return not any(intolerable(((one.key, one.value or None) for one in taints), limits))
        case _:
            return True
