"""`rota audit`: who did what, and what was refused, one line each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import typer
from msgspec import json, to_builtins

from rota.api.audit import AuditDocument, Verdict
from rota.cli.client.connection import connect
from rota.cli.exits import EX_DIFFERENT
from rota.cli.option_values import moment_of
from rota.cli.output import OutputFormat, show, talk, write, write_document
from rota.cli.people.options import AuditFilter
from rota.cli.showing import clock
from rota.cli.tables import Table, new_table
from rota.cli.yaml_text import dump
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of


def audit(chosen: AuditFilter, output: OutputFormat) -> None:
    now = clock()
    with connect() as server:
        found = server.audit(
            user=chosen.user,
            token=chosen.token,
            address=chosen.address,
            verdict=_verdict(chosen.verdict),
            subject=chosen.subject,
            project=chosen.project,
            since=moment_of("--since", chosen.since, now.now_ms),
            until=moment_of("--until", chosen.until, now.now_ms),
            limit=min(chosen.limit, 1000),
        )
        newest = list(islice(found, chosen.limit))
    newest.reverse()
    if not output.is_table:
        for record in newest:
            write(_written(record, output))
    elif newest:
        show([_table(newest, now, wide=output is OutputFormat.WIDE)])
    else:
        talk("no record matches, or you may not see it")


def check(output: OutputFormat) -> None:
    with connect() as server:
        found = server.check_audit()
    if not output.is_table:
        write_document(found, output)
    elif found.broken is None:
        talk(f"all {found.records:,} records are unchanged; the hash of the newest is")
        write(f"{found.head}\n")
    else:
        talk(f"record {found.broken} doesn't match the one before it: the database was changed")
    if found.broken is not None:
        raise typer.Exit(EX_DIFFERENT)


def _verdict(text: str | None) -> Verdict | None:
    if text is None:
        return None
    try:
        return Verdict(text)
    except ValueError:
        known = ", ".join(Verdict)
        raise typer.BadParameter(
            f'"{text}" is not a verdict; give one of {known}', param_hint="--verdict"
        ) from None


def _written(record: AuditDocument, output: OutputFormat) -> str:
    """Data comes as a stream: a line of JSON each, or a YAML document."""
    if output is OutputFormat.JSON:
        return json.encode(record).decode() + "\n"
    return "---\n" + dump(to_builtins(record))


def _table(records: Sequence[AuditDocument], now: Clock, *, wide: bool) -> Table:
    more = ("project", "token", "request", "event", "detail") if wide else ()
    dropped = ("request", "event", "token", "from", "project", "detail")
    table = new_table("time", "user", "action", "verdict", "from", *more, dropped=dropped)
    for one in records:
        row = [now.text(ms_of(one.at)), one.user or "-", _what(one), _verdict_text(one), one.address or "-"]
        if wide:
            event = "" if one.first_event is None else str(one.first_event)
            row += [one.project or "", one.token, one.request, event, one.detail]
        table.add_row(*map(one_line, row))
    return table


def _what(record: AuditDocument) -> str:
    """`POST jobs/17/cancel`, `POST jobs 17 (1,000 events)`. The version is the same in all."""
    parts = [record.method, record.route.removeprefix("/v1/")]
    named, count = re.subn(r"{\w+}", lambda _: record.subject, parts[1], count=1)
    if count and record.subject:
        parts[1] = named
    else:
        parts.append(record.subject)
    if record.events > 1:
        parts.append(f"({record.events:,} events)")
    return " ".join(filter(None, parts))


def _verdict_text(record: AuditDocument) -> str:
    text = f"{record.verdict}: {record.problem}" if record.problem else str(record.verdict)
    return f"{text}, {record.times:,} times" if record.times > 1 else text
