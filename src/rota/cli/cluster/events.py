"""`rota events`: one line for each event."""

from __future__ import annotations

from itertools import islice

import typer
from msgspec import json, to_builtins

from rota.api.service import EventDocument
from rota.cli.client.connection import connect
from rota.cli.cluster.options import EventFilter
from rota.cli.output import OutputFormat, write
from rota.cli.showing import clock
from rota.cli.yaml_text import dump
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of

_LATEST = 100
"""How many are shown unless the user says otherwise."""
_NOT_SHOWN = frozenset(("event", "spec", "number", "by"))
"""Fields that the table leaves out: it has them already, or they are too long for a line."""


def events(chosen: EventFilter, output: OutputFormat) -> None:
    last = chosen.last
    if last is not None and chosen.after is not None:
        raise typer.BadParameter("give either --last or --after, not both", param_hint="--last")
    if last is None and chosen.after is None and chosen.limit is None and not chosen.follow:
        last = _LATEST
    with connect() as server:
        found = server.events(
            follow=chosen.follow,
            after=chosen.after,
            last=last,
            kind=chosen.kind,
            subject=chosen.subject,
            project=chosen.project,
        )
        for event in islice(found, chosen.limit):
            write(_written(event, output))


def _written(event: EventDocument, output: OutputFormat) -> str:
    """Data comes as a stream, too: a line of JSON each, or a YAML document."""
    match output:
        case OutputFormat.JSON:
            return json.encode(event).decode() + "\n"
        case OutputFormat.YAML:
            return "---\n" + dump(to_builtins(event))
        case OutputFormat.TABLE | OutputFormat.WIDE:
            return event_text(event, clock(), wide=output is OutputFormat.WIDE) + "\n"


def event_text(event: EventDocument, now: Clock, *, wide: bool) -> str:
    parts = [f"{event.seq:>6}", now.text(ms_of(event.at)), f"{event.kind:<16}", event.subject]
    if wide and event.project:
        parts.append(f"project {event.project}")
    if event.by:
        parts.append(f"by {event.by}")
    shown = {name: value for name, value in event.data.items() if name not in _NOT_SHOWN}
    phase = shown.pop("phase", None)
    details = ", ".join(f"{name}={_value(value)}" for name, value in shown.items())
    if phase is not None:
        parts.append(f"→ {phase}")
    return "  ".join([*map(_printable, parts), one_line(details)]).rstrip()


def _printable(text: str) -> str:
    return text if text.isprintable() else one_line(text)


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()
