"""What reservations take of nodes: never more than there is, each by itself and all of a time together."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple

from rota.intake.checking.convert import MAX_ERRORS
from rota.intake.checking.fields import Field, raise_all
from rota.intake.checking.wording import quoted
from rota.intake.errors import InputError
from rota.intake.parts.amounts import Amounts, amounts_of
from rota.model.calendar import Reservation
from rota.model.ids import NodeName
from rota.model.node import Node
from rota.model.resources import DEFAULT_SLOTS

_GPUS = "gpus"
_NAMED = 3
"""Of several that are in the way together, so many are named."""


class Booking(NamedTuple):
    """A reservation and where it was written. They are told apart by their number in the files."""

    number: int
    reservation: Reservation
    at: Field

    @property
    def takes_all(self) -> bool:
        return self.reservation.share is None

    @property
    def amounts(self) -> Amounts:
        share = self.reservation.share
        return {} if share is None else {**amounts_of(share), _GPUS: self.reservation.gpus}

    def field(self, resource: str) -> Field:
        return self.at.at(_GPUS) if resource == _GPUS else self.at.at("resources", resource)


def check_bookings(bookings: Sequence[Booking], nodes: Mapping[NodeName, Node]) -> None:
    raise_all(list(islice(_beyond_capacity(bookings, nodes), MAX_ERRORS)))
    by_node: dict[NodeName, list[Booking]] = {}
    for booking in bookings:
        for name in booking.reservation.nodes:
            by_node.setdefault(name, []).append(booking)
    # Two that meet on one node mostly meet on many: once is enough.
    clashes: dict[tuple[int, ...], InputError] = {}
    for name, booked in by_node.items():
        for numbers, error in _clashes(nodes[name], booked):
            clashes.setdefault(numbers, error)
        if len(clashes) >= MAX_ERRORS:
            break
    raise_all(list(clashes.values()))


def _beyond_capacity(bookings: Iterable[Booking], nodes: Mapping[NodeName, Node]) -> Iterator[InputError]:
    for booking in bookings:
        if booking.takes_all:
            continue
        for name in booking.reservation.nodes:
            resource = _lacking(booking.amounts, nodes[name])
            if resource is not None:
                yield booking.field(resource).error(
                    f"more than the node {name} has", "lower it, or leave the node out"
                )
                break


def _clashes(node: Node, booked: Iterable[Booking]) -> Iterator[tuple[tuple[int, ...], InputError]]:
    """By start, each against those that last until after it; one that clashes is then left out."""
    current: dict[int, Booking] = {}
    ends: list[tuple[int, int]] = []
    taken: Counter[str] = Counter()
    for booking in sorted(booked, key=lambda one: (one.reservation.start_ms, one.number)):
        while ends and ends[0][0] <= booking.reservation.start_ms:
            _, number = heappop(ends)
            taken.subtract(current.pop(number).amounts)
        others = list(islice(current.values(), _NAMED))
        if others and (booking.takes_all or others[0].takes_all):
            yield (others[0].number, booking.number), _node_taken(node, booking, others[0])
            continue
        resource = _lacking(taken + Counter(booking.amounts), node)
        if resource is not None:
            numbers = (*(other.number for other in others), booking.number)
            yield numbers, _share_taken(node, booking, others, resource)
            continue
        current[booking.number] = booking
        heappush(ends, (booking.reservation.end_ms, booking.number))
        taken.update(booking.amounts)


def _lacking(amounts: Mapping[str, int], node: Node) -> str | None:
    """A resource of which the node has less than that."""
    capacity = {**amounts_of(node.spec.capacity), _GPUS: node.spec.gpus.count}
    capacity["slots"] = capacity["slots"] or DEFAULT_SLOTS
    return next((name for name, amount in amounts.items() if amount > capacity.get(name, 0)), None)


def _node_taken(node: Node, one: Booking, other: Booking) -> InputError:
    first, last = sorted((one, other))
    return last.at.at("nodes").error(
        f"at the same time the node {node.name} is taken by the reservation {quoted(first.reservation.name)}",
        "move one of the two, or give both a share of the node",
    )


def _share_taken(node: Node, booking: Booking, others: Iterable[Booking], resource: str) -> InputError:
    *first, last = sorted((*others, booking))
    names = " and ".join(quoted(one.reservation.name) for one in first)
    return last.at.error(
        f"with {names} it takes more {resource} than the node {node.name} has", "lower or move one of them"
    )
