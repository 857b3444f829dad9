"""`rota eff`: what a job used, compared with its request."""

from __future__ import annotations

from collections.abc import Sequence

from rota.api.jobs import EfficiencyDocument
from rota.cli.client.connection import connect
from rota.cli.client.job_names import job_named
from rota.cli.client.several import Several
from rota.cli.output import OutputFormat, show, write_document
from rota.cli.tables import GOOD, PASSING, Table, new_table
from rota.cli.text import Text
from rota.model.quantities import format_duration
from rota.views.amounts import asked_text
from rota.views.times import span_text

_WELL_USED = 0.5


def eff(jobs: Sequence[str], output: OutputFormat) -> None:
    several = Several()
    with connect() as server:
        found = several.done(jobs, lambda job: server.efficiency(job_named(server, job)))
    if found and output.is_table:
        show([efficiency_table(found)])
    elif found:
        write_document(found[0] if len(jobs) == 1 else found, output)
    several.tell()


def efficiency_table(found: Sequence[EfficiencyDocument]) -> Table:
    table = new_table("job", "resource", "used", "requested", "share", right=("share",))
    for one in found:
        table.add_row(
            one.job,
            "cpu",
            _span(one.cpu_used_s),
            _span(one.cpu_asked_s),
            _share(one.cpu_used_s, one.cpu_asked_s),
        )
        table.add_row(
            "",
            "memory",
            _memory(one.memory_used_bytes),
            _memory(one.memory_asked_bytes),
            _share(one.memory_used_bytes, one.memory_asked_bytes),
        )
        if one.time_limit_s is None:
            table.add_row("", "time", _span(one.wall_s), "no limit", "")
        else:
            limit = format_duration(round(one.time_limit_s * 1000))
            table.add_row("", "time", _span(one.wall_s), limit, _share(one.wall_s, one.time_limit_s))
    return table


def _share(used: float, asked: float) -> Text:
    """Less than half is marked: other jobs could have used the rest."""
    if not asked:
        return Text("")
    share = used / asked
    return Text(f"{share:.0%}", style=GOOD if share >= _WELL_USED else PASSING)


def _span(seconds: float) -> str:
    return span_text(round(seconds * 1000))


def _memory(size_bytes: int) -> str:
    return asked_text("memory", size_bytes).removesuffix(" memory") if size_bytes else "none"
