"""What is announced ahead for nodes: maintenance and reservations."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from rota.api.cluster import MaintenanceDocument, ReservationDocument
from rota.api.documents import ChangeDocument, Page
from rota.api.people import Role
from rota.control.errors import NotFound
from rota.loop.desk.calendar import CalendarDesk
from rota.loop.desk.nodes import NodesDesk
from rota.model.calendar import Maintenance, Reservation
from rota.model.ids import NodeName
from rota.model.quantities import (
    parse_bytes,
    parse_cpu_milli,
    parse_duration_ms,
    parse_quantity,
    parse_timestamp_ms,
)
from rota.model.resources import Resources
from rota.server.documents import maintenance_document, reservation_document
from rota.server.http.problems import bad_input, not_found, printable
from rota.server.http.reading import read_name, read_quantity
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Form, Query, Route

Amount = int | float | str
Names = Annotated[list[str], Meta(max_length=100_000)]
_AMOUNTS = {
    "cpu": ("cpu_milli", parse_cpu_milli),
    "memory": ("memory_bytes", parse_bytes),
    "storage": ("storage_bytes", parse_bytes),
    "slots": ("slots", parse_quantity),
}


class PeriodForm(Form, frozen=True, kw_only=True):
    """The end is given as such, or by how long it lasts."""

    start: Annotated[Amount, Meta(description="RFC 3339, or seconds since 1970.")]
    end: Amount | UnsetType = UNSET
    lasts: Annotated[Amount, Meta(description="As in 2h30m, or seconds.")] | UnsetType = field(
        default=UNSET, name="for"
    )


class MaintenanceForm(PeriodForm, frozen=True, kw_only=True):
    nodes: Annotated[Names, Meta(description="Empty, or left out: all of them.")] = field(
        default_factory=list
    )


class ReservationForm(PeriodForm, frozen=True, kw_only=True):
    nodes: Annotated[Names, Meta(min_length=1)]
    tenants: Annotated[Names, Meta(min_length=1, description="Projects, or users as project/user.")]
    resources: (
        Annotated[dict[str, Amount], Meta(description="Of each node; left out: all of it.")] | UnsetType
    ) = UNSET
    gpus: Annotated[int, Meta(ge=0, le=1000)] = 0


async def list_maintenance(call: Call[Query, None], calendar: CalendarDesk) -> Reply:
    windows = [maintenance_document(one) for one in await calendar.maintenance()]
    return json_reply(Page[MaintenanceDocument](items=windows))


async def set_maintenance(
    call: Call[ChangeQuery, MaintenanceForm], calendar: CalendarDesk, nodes: NodesDesk
) -> Reply:
    """What still runs there when it begins is ended or goes back to its queue, as its job says."""
    form = call.body
    start_ms, end_ms = _period(form)
    window = Maintenance(_name(call), start_ms, end_ms, await _nodes(call, nodes, form.nodes))
    await calendar.set_maintenance(window, call.who, call.query.dry_run)
    return json_reply(maintenance_document(window))


async def remove_maintenance(call: Call[ChangeQuery, None], calendar: CalendarDesk) -> Reply:
    name = _name(call)
    if all(one.name != name for one in await calendar.maintenance()):
        raise NotFound("maintenance", name)
    await calendar.remove_maintenance(name, call.who, call.query.dry_run)
    return _removed(call, name)


async def list_reservations(call: Call[Query, None], calendar: CalendarDesk) -> Reply:
    """Of the projects that the token is for."""
    seen = [reservation_document(one) for one in await calendar.reservations() if _is_seen(call, one)]
    return json_reply(Page[ReservationDocument](items=seen))


async def set_reservation(
    call: Call[ChangeQuery, ReservationForm], calendar: CalendarDesk, nodes: NodesDesk
) -> Reply:
    """A job uses it by naming it. Whole nodes, unless a share of each is given."""
    form = call.body
    start_ms, end_ms = _period(form)
    reservation = Reservation(
        _name(call),
        start_ms,
        end_ms,
        await _nodes(call, nodes, form.nodes),
        _tenants(form.tenants),
        _share(form),
        form.gpus,
    )
    await calendar.set_reservation(reservation, call.who, call.query.dry_run)
    return json_reply(reservation_document(reservation))


async def remove_reservation(call: Call[ChangeQuery, None], calendar: CalendarDesk) -> Reply:
    name = _name(call)
    if all(one.name != name for one in await calendar.reservations()):
        raise not_found("reservation", name)
    await calendar.remove_reservation(name, call.who, call.query.dry_run)
    return _removed(call, name)


def _is_seen(call: Call[Any, Any], reservation: Reservation) -> bool:
    return any(call.who.sees(tenant.partition("/")[0]) for tenant in reservation.tenants)


def _name(call: Call[Any, Any]) -> str:
    return read_name(call.names["name"].removeprefix("/"))


def _removed(call: Call[ChangeQuery, None], name: str) -> Reply:
    return json_reply(ChangeDocument(dry_run=call.query.dry_run, changed=[name]))


def _period(form: PeriodForm) -> tuple[int, int]:
    start_ms = read_quantity("start", parse_timestamp_ms, form.start)
    if (form.end is UNSET) == (form.lasts is UNSET):
        raise bad_input("end", "it needs exactly one of end and for", "give either end or for")
    if form.lasts is not UNSET:
        lasts_ms = read_quantity("for", parse_duration_ms, form.lasts)
        if not lasts_ms:
            raise bad_input("for", "the duration is 0", "give more than 0")
        return start_ms, start_ms + lasts_ms
    end_ms = read_quantity("end", parse_timestamp_ms, form.end)
    if end_ms <= start_ms:
        raise bad_input("end", "the end is not after the start", "give a later time")
    return start_ms, end_ms


async def _nodes(call: Call[Any, Any], nodes: NodesDesk, names: list[str]) -> tuple[NodeName, ...]:
    known = {node.name for node in await nodes.nodes()} if names else set()
    for index, name in enumerate(names):
        if name not in known:
            raise bad_input(f"nodes[{index}]", f"there is no node {printable(name)}", "see GET /v1/nodes")
    return tuple(NodeName(name) for name in sorted(set(names)))


def _tenants(paths: list[str]) -> tuple[str, ...]:
    for index, path in enumerate(paths):
        steps = path.split("/")
        if len(steps) > 2:
            raise bad_input(f"tenants[{index}]", "is not a tenant", "write project or project/user")
        for step in steps:
            read_name(step, f"tenants[{index}]")
    return tuple(sorted(set(paths)))


def _share(form: ReservationForm) -> Resources | None:
    if form.resources is UNSET:
        return Resources() if form.gpus else None
    named: dict[str, int] = {}
    extended: dict[str, int] = {}
    for name, amount in form.resources.items():
        where = f"resources.{printable(name, 60)}"
        if name in _AMOUNTS:
            unit, parse = _AMOUNTS[name]
            named[unit] = read_quantity(where, parse, amount)
        else:
            extended[read_name(name, where)] = read_quantity(where, parse_quantity, amount)
    if not any((*named.values(), *extended.values(), form.gpus)):
        raise bad_input("resources", "the share is empty", "give amounts, or leave it out for whole nodes")
    return Resources(**named, extended=tuple(sorted(extended.items())))


def _noun(
    noun: str, document: Any, form: type, calls: tuple[Any, Any, Any], words: str, example: dict[str, Any]
) -> tuple[Route[Any, Any], ...]:
    listed, put, removed = calls
    return (
        Route(
            method="GET",
            path=f"/v1/{noun}",
            call=listed,
            summary=f"List {words}",
            tag=noun,
            role=Role.VIEWER,
            query=Query,
            body=type(None),
            answers={200: Page[document]},
        ),
        Route(
            method="PUT",
            path=f"/v1/{noun}/{{name}}",
            call=put,
            summary=f"Announce {words}, or change what was announced",
            tag=noun,
            role=Role.OPERATOR,
            query=ChangeQuery,
            body=form,
            answers={200: document},
            deep=True,
            examples={"two hours": example},
        ),
        Route(
            method="DELETE",
            path=f"/v1/{noun}/{{name}}",
            call=removed,
            summary=f"Remove {words}",
            tag=noun,
            role=Role.OPERATOR,
            query=ChangeQuery,
            body=type(None),
            answers={200: ChangeDocument},
            deep=True,
        ),
    )


_PERIOD = {"start": "2027-03-01T06:00:00Z", "for": "2h"}

ROUTES: tuple[Route[Any, Any], ...] = (
    *_noun(
        "maintenance",
        MaintenanceDocument,
        MaintenanceForm,
        (list_maintenance, set_maintenance, remove_maintenance),
        "maintenance",
        {**_PERIOD, "nodes": ["node-1"]},
    ),
    *_noun(
        "reservations",
        ReservationDocument,
        ReservationForm,
        (list_reservations, set_reservation, remove_reservation),
        "a reservation",
        {**_PERIOD, "nodes": ["node-1"], "tenants": ["vision"]},
    ),
)
