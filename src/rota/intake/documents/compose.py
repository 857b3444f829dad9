"""Parser events put together to plain data, within bounds.

PyYAML's own composer won't do: it reads YAML 1.1 (`on` is true, `12:30` is 750), follows aliases without a
bound, overflows the stack on deep nesting, lets the last of two equal keys win, and is eight times slower.
"""

import math
from collections.abc import Container, Iterator
from typing import NamedTuple, NoReturn

from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from rota.intake.documents.scalars import resolve
from rota.intake.documents.source import MAX_DEPTH
from rota.intake.errors import InputError, Position

MAX_ALIASED_VALUES = 2_000_000

_CORE = "tag:yaml.org,2002:"
_TEXT_TAGS = ("!", f"{_CORE}str")
_TYPE_OF_TAG = {
    f"{_CORE}int": int,
    f"{_CORE}float": float,
    f"{_CORE}bool": bool,
    f"{_CORE}null": type(None),
}
_SCALAR_TAGS = frozenset((None, *_TEXT_TAGS, *_TYPE_OF_TAG))
_SEQUENCE_TAGS = frozenset((None, "!", f"{_CORE}seq"))
_MAPPING_TAGS = frozenset((None, "!", f"{_CORE}map"))


class Composed(NamedTuple):
    data: object
    has_nonfinite: bool
    """Somewhere in it is a NaN or an infinity, which no field takes."""


def compose(file: str, events: Iterator[Event]) -> Iterator[Composed]:
    """The data of each document, empty ones included."""
    for event in events:
        if isinstance(event, DocumentStartEvent):
            composer = _Composer(file, events)
            data = composer.value(next(events), depth=0)
            yield Composed(data, composer.has_nonfinite)


def items_until_end(events: Iterator[Event]) -> Iterator[Event]:
    """The first event of each item of the collection that was just begun."""
    for event in events:
        if isinstance(event, CollectionEndEvent):
            return
        yield event


def position_of(event: Event) -> Position:
    assert event.start_mark is not None
    return Position(event.start_mark.line + 1, event.start_mark.column + 1)


class _Anchored(NamedTuple):
    value: object
    size: int
    height: int


class _Composer:
    """Composes one document; MAX_DEPTH bounds its recursion."""

    def __init__(self, file: str, events: Iterator[Event]) -> None:
        self.has_nonfinite = False
        self._file = file
        self._events = events
        self._anchors: dict[str | None, _Anchored | None] = {}
        """None while the anchored value is still open."""
        self._size = 0
        """Values so far, those that aliases repeat counted again."""
        self._aliased_size = 0
        self._deepest = 0
        """Within the innermost open anchor."""

    def value(self, event: Event, depth: int) -> object:
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        assert isinstance(event, NodeEvent)
        self._size += 1
        self._reach(depth, event)
        if event.anchor is None:
            return self._content(event, depth)
        return self._anchor(event, depth)

    def _content(self, event: NodeEvent, depth: int) -> object:
        if isinstance(event, ScalarEvent):
            return self._scalar(event)
        if isinstance(event, SequenceStartEvent):
            self._check_tag(event, event.tag, _SEQUENCE_TAGS)
            return [self.value(item, depth + 1) for item in items_until_end(self._events)]
        assert isinstance(event, MappingStartEvent)
        self._check_tag(event, event.tag, _MAPPING_TAGS)
        return self._mapping(depth)

    def _mapping(self, depth: int) -> dict[str, object]:
        mapping: dict[str, object] = {}
        seen: dict[str, Event] = {}
        for event in items_until_end(self._events):
            key = self._key(event)
            if key in seen:
                line = position_of(seen[key]).line
                self._refuse(event, f'duplicate key "{key}", first on line {line}', "remove or rename one")
            seen[key] = event
            mapping[key] = self.value(next(self._events), depth + 1)
        return mapping

    def _key(self, event: Event) -> str:
        """Numbers, booleans and null are read as their text: labels may look like that."""
        if not isinstance(event, ScalarEvent):
            self._refuse(event, "a key must be text", "write the key out")
        self._check_tag(event, event.tag, _SCALAR_TAGS)
        if event.value == "<<" and _is_plain(event):
            self._refuse(event, 'merge keys ("<<") are not supported', "write the merged fields out")
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(event.value, size=1, height=0)
        return event.value

    def _scalar(self, event: ScalarEvent) -> object:
        self._check_tag(event, event.tag, _SCALAR_TAGS)
        if event.tag in _TEXT_TAGS or (event.tag is None and not _is_plain(event)):
            return event.value
        try:
            value = resolve(event.value)
        except ValueError:
            self._refuse(event, f"a number of {len(event.value):,} digits is too long", "shorten it")
        if event.tag is not None and type(value) is not _TYPE_OF_TAG[event.tag]:
            self._refuse(event, f'"{event.value}" does not fit its tag {event.tag}', "drop the tag")
        if isinstance(value, float) and not math.isfinite(value):
            self.has_nonfinite = True
        return value

    def _anchor(self, event: NodeEvent, depth: int) -> object:
        self._anchors[event.anchor] = None
        size_before, deepest_before = self._size, self._deepest
        self._deepest = depth
        value = self._content(event, depth)
        size = self._size - size_before + 1
        self._anchors[event.anchor] = _Anchored(value, size, height=self._deepest - depth)
        self._deepest = max(self._deepest, deepest_before)
        return value

    def _alias(self, event: AliasEvent, depth: int) -> object:
        name = event.anchor
        if name not in self._anchors:
            self._refuse(
                event, f"nothing before the alias *{name} is anchored as &{name}", "write the value out"
            )
        anchored = self._anchors[name]
        if anchored is None:
            self._refuse(event, f"the alias *{name} repeats what it is a part of", "write the value out")
        self._size += anchored.size
        self._aliased_size += anchored.size
        if self._aliased_size > MAX_ALIASED_VALUES:
            problem = f"aliases expand to more than {MAX_ALIASED_VALUES:,} values"
            self._refuse(event, problem, "repeat less, above all within what is repeated itself")
        self._reach(depth + anchored.height, event)
        return anchored.value

    def _reach(self, depth: int, event: Event) -> None:
        if depth > MAX_DEPTH:
            self._refuse(event, f"nested deeper than {MAX_DEPTH} levels", "make it flatter")
        self._deepest = max(self._deepest, depth)

    def _check_tag(self, event: Event, tag: str | None, allowed: Container[str | None]) -> None:
        if tag not in allowed:
            self._refuse(event, f"the tag {tag} is not supported here", "drop the tag")

    def _refuse(self, event: Event, problem: str, remedy: str) -> NoReturn:
        raise InputError(self._file, problem, remedy, position=position_of(event))


def _is_plain(event: ScalarEvent) -> bool:
    return event.tag is None and event.implicit[0]
