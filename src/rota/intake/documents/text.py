"""Text of YAML or JSON: its data, and where in it each field was written."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from rota.intake.documents.compose import Composed, compose, items_until_end, position_of
from rota.intake.documents.json_text import decode_json, json_events
from rota.intake.documents.yaml_events import yaml_events
from rota.intake.errors import InputError, Position


def compose_text(text: str, file: str) -> "tuple[Source, list[Composed]]":
    if file.endswith(".json"):
        return _compose_json(text, file)
    if text.lstrip().startswith(("{", "[")):
        # YAML may begin like that too, and is told what is wrong in its own terms.
        with suppress(InputError):
            return _compose_json(text, file)
    return Source(file, text, is_json=False), list(compose(file, yaml_events(file, text)))


def _compose_json(text: str, file: str) -> "tuple[Source, list[Composed]]":
    if not text.strip():
        return Source(file, text, is_json=True), []
    return Source(file, text, is_json=True), [Composed(decode_json(file, text), has_nonfinite=False)]


class _Place(NamedTuple):
    position: Position
    children: "Mapping[str | int, _Place]" = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Source:
    """The text a document came from: read once more for positions, if anybody asks for one."""

    file: str
    text: str
    is_json: bool

    @cached_property
    def places(self) -> list[_Place]:
        events = json_events(self.text) if self.is_json else yaml_events(self.file, self.text)
        return [
            _place(next(events), events, anchors={})
            for event in events
            if isinstance(event, DocumentStartEvent)
        ]


def _place(event: Event, events: Iterator[Event], anchors: dict[str | None, _Place]) -> _Place:
    """Of data that was composed without error."""
    if isinstance(event, AliasEvent):
        return anchors[event.anchor]
    place = _Place(position_of(event))
    if isinstance(event, SequenceStartEvent):
        items = enumerate(items_until_end(events))
        place = _Place(place.position, {index: _place(item, events, anchors) for index, item in items})
    elif isinstance(event, MappingStartEvent):
        keys = items_until_end(events)
        place = _Place(place.position, dict(_place_of_field(key, events, anchors) for key in keys))
    if isinstance(event, NodeEvent) and event.anchor is not None:
        anchors[event.anchor] = place
    return place


def _place_of_field(
    key: Event, events: Iterator[Event], anchors: dict[str | None, _Place]
) -> tuple[str, _Place]:
    assert isinstance(key, ScalarEvent)
    value = _place(next(events), events, anchors)
    return key.value, _Place(position_of(key), value.children)
