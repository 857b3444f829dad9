"""A cluster read once, by lists alone: for whoever asks a question of it and leaves."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from rota.kube.api.client import EVERYTHING, PAGE_SIZE, Selection
from rota.kube.api.decoding import Page
from rota.kube.api.errors import Expired, Forbidden, NotFound
from rota.kube.api.resources import PODS, Resource
from rota.kube.mirror.mirror import Mirror
from rota.kube.mirror.sources import Source, sources_of
from rota.kube_objects.namespaces import name_of
from rota.kube_objects.objects.metadata import KubeObject
from rota.kube_objects.objects.pods import Pod
from rota.model.ids import TaskName

T = TypeVar("T", bound=KubeObject)


class Lister(Protocol):
    """Of a client, what reading takes."""

    def pages(
        self, resource: Resource[T], selection: Selection = ..., *, page_size: int = ...
    ) -> AsyncGenerator[Page[T], None]: ...


class PodsRead(Struct, frozen=True):
    """All of them, those too that a mirror has no use for."""

    pods: dict[TaskName, Pod]
    unreadable: dict[TaskName, str]
    """What is wrong with those that aren't as the API has them."""


async def read_once(client: Lister, mirror: Mirror) -> PodsRead:
    """Afterwards the mirror is settled: gangs are as large as they are now."""
    read = PodsRead({}, {})
    for source in sources_of(mirror):
        try:
            pages = await _listed(client, source)
        except (NotFound, Forbidden):
            if not source.is_optional:
                raise
            continue
        for page in pages:
            _tell(source, page)
            if source.resource is PODS:
                read.pods.update((name_of(pod.metadata), pod) for pod in page.items)
                read.unreadable.update((name_of(one.metadata), one.problem) for one in page.unreadable)
    mirror.settle(float("inf"))
    return read


async def _listed(client: Lister, source: Source) -> list[Page[Any]]:
    """All pages, or none is told: a list that is begun anew must not be told twice."""
    try:
        return [page async for page in client.pages(source.resource, EVERYTHING, page_size=PAGE_SIZE)]
    except Expired:
        # It changes faster than its pages are read: in one go, then.
        return [page async for page in client.pages(source.resource, EVERYTHING, page_size=0)]


def _tell(source: Source, page: Page[Any]) -> None:
    for found in page.items:
        source.handler(None, found)
    for unreadable in page.unreadable:
        if source.on_unreadable is not None:
            source.on_unreadable(unreadable)
