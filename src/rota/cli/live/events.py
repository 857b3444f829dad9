"""`rota events`: what happened, one line each, and what happens."""

from __future__ import annotations

from itertools import islice

import typer
from msgspec import json, to_builtins

from rota.api.service import EventDocument
from rota.cli.live.connection import connect
from rota.cli.live.showing import clock
from rota.cli.output import Form, write
from rota.cli.yaml_text import dump
from rota.views.quoting import one_line
from rota.views.times import Clock, ms_of

_LATEST = 100
"""As many are shown, if nothing says how many."""
_NOT_SHOWN = frozenset(("event", "spec", "number", "by"))
"""In data only: said already, or more than a line can hold."""


def events(
    after: int | None,
    last: int | None,
    kind: str | None,
    subject: str | None,
    project: str | None,
    limit: int | None,
    form: Form,
    *,
    follow: bool,
) -> None:
    if last is not None and after is not None:
        raise typer.BadParameter("give either --last or --after, not both", param_hint="--last")
    if last is None and after is None and limit is None and not follow:
        last = _LATEST
    with connect() as server:
        found = server.events(
            follow=follow, after=after, last=last, kind=kind, subject=subject, project=project
        )
        for event in islice(found, limit):
            write(_written(event, form))


def _written(event: EventDocument, form: Form) -> str:
    """Data comes as a stream, too: a line of JSON each, or a YAML document."""
    match form:
        case Form.JSON:
            return json.encode(event).decode() + "\n"
        case Form.YAML:
            return "---\n" + dump(to_builtins(event))
        case Form.TABLE | Form.WIDE:
            return event_text(event, clock(), wide=form is Form.WIDE) + "\n"


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
