from __future__ import annotations

from contextlib import nullcontext
from enum import Enum
from pathlib import Path

from rota.cli.output import OutputFormat, show, write_document
from rota.cli.plugin_faults import prints_as_talk, report
from rota.cli.questions.files import Files, read_question
from rota.loop.records.record import Recorder
from rota.views.plan.document import plan_document
from rota.views.plan.view import PlanView
from rota.views.times import Clock


class Planned(Enum):
    PLACED = "everything"
    WAITS = "something waits"
    UNREAD = "something can't be read, and the plan is about the rest"


def plan(files: Files, output: OutputFormat, record: str | None = None) -> Planned:
    """Shows the plan. `record`: the folder to record the cycle in."""
    question = read_question(files)
    moment = question.moment
    with prints_as_talk(), Recorder(Path(record)) if record else nullcontext() as recorder:
        decided = moment.plan(recorder)
        estimates = moment.estimates(decided) if files.history is not None else None
    report(decided.faults)
    view = PlanView(decided, moment.snapshot, estimates)
    if output.is_table:
        from rota.cli.questions.plan_tables import plan_tables

        show(plan_tables(view, Clock(question.now_ms), wide=output is OutputFormat.WIDE))
    else:
        write_document(plan_document(view), output)
    if question.trouble.faults:
        return Planned.UNREAD
    return Planned.WAITS if view.something_waits or question.trouble.held else Planned.PLACED
