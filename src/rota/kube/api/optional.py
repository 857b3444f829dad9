"""An informer of a resource that a cluster may not have, or that this account may not see.

Without it the scheduler works as if there was none of it; it looks again, as long as it runs.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Generic, TypeVar

import structlog

from rota.kube.api.errors import Forbidden, KubeError, NotFound
from rota.kube.api.informer import Informer, Reader
from rota.kube.api.resources import Resource
from rota.kube_objects.objects.metadata import KubeObject

T = TypeVar("T", bound=KubeObject)

LOOK_AGAIN_S = 10.0

log = structlog.get_logger()


class OptionalInformer(Generic[T]):
    def __init__(
        self,
        client: Reader,
        resource: Resource[T],
        informer: Informer[T],
        look_again_s: float = LOOK_AGAIN_S,
    ) -> None:
        """`informer` is of that resource."""
        self._client = client
        self._resource = resource
        self._informer = informer
        self._look_again_s = look_again_s
        self._said = ""
        self.synced = asyncio.Event()
        """Set once everything was listed, or it is known that there is nothing to list."""

    @property
    def has_synced(self) -> bool:
        return self.synced.is_set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while not await self._is_there():
            await asyncio.sleep(self._look_again_s)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._informer.run())
            await self._informer.synced.wait()
            self.synced.set()

    async def _is_there(self) -> bool:
        try:
            async with aclosing(self._client.pages(self._resource, page_size=1)) as pages:
                await anext(pages)
        except NotFound:
            self._go_without("this cluster has none")
        except Forbidden as error:
            self._go_without(str(error))
        except KubeError as error:
            log.warning("kube.resource_unknown", resource=self._name, why=str(error))
        else:
            return True
        return False

    def _go_without(self, why: str) -> None:
        if why != self._said:
            log.info("kube.resource_absent", resource=self._name, why=why)
            self._said = why
        self.synced.set()

    @property
    def _name(self) -> str:
        return f"{self._resource.name}.{self._resource.group}"
