from __future__ import annotations

from msgspec.structs import replace

from rota.cli.output import OutputFormat, show, write_document
from rota.cli.plugin_faults import prints_as_talk, report
from rota.cli.questions.files import Files, Question, find_subject, read_question
from rota.kube_objects.priority import by_class
from rota.model.explanation import Explanation
from rota.model.ids import JobId
from rota.views.plan.view import PlanView
from rota.views.times import Clock
from rota.views.why.document import why_document
from rota.views.why.view import why_view


def why(name: str, files: Files, output: OutputFormat) -> None:
    question = read_question(files)
    subject, moment = find_subject(name, files.jobs, question.records), question.moment
    with prints_as_talk():
        explanation = _explained(question, subject.job)
        plan = moment.plan()
        estimates = moment.estimates(plan, {subject.job}) if files.history is not None else None
    report(explanation.faults)
    view = why_view(subject, explanation, PlanView(plan, moment.snapshot, estimates))
    document = why_document(view, question.now_ms)
    if output.is_table:
        from rota.cli.questions.why_tables import why_tables

        show(why_tables(document, Clock(question.now_ms), wide=output is OutputFormat.WIDE))
    else:
        write_document(document, output)


def _explained(question: Question, job: JobId) -> Explanation:
    """What is proposed for a pod is what its cluster has."""
    if job not in question.pods.jobs:
        return question.moment.explain(job)
    names = question.pods.class_names
    explanation = question.moment.explain(job, priorities=sorted(names))
    remedies = tuple(replace(one, change=by_class(one.change, names)) for one in explanation.remedies)
    return replace(explanation, remedies=remedies)
