"""What is announced ahead for nodes: maintenance and reservations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rota.control.access import Who
from rota.control.bookings import check_room
from rota.control.draft import Draft
from rota.control.errors import Conflict, NotFound
from rota.control.transactor import Transactor
from rota.model.calendar import Maintenance, Reservation
from rota.model.ids import NodeName
from rota.store.writing.batch import Removal


class CalendarDesk:
    def __init__(self, transactor: Transactor) -> None:
        self._transactor = transactor
        self._memory = transactor.memory

    async def maintenance(self) -> Sequence[Maintenance]:
        return tuple(self._memory.maintenance.values())

    async def set_maintenance(self, window: Maintenance, who: Who, dry_run: bool = False) -> None:
        self._check_nodes(window.nodes)

        def command(draft: Draft) -> None:
            if window.name in self._memory.reservations:
                raise Conflict(f'a reservation is named "{window.name}" already', "choose another name")
            draft.batch.maintenance.append(window)
            draft.note("maintenance.Announced", window.name, who.user, window)

        await self._transactor.do(command, dry_run)

    async def remove_maintenance(self, name: str, who: Who, dry_run: bool = False) -> None:
        if name not in self._memory.maintenance:
            raise NotFound("maintenance", name)
        await self._remove(Removal.MAINTENANCE, "maintenance.Withdrawn", name, who, dry_run)

    async def reservations(self) -> Sequence[Reservation]:
        return tuple(self._memory.reservations.values())

    async def set_reservation(self, reservation: Reservation, who: Who, dry_run: bool = False) -> None:
        self._check_nodes(reservation.nodes)

        def command(draft: Draft) -> None:
            if reservation.name in self._memory.maintenance:
                raise Conflict(f'maintenance is named "{reservation.name}" already', "choose another name")
            check_room(reservation, self._memory.reservations.values(), self._memory.nodes())
            draft.batch.reservations.append(reservation)
            draft.note("reservation.Made", reservation.name, who.user, reservation)

        await self._transactor.do(command, dry_run)

    async def remove_reservation(self, name: str, who: Who, dry_run: bool = False) -> None:
        if name not in self._memory.reservations:
            raise NotFound("reservation", name)
        await self._remove(Removal.RESERVATION, "reservation.Withdrawn", name, who, dry_run)

    def _check_nodes(self, names: Iterable[NodeName]) -> None:
        for name in names:
            if self._memory.node(name) is None:
                raise NotFound("node", name)

    async def _remove(self, kind: Removal, event: str, name: str, who: Who, dry_run: bool) -> None:
        def command(draft: Draft) -> None:
            draft.batch.removed.append((kind, name))
            draft.note(event, name, who.user, {})

        await self._transactor.do(command, dry_run)
