from __future__ import annotations

from rota.cli.faults import prints_as_talk, report
from rota.cli.output import Form, show, write_document
from rota.cli.plan.view import PlanView
from rota.cli.question import Files, find_subject, read_question
from rota.cli.times import Clock
from rota.cli.why.document import why_document
from rota.cli.why.view import WhyView


def why(name: str, files: Files, form: Form) -> None:
    question = read_question(files)
    subject, moment = find_subject(name, files.jobs, question.records), question.moment
    with prints_as_talk():
        explanation = moment.explain(subject.job)
        plan = moment.plan()
        estimates = moment.estimates(plan, {subject.job}) if files.history is not None else None
    report(explanation.faults)
    view = WhyView(subject, explanation, PlanView(plan, moment.snapshot, estimates))
    if form.is_table:
        from rota.cli.why.tables import why_tables

        show(why_tables(view, Clock(question.now_ms), wide=form is Form.WIDE))
    else:
        write_document(why_document(view, question.now_ms), form)
