"""Progress of a long simulation: a bar on standard error, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

_STEPS = 500


@contextmanager
def progress_bar(label: str, total: int) -> Iterator[Callable[[int], None] | None]:
    """Yields a function that takes the number done; None: there is no terminal."""
    if not sys.stderr.isatty():
        yield None
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
