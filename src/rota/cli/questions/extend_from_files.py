from __future__ import annotations

import typer

from rota.cli.output import OutputFormat, show, write_document
from rota.cli.plugin_faults import prints_as_talk, report
from rota.cli.questions.files import Files, find_subject, read_question
from rota.model.quantities import QuantityError, parse_duration_ms
from rota.views.extend.document import extension_document
from rota.views.times import Clock


def extend(name: str, limit: str, files: Files, output: OutputFormat) -> bool:
    """Shows the answer, and says whether it is yes."""
    is_added, asked_ms = _read_limit(limit)
    question = read_question(files)
    subject = find_subject(name, files.jobs, question.records)
    if is_added:
        asked_ms += question.moment.snapshot.jobs[subject.job].job.template.time_limit_ms or 0
    with prints_as_talk():
        extension = question.moment.extend(subject.job, asked_ms)
    report(extension.faults)
    document = extension_document(extension)
    if output.is_table:
        from rota.cli.questions.extension_tables import extension_tables

        show(extension_tables(document, Clock(question.now_ms)))
    else:
        write_document(document, output)
    return extension.is_granted


def _read_limit(text: str) -> tuple[bool, int]:
    """Whether the duration is added to the current limit, and the duration."""
    is_added = text.startswith("+")
    try:
        return is_added, parse_duration_ms(text.removeprefix("+"))
    except QuantityError as error:
        raise typer.BadParameter(str(error), param_hint="LIMIT") from None
