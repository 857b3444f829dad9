"""Spans are named and carry what is known of the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry.trace import INVALID_SPAN, Span

from rota.loop.telemetry import tracing
from rota.loop.telemetry.tracing import span


class Tracer:
    def __init__(self) -> None:
        self.begun: list[tuple[str, dict[str, Any]]] = []
        self.ended = 0

    @contextmanager
    def start_as_current_span(self, name: str, attributes: dict[str, Any]) -> Iterator[Span]:
        self.begun.append((name, attributes))
        try:
            yield INVALID_SPAN
        finally:
            self.ended += 1


def test_a_span_has_the_name_of_its_work_and_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tracer = Tracer()
    monkeypatch.setattr(tracing, "_tracer", tracer)
    with pytest.raises(ValueError, match="broken"), span("cycle", waiting=3):
        raise ValueError("broken")
    assert tracer.begun == [("rota.cycle", {"waiting": 3})]
    assert tracer.ended == 1


def test_without_an_sdk_a_span_records_nothing() -> None:
    with span("cycle") as current:
        assert not current.is_recording()
