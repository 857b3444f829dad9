from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from rota.cli.output import OutputFormat, show, talk, write_document
from rota.cli.plugin_faults import prints_as_talk
from rota.cli.policies.replay.document import replay_document
from rota.cli.policies.replay.view import CycleView, ReplayView
from rota.cli.policies.replay.wording import plugin_note, version_note
from rota.intake.errors import InputError
from rota.intake.files import read_policy
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.records.difference import difference
from rota.loop.records.replay import Replay, Replayed


class ReplayResult(Enum):
    EQUAL = "equal"
    DIFFERENT = "different"
    UNREADABLE = "unreadable"
    """At least a part of the record."""


def replay(
    folder: str, policy_file: str | None, cycle: int | None, output: OutputFormat, *, every: bool = False
) -> ReplayResult:
    """Shows the differences, and answers the outcome. `every`: all rows of a table."""
    host = PluginHost()
    policy = None if policy_file is None else read_policy(policy_file, host.names)
    replayed = Replay(Path(folder), host, policy)
    view = ReplayView(policy_file, cycle)
    with prints_as_talk():
        for one in replayed.cycles(cycle):
            view.add(one.number, one.is_equal, _seen(one) if _is_shown(one, cycle) else None)
    view.damage = [str(error) for error in replayed.damage]
    view.notes = list(_notes(replayed))
    if cycle is not None and not view.count and not view.damage:
        raise InputError(folder, f"there is no cycle {cycle:,}", "`rota replay` without --cycle counts them")
    _write(view, output, every or output is OutputFormat.WIDE)
    for note in view.notes:
        talk(f"warning: {note}")
    for damage in view.damage:
        talk(damage)
    if view.damage:
        return ReplayResult.UNREADABLE
    return ReplayResult.EQUAL if view.equal == view.count else ReplayResult.DIFFERENT


def _is_shown(one: Replayed, cycle: int | None) -> bool:
    return not one.is_equal or cycle is not None


def _seen(one: Replayed) -> CycleView:
    return CycleView(one.number, one.now_ms, one.input_hash, difference(one.recorded, one.decided))


def _notes(replayed: Replay) -> Iterator[str]:
    for version in replayed.other_versions:
        yield version_note(version)
    for other in replayed.other_plugins:
        yield plugin_note(other)


def _write(view: ReplayView, output: OutputFormat, every: bool) -> None:
    if output.is_table:
        from rota.cli.policies.replay.tables import replay_tables

        show(replay_tables(view, every=every))
    else:
        write_document(replay_document(view), output)
