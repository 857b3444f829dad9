"""Spans of work for OpenTelemetry. Without a configured SDK they are nothing, and cost as much."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue

_tracer = trace.get_tracer("rota")


@contextmanager
def span(name: str, **attributes: AttributeValue) -> Iterator[Span]:
    """`rota.cycle`, `rota.request` …: the name is given without its first part."""
    with _tracer.start_as_current_span(f"rota.{name}", attributes=attributes) as current:
        yield current
