"""Names that a server knows, for completion while a user types."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

from rota.cli.client import connection
from rota.cli.client.connection import Server
from rota.lifecycle.state import TERMINAL, Phase
from rota.sdk.errors import RotaError
from rota.views.jobs import phase_text
from rota.views.quoting import one_line

T = TypeVar("T")


def unfinished_jobs(context: str | None, patience_s: float, most: int) -> list[tuple[str, str]]:
    phases = [phase for phase in Phase if phase not in TERMINAL]
    jobs = _asked(
        context, patience_s, lambda server: list(islice(server.jobs(phases=phases, limit=most), most))
    )
    return [(one.id, one_line(f"{phase_text(one)}: {one.name}")) for one in jobs]


def nodes(context: str | None, patience_s: float) -> list[str]:
    return [one.name for one in _asked(context, patience_s, lambda server: list(server.nodes()))]


def queues(context: str | None, patience_s: float) -> list[str]:
    return [one.name for one in _asked(context, patience_s, lambda server: list(server.queues()))]


def _asked(context: str | None, patience_s: float, question: Callable[[Server], list[T]]) -> list[T]:
    """Empty if the answer takes long. A client would retry, and completion can't wait for that."""
    answers: SimpleQueue[list[T]] = SimpleQueue()
    Thread(target=_ask, args=(context, question, answers), daemon=True).start()
    try:
        return answers.get(timeout=patience_s)
    except Empty:
        return []


def _ask(context: str | None, question: Callable[[Server], list[T]], answers: SimpleQueue[list[T]]) -> None:
    try:
        with connection.connect(context) as server:
            answers.put(question(server))
    except (RotaError, OSError):
        answers.put([])
