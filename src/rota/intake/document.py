"""Files of YAML or JSON as plain data that remembers where each field was written."""

import os
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

from rota.intake._compose import Composed, compose, items_until_end, position_of
from rota.intake._json import decode_json, json_events
from rota.intake._source import MAX_BYTES, decode, display_name, read_text
from rota.intake._yaml import yaml_events
from rota.intake.errors import FieldPath, InputError, Position


@dataclass(frozen=True, eq=False)
class Document:
    """One document of a file. `data` may share parts (aliases): it is there to be read, not changed."""

    path: str
    data: object
    has_nonfinite: bool
    _source: "_Source | None"
    """None: it never stood in a file."""
    _index: int

    def locate(self, path: FieldPath) -> Position:
        """Where the field was written: its key, or the nearest thing around it that is there."""
        assert self._source is not None
        place = self._source.places[self._index]
        for step in path:
            inner = place.children.get(step)
            if inner is None:
                break
            place = inner
        return place.position

    def at(self, path: FieldPath) -> object:
        """The data of a field that is known to be there."""
        data = self.data
        for step in path:
            data = data[step]  # type: ignore[index]
        return data

    def error(self, path: FieldPath, problem: str, remedy: str = "") -> InputError:
        position = None if self._source is None else self.locate(path)
        return InputError(self.path, problem, remedy, position=position, path=path)


def document_of(data: object) -> Document:
    """Of data that came by the network or from a program: errors name the field alone."""
    return Document("", data, has_nonfinite=False, _source=None, _index=0)


def read_documents(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> tuple[Document, ...]:
    """The documents of a file that have content, at least one. The path "-" means standard input."""
    name = os.fspath(path)
    return _parse(read_text(name, max_bytes), display_name(name))


def parse_documents(raw: bytes, file: str) -> tuple[Document, ...]:
    """The same for what is in memory already; `file` is its name in errors."""
    return _parse(decode(raw, file), file)


def _parse(text: str, file: str) -> tuple[Document, ...]:
    source, composed = _compose(text, file)
    documents = tuple(
        Document(file, data, has_nonfinite, source, index)
        for index, (data, has_nonfinite) in enumerate(composed)
        if data is not None
    )
    if not documents:
        raise InputError(file, "is empty", "write at least one document into it")
    return documents


def _compose(text: str, file: str) -> "tuple[_Source, list[Composed]]":
    if file.endswith(".json"):
        return _compose_json(text, file)
    if text.lstrip().startswith(("{", "[")):
        # YAML may begin like that too, and is told what is wrong in its own terms.
        with suppress(InputError):
            return _compose_json(text, file)
    return _Source(file, text, is_json=False), list(compose(file, yaml_events(file, text)))


def _compose_json(text: str, file: str) -> "tuple[_Source, list[Composed]]":
    if not text.strip():
        return _Source(file, text, is_json=True), []
    return _Source(file, text, is_json=True), [Composed(decode_json(file, text), has_nonfinite=False)]


class _Place(NamedTuple):
    position: Position
    children: "Mapping[str | int, _Place]" = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class _Source:
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
