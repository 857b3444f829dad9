"""Whether a reservation still fits among those that are there."""

from __future__ import annotations

from collections.abc import Iterable

from rota.control.errors import Conflict
from rota.intake.checking.fields import Field
from rota.intake.documents.document import document_of
from rota.intake.errors import InputError
from rota.intake.parts.bookings import Booking, check_bookings
from rota.model.calendar import Reservation
from rota.model.node import Node


def check_room(reservation: Reservation, others: Iterable[Reservation], nodes: Iterable[Node]) -> None:
    """Raises Conflict where it would take more of a node than there is at any time."""
    by_name = {node.name: node for node in nodes}
    at = Field(document_of({}))
    known = [
        one for one in others if one.name != reservation.name and all(name in by_name for name in one.nodes)
    ]
    bookings = [Booking(number, one, at) for number, one in enumerate((*known, reservation))]
    try:
        check_bookings(bookings, by_name)
    except InputError as error:
        raise Conflict(error.problem, error.remedy) from None
