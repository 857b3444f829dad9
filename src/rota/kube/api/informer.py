"""A copy of what a resource holds, kept current: listed once, then watched.

    list ─► watch ─► it ended, or broke off ─► watch on from the last version
     ▲         └───► 410: what happened since is no longer known ──┐
     └─────────────────────────────────────────────────────────────┘ and the difference is told

Handlers are told each change once, in order, in the event loop; what was missed while nobody was watching
they are told as a difference. Only what is there now is held, and of each object only the typed fields.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import structlog

from rota.kube.api.client import EVERYTHING, PAGE_SIZE, Selection
from rota.kube.api.decoding import Change, ChangeKind, Page, Unreadable
from rota.kube.api.errors import Expired, KubeError, Silent
from rota.kube.api.resources import Resource
from rota.kube_objects.objects.metadata import KubeObject, Metadata
from rota.patience.backoff import Backoff

T = TypeVar("T", bound=KubeObject)
Handler: TypeAlias = Callable[[T | None, T | None], None]
"""Gets what was and what is: (None, new) was added, (old, None) is gone."""

WATCHED_FOR_S = (300, 600)
"""Chance decides, so that not all watches end at once."""
PAUSES = Backoff(0.2, 30.0)
_BULKY_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
"""A second copy of the whole object, as text."""

log = structlog.get_logger()


class ObjectKey(NamedTuple):
    namespace: str
    """Empty for what is in none."""
    name: str


def key_of(metadata: Metadata) -> ObjectKey:
    return ObjectKey(metadata.namespace or "", metadata.name or "")


class Reader(Protocol):
    """Of a client, what an informer asks."""

    def pages(
        self, resource: Resource[T], selection: Selection = ..., *, page_size: int = ...
    ) -> AsyncGenerator[Page[T], None]: ...

    def watch(
        self,
        resource: Resource[T],
        resource_version: str,
        selection: Selection = ...,
        *,
        timeout_s: int = ...,
    ) -> AsyncGenerator[list[Change[T]], None]: ...


class Informer(Generic[T]):
    def __init__(
        self,
        client: Reader,
        resource: Resource[T],
        selection: Selection = EVERYTHING,
        *,
        resync_s: float | None = None,
        on_unreadable: Callable[[Unreadable], None] | None = None,
        pauses: Backoff = PAUSES,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`resync_s`: how often handlers are told of everything again, as (it, it).

        `on_unreadable` is told of objects that aren't as the API has them; they are left out.
        """
        self._client = client
        self._resource = resource
        self._selection = selection
        self._resync_s = resync_s
        self._on_unreadable = on_unreadable
        self._pauses = pauses
        self._chance = chance
        self._handlers: list[Handler[T]] = []
        self._objects: dict[ObjectKey, T] = {}
        self._version: str | None = None
        """Up to which all is known; None: it must be listed."""
        self._has_answered = False
        """Since the last pause."""
        self.synced = asyncio.Event()
        """Set once everything was listed."""
        self.failure: KubeError | None = None
        """Why what is held may be out of date; None: it isn't."""

    @property
    def objects(self) -> Mapping[ObjectKey, T]:
        return MappingProxyType(self._objects)

    @property
    def has_synced(self) -> bool:
        return self.synced.is_set()

    def subscribe(self, handler: Handler[T]) -> None:
        """It is told at once of what is there."""
        self._handlers.append(handler)
        for found in self._objects.values():
            handler(None, found)

    async def run(self) -> None:
        """Until it is cancelled, or a handler raises."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow())
            if self._resync_s is not None:
                tasks.create_task(self._resync(self._resync_s))

    async def _follow(self) -> None:
        failures = 0
        while True:
            self._has_answered = False
            pause_s = 0.0
            try:
                if self._version is None:
                    await self._list()
                await self._watch(self._version or "")
            except Silent:
                # Nothing has changed; or nobody is there any more, and the next watch finds out.
                failures = 0
                continue
            except KubeError as error:
                self.failure = error
                pause_s = error.retry_after_s or 0.0
                if isinstance(error, Expired):
                    self._version = None
                log.warning("kube.watch_interrupted", resource=self._resource.name, why=str(error))
            else:
                if self._has_answered:
                    failures = 0
                    continue
                # A server that ends each watch at once must not be asked without a pause.
            failures = 1 if self._has_answered else failures + 1
            await asyncio.sleep(max(pause_s, self._pauses.pause_s(failures, self._chance())))

    async def _list(self) -> None:
        try:
            self._version = await self._list_in_pages_of(PAGE_SIZE)
        except Expired:
            # It changes faster than its pages are read: in one go, then.
            self._version = await self._list_in_pages_of(0)
        self.synced.set()

    async def _list_in_pages_of(self, page_size: int) -> str:
        seen: set[ObjectKey] = set()
        version = ""
        listing = self._client.pages(self._resource, self._selection, page_size=page_size)
        async with aclosing(listing) as pages:
            async for page in pages:
                self._answered()
                for found in page.items:
                    key = key_of(found.metadata)
                    seen.add(key)
                    self._put(key, found)
                for unreadable in page.unreadable:
                    self._leave_out(unreadable)
                version = page.resource_version
        for key in [key for key in self._objects if key not in seen]:
            self._remove(key)
        return version

    async def _watch(self, version: str) -> None:
        shortest_s, longest_s = WATCHED_FOR_S
        timeout_s = round(shortest_s + (longest_s - shortest_s) * self._chance())
        watch = self._client.watch(self._resource, version, self._selection, timeout_s=timeout_s)
        async with aclosing(watch) as batches:
            async for changes in batches:
                self._answered()
                for change in changes:
                    self._apply(change)
                    self._version = change.resource_version or self._version

    def _apply(self, change: Change[T]) -> None:
        found = change.object
        if found is None:
            return
        if isinstance(found, Unreadable):
            if change.kind is ChangeKind.DELETED:
                self._remove(key_of(found.metadata))
            else:
                self._leave_out(found)
        elif change.kind is ChangeKind.DELETED:
            self._remove(key_of(found.metadata))
        else:
            self._put(key_of(found.metadata), found)

    def _put(self, key: ObjectKey, new: T) -> None:
        old = self._objects.get(key)
        if old is not None:
            if old.metadata.resource_version == new.metadata.resource_version:
                return
            if old.metadata.uid != new.metadata.uid:
                # Deleted and made anew while nobody was watching.
                self._remove(key)
                old = None
        if new.metadata.annotations:
            new.metadata.annotations.pop(_BULKY_ANNOTATION, None)
        self._objects[key] = new
        for handler in self._handlers:
            handler(old, new)

    def _remove(self, key: ObjectKey) -> None:
        old = self._objects.pop(key, None)
        if old is not None:
            for handler in self._handlers:
                handler(old, None)

    def _leave_out(self, unreadable: Unreadable) -> None:
        key = key_of(unreadable.metadata)
        log.warning("kube.object_unreadable", name="/".join(key).lstrip("/"), why=unreadable.problem)
        self._remove(key)
        if self._on_unreadable is not None:
            self._on_unreadable(unreadable)

    def _answered(self) -> None:
        self._has_answered = True
        self.failure = None

    async def _resync(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            for found in list(self._objects.values()):
                for handler in self._handlers:
                    handler(found, found)
