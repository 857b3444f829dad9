"""What all documents of the REST interface have in common. Times are in UTC, durations in seconds."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Document(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The base of all; never used by itself."""


class Page(Document, Generic[T], frozen=True, kw_only=True):
    items: list[T]
    next: str | None = None
    """The `after` of the next page; null: this is the last."""


class ChangeDocument(Document, frozen=True, kw_only=True):
    """What a change did, or, in a dry run, would do."""

    dry_run: bool
    changed: list[str]
    """Ids or names."""
    message: str = ""


class Problem(Document, frozen=True, kw_only=True):
    """RFC 9457."""

    type: str
    """A path of the documentation, as in "/problems/bad-input"."""
    title: str
    status: int
    detail: str
    instance: str
    field: str | None = None
    """Where in the request, as in "jobs[3].resources.cpu"."""
    help: str | None = None
    """What to do."""
    data: dict[str, object] | None = None
    """More details: for a refused extension, what prevents it."""
