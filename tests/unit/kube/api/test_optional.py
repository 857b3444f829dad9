"""An informer of what a cluster may not have. Time is virtual."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from structlog.testing import capture_logs

from rota.kube.api.informer import Informer
from rota.kube.api.objects import PodGroup
from rota.kube.api.optional import LOOK_AGAIN_S, OptionalInformer
from rota.kube.api.resources import PLUGIN_GROUPS
from tests.kit.virtual_time import run
from tests.unit.kube.mirror.pod_groups import group
from tests.unit.kube.still_cluster import StillCluster

pytestmark = pytest.mark.covers("kube-2", "kube-5")


class Watched(StillCluster):
    """In which nothing changes."""

    async def watch(self, *_: Any, **__: Any) -> AsyncGenerator[list[Any], None]:
        await asyncio.Event().wait()
        yield []


def follow(*codes: int | None, seconds: float) -> tuple[list[PodGroup | None], bool, list[Any]]:
    """What was told so long after it began, whether it is synced, and what was logged."""
    server = Watched()
    server.add(PLUGIN_GROUPS, group(2))
    server.refuse(PLUGIN_GROUPS, *codes)
    told: list[PodGroup | None] = []
    is_synced = False

    async def main() -> None:
        nonlocal is_synced
        informer = Informer(server, PLUGIN_GROUPS)
        informer.subscribe(lambda _, new: told.append(new))
        optional = OptionalInformer(server, PLUGIN_GROUPS, informer)
        following = asyncio.create_task(optional.run())
        await asyncio.sleep(seconds)
        is_synced = optional.has_synced
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    with capture_logs() as logged:
        run(main())
    return told, is_synced, logged


def test_what_is_there_is_followed() -> None:
    told, is_synced, logged = follow(None, seconds=1.0)
    assert (told, is_synced, logged) == ([group(2)], True, [])


@pytest.mark.parametrize("code", [403, 404])
def test_the_scheduler_goes_on_without_it(code: int) -> None:
    """It is said once, however often it is looked for."""
    told, is_synced, logged = follow(code, seconds=10 * LOOK_AGAIN_S)
    assert (told, is_synced) == ([], True)
    (line,) = logged
    assert (line["log_level"], line["resource"]) == ("info", "podgroups.scheduling.x-k8s.io")


def test_it_is_found_when_it_comes() -> None:
    told, _, _ = follow(404, None, None, seconds=LOOK_AGAIN_S + 1)
    assert told == [group(2)]


def test_nothing_is_decided_while_nobody_knows() -> None:
    told, is_synced, _ = follow(503, seconds=LOOK_AGAIN_S / 2)
    assert (told, is_synced) == ([], False)
