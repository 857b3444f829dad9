"""The line to the keeper, when keepers end at the worst moments."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rota.backends.backend import BackendUnavailable, TaskRef
from rota.backends.process.client.line import KeeperLine
from rota.backends.process.frames import Description
from rota.model.ids import JobId

pytestmark = [pytest.mark.virtual_time, pytest.mark.covers("agent-6")]

REF = TaskRef(JobId("1"), 0, 1)


class Keeper:
    """A link to one that ends when it is asked, or answers."""

    features = ()

    def __init__(self, ends: bool) -> None:
        self._ends = ends
        self._is_lost = asyncio.Event()

    async def call(self, make: Any) -> Description:
        if self._ends:
            self._is_lost.set()
            raise BackendUnavailable("the keeper has exited; another one is started")
        return Description(1, (REF,), (), ())

    async def lost(self) -> None:
        await self._is_lost.wait()

    async def close(self) -> None:
        self._is_lost.set()


def line(*ends: bool) -> KeeperLine:
    """To one keeper after the other."""
    keepers = [Keeper(one) for one in ends]

    async def connect(on_reports: object) -> Any:
        if not keepers:
            raise BackendUnavailable("there is none")
        return keepers.pop(0)

    return KeeperLine(connect)


async def test_a_keeper_that_ends_as_soon_as_there_is_a_connection_is_followed_by_another() -> None:
    """An agent that is started in this moment goes on."""
    made = line(True, False)
    await made.open()
    assert await made.running() == (REF,)
    assert made.may_write(REF.job)
    await made.close()


async def test_the_next_one_is_asked_when_one_ends_without_an_answer() -> None:
    made = line(False, True, False)
    await made.open()
    assert made._link is not None
    await made._link.close()
    await asyncio.sleep(0)
    assert await made.running() == (REF,)
    await made.close()


@pytest.mark.parametrize("ends", [(True,), (True, True, True, True)])
async def test_one_that_never_answers_is_told_of(ends: tuple[bool, ...]) -> None:
    made = line(*ends)
    with pytest.raises(BackendUnavailable):
        await made.open()
    assert made._staying is not None
    assert made._staying.done()
