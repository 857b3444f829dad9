"""Words for the answers to an extension, and for what is in its way."""

from __future__ import annotations

from collections.abc import Callable

from rota.model.extension import Answer, Extension, InTheWay, Obstacle
from rota.model.quantities import format_duration


def answer_text(extension: Extension) -> str:
    return _ANSWERS[extension.answer](extension)


def obstacle_text(entry: InTheWay) -> str:
    return _OBSTACLES[entry.obstacle].format(entry.name)


def _span(span_ms: int | None) -> str:
    return format_duration(span_ms or 0)


_ANSWERS: dict[Answer, Callable[[Extension], str]] = {
    Answer.GRANTED: lambda e: f"may run for {_span(e.limit_ms)} in all instead of {_span(e.had_ms)}",
    Answer.IN_THE_WAY: lambda e: f"can't run for {_span(e.limit_ms)}: its nodes are needed",
    Answer.OVER_BUDGET: lambda e: (
        f"can't run for {_span(e.limit_ms)}: it would cost more than it may cost in all"
    ),
    Answer.UNKNOWN_JOB: lambda e: "is unknown",
    Answer.NOT_RUNNING: lambda e: "doesn't run: change the limit of the job that waits",
    Answer.EVICTED: lambda e: "is about to be evicted",
    Answer.NO_LIMIT: lambda e: "has no time limit: it may run for as long as it takes",
    Answer.LIMIT_PASSED: lambda e: f"is past its time limit of {_span(e.had_ms)}, and being ended",
    Answer.ALREADY_RAN: lambda e: f"has run for {_span(e.limit_ms)} or more already",
    Answer.NOT_LONGER: lambda e: f"may run for {_span(e.had_ms)} already",
}

_OBSTACLES = {
    Obstacle.MAINTENANCE: "maintenance {}",
    Obstacle.RESERVATION: "reservation {}",
    Obstacle.RESERVATION_ENDS: "its own reservation {} ends",
    Obstacle.PROMISE: "promised start of {}",
}
