"""What the commands do: read, have it decided, and show the answer."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout

from rich.console import RenderableType

import rota
from rota.cli.documents import PluginEntry, VersionEntry, plan_document, why_document
from rota.cli.output import Form, show, talk, write_document
from rota.cli.plan_tables import plan_tables
from rota.cli.plan_view import PlanView
from rota.cli.question import Files, find_subject, read_question
from rota.cli.tables import BAD, GOOD, new_table
from rota.cli.why_tables import why_tables
from rota.cli.why_view import WhyView
from rota.cli.wording import count_text
from rota.loop.once import decide_once, explain_once
from rota.loop.plugin_host import PluginHost
from rota.model.plan import PluginFault


def plan(files: Files, form: Form) -> bool:
    """Shows the plan, and says whether all is placed."""
    question = read_question(files)
    with redirect_stdout(sys.stderr):  # a plugin that prints must not spoil the data
        decision = decide_once(question.records, question.policy, question.now_ms, question.host)
    _report(decision.plan.faults)
    view = PlanView(decision)
    if form.is_table:
        show(plan_tables(view, wide=form is Form.WIDE))
    else:
        write_document(plan_document(view), form)
    return not view.something_waits()


def why(name: str, files: Files, form: Form) -> None:
    question = read_question(files)
    subject = find_subject(name, files, question.records)
    with redirect_stdout(sys.stderr):
        explanation, decision = explain_once(
            question.records, question.policy, question.now_ms, question.host, subject.job
        )
    _report(decision.plan.faults)
    view = WhyView(subject, explanation, PlanView(decision))
    if form.is_table:
        show(why_tables(view, wide=form is Form.WIDE))
    else:
        write_document(why_document(view), form)


def plugins(form: Form) -> None:
    with redirect_stdout(sys.stderr):
        installed = PluginHost().installed()
    if not form.is_table:
        entries = [PluginEntry(one.name, one.package, one.version, not one.fault, one.fault) for one in installed]
        write_document(entries, form)
    elif installed:
        table = new_table("plugin", "package", "version", "state")
        for one in installed:
            state = Text(one.fault, style=BAD) if one.fault else Text("usable", style=GOOD)
            table.add_row(one.name, one.package, one.version, state)
        show([table])
    else:
        talk("no plugins are installed; packages offer them by the entry point group rota.plugins")


def version(form: Form) -> None:
    if form.is_table:
        print(f"rota {rota.__version__}")
    else:
        write_document(VersionEntry(rota.__version__, platform.python_version()), form)


def _report(faults: Iterable[PluginFault]) -> None:
    """Says once of each fault what it was, however many jobs it befell."""
    alike: dict[tuple[str, str, str], list[PluginFault]] = {}
    for fault in faults:
        alike.setdefault((fault.plugin, fault.call, fault.error), []).append(fault)
    for (plugin, call, error), same in alike.items():
        times = f" {count_text(len(same), 'time')}" if len(same) > 1 else ""
        first = f", first for job {same[0].job}" if same[0].job else ""
        talk(f"warning: plugin {plugin} failed in {call}{times}{first}: {one_line(error)}; it was left out")
