"""`rota server reload`: what changes, field by field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rota.api.service import ChangedField, ReloadDocument
from rota.cli.client.connection import connect
from rota.cli.output import OutputFormat, show, talk, write_document
from rota.cli.tables import Shown, new_table
from rota.views.amounts import count_text
from rota.views.quoting import one_line


def reload(output: OutputFormat, *, dry_run: bool) -> None:
    with connect() as server:
        document = server.reload_server(dry_run=dry_run)
    if not output.is_table:
        write_document(document, output)
        return
    show(list(_tables(document)))
    for line in _lines(document):
        talk(line)


def _tables(document: ReloadDocument) -> Iterable[Shown]:
    changed: Sequence[ChangedField] = (*document.changes, *document.settings, *document.restart)
    if changed:
        table = new_table("field", "before", "after", "")
        late = {one.field for one in document.restart}
        for one in changed:
            note = "needs a restart" if one.field in late else ""
            table.add_row(one.field, one_line(one.before or "–"), one_line(one.after or "–"), note)
        yield table


def _lines(document: ReloadDocument) -> Iterable[str]:
    count = len(document.changes) + len(document.settings)
    if not count:
        yield "nothing changed" if not document.dry_run else "dry run: nothing would change"
    elif document.dry_run:
        yield f"dry run: {count_text(count, 'field')} would change"
    else:
        yield f"the server uses the new policy and settings ({count_text(count, 'field')} changed)"
    for one in document.homeless:
        would = "would " if document.dry_run else ""
        yield (
            f"{count_text(one.jobs, 'waiting job')} of queue {one.queue} {would}not start: "
            "the policy doesn't name this queue"
        )
