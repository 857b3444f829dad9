"""`rota maintenance` and `rota reserve`: periods in which nodes are away or reserved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import typer

from rota.api.cluster import MaintenanceDocument, ReservationDocument
from rota.cli.client.connection import connect
from rota.cli.option_values import future_of, read_as
from rota.cli.output import ListFormat, talk, talk_of_change
from rota.cli.pairs import pairs_of
from rota.cli.showing import clock, show_list
from rota.cli.tables import Shown, Table, new_table
from rota.model.quantities import parse_duration_ms
from rota.views.folding import fold_names
from rota.views.times import Clock, ms_of, span_text


def maintenance(output: ListFormat) -> None:
    with connect() as server:
        found = list(server.maintenance())
    show_list(found, output, lambda one: one.name, _maintenance_tables)
    _tell_if_none(found, "no maintenance is announced", output)


def add_maintenance(
    name: str, start: str, end: str | None, lasting: str | None, nodes: Sequence[str], *, dry_run: bool
) -> None:
    start_at, end_at = _period(start, end, lasting)
    with connect() as server:
        one = server.set_maintenance(
            name, start_at, end=end_at, lasting=lasting, nodes=list(nodes), dry_run=dry_run
        )
    now = clock()
    subject = f"maintenance {one.name} of {fold_names(one.nodes) or 'all nodes'}"
    period = _period_text(one.start, one.end, now)
    talk_of_change(subject, f"is announced: {period}", f"be announced: {period}", dry_run=dry_run)


def remove_maintenance(name: str, *, dry_run: bool) -> None:
    with connect() as server:
        server.remove_maintenance(name, dry_run=dry_run)
    talk_of_change(f"maintenance {name}", "is cancelled", "be cancelled", dry_run=dry_run)


def reservations(output: ListFormat) -> None:
    with connect() as server:
        found = list(server.reservations())
    show_list(found, output, lambda one: one.name, _reservation_tables)
    _tell_if_none(found, "there are no reservations", output)


def add_reservation(
    name: str,
    start: str,
    end: str | None,
    lasting: str | None,
    nodes: Sequence[str],
    tenants: Sequence[str],
    resources: Sequence[str],
    gpus: int | None,
    *,
    dry_run: bool,
) -> None:
    start_at, end_at = _period(start, end, lasting)
    share = dict(pairs_of("--resource", resources))
    with connect() as server:
        one = server.set_reservation(
            name,
            start_at,
            nodes=list(nodes),
            tenants=list(tenants),
            end=end_at,
            lasting=lasting,
            resources=share or None,
            gpus=gpus,
            dry_run=dry_run,
        )
    now = clock()
    reserved = f"reserved for {fold_names(one.tenants)}: {_period_text(one.start, one.end, now)}"
    done = f"{'is' if len(one.nodes) == 1 else 'are'} {reserved}; jobs use it with `reservation: {one.name}`"
    talk_of_change(fold_names(one.nodes), done, f"be {reserved}", dry_run=dry_run)


def remove_reservation(name: str, *, dry_run: bool) -> None:
    with connect() as server:
        server.remove_reservation(name, dry_run=dry_run)
    talk_of_change(f"reservation {name}", "is removed", "be removed", dry_run=dry_run)


def _period(start: str, end: str | None, lasting: str | None) -> tuple[datetime, datetime | None]:
    if (end is None) == (lasting is None):
        raise typer.BadParameter("give either --end or --for", param_hint="--for")
    if lasting is not None:
        read_as("--for", parse_duration_ms, lasting)
    now_ms = clock().now_ms
    start_at = future_of("--start", start, now_ms)
    end_at = None if end is None else future_of("--end", end, now_ms)
    if end_at is not None and end_at <= start_at:
        raise typer.BadParameter("the end must be after the start", param_hint="--end")
    return start_at, end_at


def _maintenance_tables(some: Sequence[MaintenanceDocument]) -> Iterable[Shown]:
    if some:
        now = clock()
        table = _calendar_table("maintenance")
        for one in some:
            table.add_row(one.name, *_times(one.start, one.end, now), fold_names(one.nodes) or "all")
        yield table


def _reservation_tables(some: Sequence[ReservationDocument]) -> Iterable[Shown]:
    if some:
        now = clock()
        table = _calendar_table("reservation", "for", "share")
        for one in some:
            table.add_row(
                one.name,
                *_times(one.start, one.end, now),
                fold_names(one.nodes),
                fold_names(one.tenants),
                _share_text(one),
            )
        yield table


def _calendar_table(noun: str, *more: str) -> Table:
    return new_table(noun, "start", "", "lasts", "nodes", *more)


def _times(start: datetime, end: datetime, now: Clock) -> tuple[str, str, str]:
    start_ms, end_ms = ms_of(start), ms_of(end)
    away = now.distance_text(start_ms)
    if start_ms <= now.now_ms < end_ms:
        away = "in progress"
    return now.text(start_ms), away, span_text(end_ms - start_ms)


def _period_text(start: datetime, end: datetime, now: Clock) -> str:
    text, away, lasts = _times(start, end, now)
    return f"{text}, {away}, for {lasts}"


def _share_text(one: ReservationDocument) -> str:
    parts = [f"{amount} {name}" for name, amount in (one.resources or {}).items()]
    if one.gpus:
        parts.append(f"{one.gpus} gpus")
    return ", ".join(parts) or "whole nodes"


def _tell_if_none(found: Sequence[object], text: str, output: ListFormat) -> None:
    if not found and output in (ListFormat.TABLE, ListFormat.WIDE):
        talk(text)
