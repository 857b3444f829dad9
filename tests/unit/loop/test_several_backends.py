"""Several backends under one scheduler: each task, and each order about it, goes where its node is."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rota.backends.backend import Health
from rota.lifecycle.state import Phase
from rota.loop.live.runtime import Runtime
from rota.model.job import TaskGroup
from rota.model.policy import Policy
from rota.model.run import JobSpec
from rota.store.store import open_store
from tests.kit.live import ADA, no_files, now_ms, spec, submit, until
from tests.obedient import ObedientBackend, node

pytestmark = [pytest.mark.covers("back-1"), pytest.mark.virtual_time]


class Named(ObedientBackend):
    def __init__(self, name: str, health: Health | None = None) -> None:
        here = node(f"on-{name}")
        super().__init__(replace(here, spec=replace(here.spec, backend=name)))
        self.name = name
        self._health = health

    async def health(self) -> Health:
        if self._health is None:
            raise ConnectionError("nobody answers")
        return self._health


def on(backend: str) -> JobSpec:
    plain = spec()
    [group] = plain.template.groups
    groups = (TaskGroup(replace(group.spec, backends=(backend,))),)
    return replace(plain, template=replace(plain.template, groups=groups))


async def test_each_has_its_own_tasks_and_its_own_health(tmp_path: Path) -> None:
    a, b = Named("a", Health(True, "no limits here")), Named("b")
    with open_store(f"sqlite:///{tmp_path}/rota.db") as store:
        runtime = Runtime(store, Policy(), [a, b], now_ms, lambda: 0.5, no_files)
        await runtime.start()
        desk = runtime.desks
        of_a, of_b = await submit(desk, on("a"), on("b"))
        await until(desk, of_a, Phase.RUNNING)
        await until(desk, of_b, Phase.RUNNING)
        assert [start.ref.job for start in a.seen] == [of_a.id]
        assert [start.ref.job for start in b.seen] == [of_b.id]
        await desk.jobs.cancel(of_b.id, ADA, "")
        await until(desk, of_b, Phase.CANCELLED)
        assert (len(a.stopped), len(b.stopped)) == (0, 1)
        health = dict(await desk.status.health())
        assert health["a"] == Health(True, "no limits here")
        assert health["b"] == Health(False, "ConnectionError: nobody answers")
        assert health["store"].healthy
        assert [document.message for document in await desk.nodes.nodes()] == [
            "no limits here",
            "ConnectionError: nobody answers",
        ]
        await runtime.stop()
