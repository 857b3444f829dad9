"""Progress of a long simulation, on standard error: a bar on a terminal, else a line every few seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from rota.cli.output import talk

_STEPS = 500
LINE_EVERY_S = 5.0


def in_lines(label: str, total: int, clock: Callable[[], float] = monotonic) -> Callable[[int], None]:
    told_s = clock()

    def tell(done: int) -> None:
        nonlocal told_s
        if clock() - told_s >= LINE_EVERY_S:
            told_s = clock()
            talk(f"{label}: {done:,} of {total:,} jobs are over")

    return tell


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields a function that takes the number done."""
    if not sys.stderr.isatty():
        yield in_lines(label, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        shown = 0

        def tell(done: int) -> None:
            nonlocal shown
            # Moving the bar takes longer than many a cycle.
            if (done - shown) * _STEPS >= total:
                shown = done
                bar.update(task, completed=done)

        yield tell
