"""A cluster that holds what it is given, for whoever lists it, and refuses what it is told to."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from rota.kube.api.client import EVERYTHING, Selection
from rota.kube.api.decoding import Page, Unreadable
from rota.kube.api.errors import Call, KubeError, api_error
from rota.kube.api.objects import Status
from rota.kube.api.resources import PLUGIN_GROUPS, VOLCANO_GROUPS, Resource
from rota.kube_objects.objects.metadata import KubeObject


def refusal(code: int, resource: Resource[Any]) -> KubeError:
    return api_error(Call("list", resource.name, resource.group), Status(code=code))


class StillCluster:
    namespace = "default"

    def __init__(self) -> None:
        self.held: dict[str, list[KubeObject]] = {}
        self.unreadable: dict[str, list[Unreadable]] = {}
        self.refusals: dict[str, list[KubeError | None]] = {}
        """Of each resource, call by call; None: this one is answered. The last counts from then on."""
        for absent in (PLUGIN_GROUPS, VOLCANO_GROUPS):
            self.refuse(absent, 404)

    def add(self, resource: Resource[Any], *objects: KubeObject) -> None:
        self.held.setdefault(resource.path(), []).extend(objects)

    def refuse(self, resource: Resource[Any], *codes: int | None) -> None:
        """None: it is answered."""
        self.refusals[resource.path()] = [code and refusal(code, resource) for code in codes]  # type: ignore[misc]

    async def pages(
        self, resource: Resource[Any], selection: Selection = EVERYTHING, *, page_size: int = 500
    ) -> AsyncGenerator[Page[Any], None]:
        refusals = self.refusals.get(resource.path(), [None])
        error = refusals.pop(0) if len(refusals) > 1 else refusals[0]
        if error is not None:
            raise error
        here = resource.path()
        yield Page(self.held.get(here, []), self.unreadable.get(here, []), "1", "")

    async def list_all(self, resource: Resource[Any], selection: Selection = EVERYTHING) -> list[Any]:
        found = [one async for page in self.pages(resource, selection) for one in page.items]
        name = selection.fields.removeprefix("metadata.name=")
        return [one for one in found if one.metadata.name == name] if name else found
