"""Calendars in Rota's own form: maintenance, reservations and states of queues, as in CLUSTER.yaml."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from rota.intake.checking.fields import Field, read_each
from rota.intake.checking.names import UniqueNames, read_name, read_tenant
from rota.intake.forms.clusters import (
    ClusterForm,
    MaintenanceForm,
    PeriodForm,
    QueueStateForm,
    ReservationForm,
)
from rota.intake.parts.amounts import read_resources
from rota.intake.parts.bookings import Booking, check_bookings
from rota.intake.parts.running import find_node
from rota.model.calendar import Maintenance, QueueState, Reservation
from rota.model.cluster import Calendar
from rota.model.ids import NodeName, QueueName
from rota.model.node import Node
from rota.model.quantities import parse_duration_ms, parse_timestamp_ms
from rota.model.resources import Resources


class CalendarReader:
    """Reads the calendars of any number of documents as one: names are unique, reservations fit together."""

    def __init__(self, nodes: Mapping[NodeName, Node]) -> None:
        self._nodes = nodes
        self._entries = UniqueNames("maintenance window or reservation")
        self._queue_names = UniqueNames("queue")
        self._maintenance: list[Maintenance] = []
        self._bookings: list[Booking] = []
        self._queues: list[QueueState] = []

    def read(self, form: ClusterForm, at: Field) -> None:
        self._maintenance += read_each(form.maintenance, self._window, at.at("maintenance"))
        at_reservations = at.at("reservations")
        for index, one in enumerate(read_each(form.reservations, self._reservation, at_reservations)):
            self._bookings.append(Booking(len(self._bookings), one, at_reservations.at(index)))
        self._queues += read_each(form.queues, self._queue, at.at("queues"))

    def calendar(self) -> Calendar:
        """To be called once all documents are read."""
        check_bookings(self._bookings, self._nodes)
        return Calendar(
            tuple(self._maintenance),
            tuple(booking.reservation for booking in self._bookings),
            tuple(self._queues),
        )

    def _window(self, form: MaintenanceForm, at: Field) -> Maintenance:
        name = self._name(form, at)
        start_ms, end_ms = _period(form, at)
        nodes = () if form.nodes is UNSET else self._node_names(form.nodes, at.at("nodes"), "for all of them")
        return Maintenance(name, start_ms, end_ms, nodes)

    def _reservation(self, form: ReservationForm, at: Field) -> Reservation:
        name = self._name(form, at)
        start_ms, end_ms = _period(form, at)
        nodes = self._node_names(form.nodes, at.at("nodes"))
        tenants = _tenants(form.tenants, at.at("tenants"))
        share, gpus = _share(form, at)
        return Reservation(name, start_ms, end_ms, nodes, tenants, share, gpus)

    def _queue(self, form: QueueStateForm, at: Field) -> QueueState:
        name = read_name(form.name, at.at("name"))
        self._queue_names.claim(name, at.at("name"))
        return QueueState(
            QueueName(name), form.state, at.at("since").read(parse_timestamp_ms, form.since), form.message
        )

    def _name(self, form: PeriodForm, at: Field) -> str:
        """Reasons name entries of either kind: the names of both must differ."""
        name = read_name(form.name, at.at("name"))
        self._entries.claim(name, at.at("name"))
        return name

    def _node_names(self, names: Sequence[str], at: Field, unless: str = "") -> tuple[NodeName, ...]:
        if not names:
            raise at.error("no nodes", f"name some, or leave it out {unless}" if unless else "name some")
        return tuple(sorted({find_node(name, self._nodes, at.at(i)).name for i, name in enumerate(names)}))


def _period(form: PeriodForm, at: Field) -> tuple[int, int]:
    start_ms = at.at("start").read(parse_timestamp_ms, form.start)
    if form.end is UNSET:
        if form.lasts is UNSET:
            raise at.error("the end is missing", "give end, or for how long with for")
        lasts_ms = at.at("for").read(parse_duration_ms, form.lasts)
        if lasts_ms == 0:
            raise at.at("for").error("the duration is 0", "give more than 0")
        return start_ms, start_ms + lasts_ms
    if form.lasts is not UNSET:
        raise at.at("for").error("its end is given already", "remove one of the two")
    end_ms = at.at("end").read(parse_timestamp_ms, form.end)
    if end_ms <= start_ms:
        raise at.at("end").error("the end is not after the start", "give a later time")
    return start_ms, end_ms


def _share(form: ReservationForm, at: Field) -> tuple[Resources | None, int]:
    """Of each node, and how many of its GPUs; None: all of it."""
    if form.resources is UNSET and form.gpus is UNSET:
        return None, 0
    resources = Resources()
    if form.resources is not UNSET:
        resources = read_resources(form.resources, at.at("resources"))
    gpus = 0 if form.gpus is UNSET else form.gpus
    if resources == Resources() and not gpus:
        raise at.at("gpus" if form.resources is UNSET else "resources").error(
            "the share is empty", "give amounts, or leave it out for whole nodes"
        )
    return resources, gpus


def _tenants(paths: Sequence[str], at: Field) -> tuple[str, ...]:
    if not paths:
        raise at.error("no tenant is named", "name a project, or a user as project/user")
    return tuple(sorted({read_tenant(path, at.at(index)) for index, path in enumerate(paths)}))
