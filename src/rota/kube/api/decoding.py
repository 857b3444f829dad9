"""Answers of the API as typed objects, straight from their bytes.

An object that can't be read (API servers let more through than their documentation says) must not hide the
others: it comes as `Unreadable`, with its name and what is wrong.
"""

from __future__ import annotations

from enum import Enum
from typing import Generic, NamedTuple, TypeVar

import msgspec

from rota.kube.api.objects import ListAnswer, Status, WatchFrame
from rota.kube_objects.objects.metadata import KubeObject, Metadata

T = TypeVar("T", bound=KubeObject)


class Unreadable(NamedTuple):
    metadata: Metadata
    problem: str


class Page(NamedTuple, Generic[T]):
    items: list[T]
    unreadable: list[Unreadable]
    resource_version: str
    """Of the whole list: a watch can begin here once all pages are read."""
    continue_token: str
    """Empty: this is the last page."""


class ChangeKind(Enum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    """Nothing changed, up to this version; all but that is empty."""


class Change(NamedTuple, Generic[T]):
    kind: ChangeKind
    object: T | Unreadable | None
    """None: a bookmark."""
    resource_version: str


class WatchFailed(Exception):
    """The watch ends with a refusal."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


_STATUS = msgspec.json.Decoder(Status)
_FRAME = msgspec.json.Decoder(WatchFrame)
_ANY_OBJECT = msgspec.json.Decoder(KubeObject)
_RAW_LIST = msgspec.json.Decoder(ListAnswer[msgspec.Raw])
_OF_OBJECTS = {kind.value: kind for kind in ChangeKind if kind is not ChangeKind.BOOKMARK}


class ObjectDecoder(Generic[T]):
    """Of one kind of object. All methods raise `msgspec.DecodeError` for what isn't Kubernetes' at all."""

    def __init__(self, kind: type[T]) -> None:
        self._object = msgspec.json.Decoder(kind)
        self._list: msgspec.json.Decoder[ListAnswer[T]] = msgspec.json.Decoder(
            ListAnswer[kind]  # type: ignore[valid-type]
        )

    def object(self, answer: bytes) -> T:
        return self._object.decode(answer)

    def page(self, answer: bytes) -> Page[T]:
        unreadable: list[Unreadable] = []
        try:
            listed = self._list.decode(answer)
            items, metadata = listed.items or [], listed.metadata
        except msgspec.ValidationError:
            raw = _RAW_LIST.decode(answer)
            items, metadata = [], raw.metadata
            for one in map(self._readable, raw.items or ()):
                if isinstance(one, Unreadable):
                    unreadable.append(one)
                else:
                    items.append(one)
        return Page(items, unreadable, metadata.resource_version, metadata.continue_token)

    def change(self, line: bytes) -> Change[T] | None:
        """None: of a kind that isn't known yet. Raises WatchFailed."""
        frame = _FRAME.decode(line)
        if (kind := _OF_OBJECTS.get(frame.type)) is not None:
            found = self._readable(frame.object)
            return Change(kind, found, found.metadata.resource_version or "")
        if frame.type == ChangeKind.BOOKMARK.value:
            version = _ANY_OBJECT.decode(frame.object).metadata.resource_version or ""
            return Change(ChangeKind.BOOKMARK, None, version)
        if frame.type == "ERROR":
            raise WatchFailed(_STATUS.decode(frame.object))
        return None

    def _readable(self, raw: msgspec.Raw) -> T | Unreadable:
        try:
            return self._object.decode(raw)
        except msgspec.ValidationError as error:
            return Unreadable(_ANY_OBJECT.decode(raw).metadata, str(error))


def status_in(answer: bytes, code: int) -> Status:
    """What a refusal says; proxies in between say it in words of their own."""
    try:
        status = _STATUS.decode(answer)
    except msgspec.DecodeError:
        return Status(code=code, message=answer[:200].decode("utf-8", "replace").strip())
    return status if status.code == code else msgspec.structs.replace(status, code=code)
