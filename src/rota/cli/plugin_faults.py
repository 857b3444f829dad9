"""Plugins that misbehave: their prints don't get into the data, and their errors are reported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout

from rota.cli.output import talk
from rota.model.plan import PluginFault
from rota.views.amounts import count_text
from rota.views.quoting import one_line


@contextmanager
def prints_as_talk() -> Iterator[None]:
    with redirect_stdout(sys.stderr):
        yield


def report(faults: Iterable[PluginFault]) -> None:
    """Each fault once, with the number of times."""
    alike: dict[tuple[str, str, str], list[PluginFault]] = {}
    for fault in faults:
        alike.setdefault((fault.plugin, fault.call, fault.error), []).append(fault)
    for (plugin, call, error), same in alike.items():
        times = f" {count_text(len(same), 'time')}" if len(same) > 1 else ""
        job = f", first for job {same[0].job}" if same[0].job else ""
        talk(f"warning: plugin {plugin} failed in {call}{times}{job}: {one_line(error)}; left out there")
