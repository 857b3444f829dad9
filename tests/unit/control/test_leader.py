"""Who leads is sure of it, and steps down before another can begin."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rota.control.leader import Leader
from rota.store.errors import StoreUnavailable
from rota.store.sql.leases import Claim, Leadership, Lease

pytestmark = pytest.mark.virtual_time

TTL_MS = 600
CLAIM = Claim("rota", "one", "http://127.0.0.1:1")


class Leases:
    """A store with answers set by the test, and a clock that asking moves on."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.asking_takes_s = 0.0
        self.is_free = True
        self.is_gone = False
        self.renewed: bool | None = True
        self.renewals = 0
        self.resigned: list[Leadership] = []

    def lead(self, claim: Claim, ttl_ms: int) -> Leadership | None:
        self._ask()
        return Leadership(claim.name, 7) if self.is_free else None

    def renew(self, leadership: Leadership, ttl_ms: int) -> bool:
        self.renewals += 1
        self._ask()
        assert self.renewed is not None
        return self.renewed

    def resign(self, leadership: Leadership) -> None:
        self._ask()
        self.resigned.append(leadership)

    def leader(self, name: str) -> Lease | None:
        self._ask()
        return None if self.is_free else Lease("other", "http://127.0.0.1:2", "", 5)

    def _ask(self) -> None:
        self.now_s += self.asking_takes_s
        if self.is_gone:
            raise StoreUnavailable("the database doesn't answer")


@asynccontextmanager
async def standing() -> AsyncIterator[tuple[Leases, Leader]]:
    leases = Leases()
    leader = Leader(leases, CLAIM, TTL_MS, clock=lambda: leases.now_s)  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(20):
            yield leases, leader
    finally:
        leader.close()


async def test_it_waits_until_the_lease_is_free() -> None:
    async with standing() as (leases, leader):
        leases.is_free = False
        waiting = asyncio.create_task(leader.lead())
        while (seen := await leader.who_leads()) is None:
            await asyncio.sleep(0)
        assert seen.holder == "other"
        assert not waiting.done()
        leases.is_gone = True
        await asyncio.sleep(TTL_MS / 1000)
        assert not waiting.done()
        leases.is_gone, leases.is_free = False, True
        await waiting
        assert await leader.who_leads() is None


async def test_a_lease_that_took_too_long_to_get_is_no_lease() -> None:
    async with standing() as (leases, leader):
        leases.asking_takes_s = TTL_MS / 1000
        leading = asyncio.create_task(leader.lead())
        await asyncio.sleep(TTL_MS / 2000)
        assert not leading.done()
        leases.asking_takes_s = 0
        await leading


@pytest.mark.real_time  # A thread asks.
async def test_a_lease_that_nobody_waits_for_any_more_is_given_up() -> None:
    async with standing() as (leases, leader):
        leading = asyncio.create_task(leader.lead())
        await asyncio.sleep(0)  # It has asked, and is told off before the answer is there.
        leading.cancel()
        await leader.resign()
        assert leases.resigned == [Leadership("rota", 7)]


async def test_it_leads_as_long_as_it_renews() -> None:
    async with standing() as (leases, leader):
        await leader.lead()
        holding = asyncio.create_task(leader.hold())
        while leases.renewals < 5:
            leases.now_s += 0.001
            await asyncio.sleep(0.01)
        assert not leader.lost.is_set()
        await leader.resign()
        await holding
        assert leases.resigned == [Leadership("rota", 7)]


async def test_it_steps_down_when_another_leads() -> None:
    async with standing() as (leases, leader):
        await leader.lead()
        leases.renewed = False
        await leader.hold()
        assert leader.lost.is_set()
        assert leases.renewals == 1


async def test_it_steps_down_before_a_lease_ends_that_it_cannot_renew() -> None:
    async with standing() as (leases, leader):
        await leader.lead()
        leases.is_gone = True
        leases.asking_takes_s = 0.03
        ends_s = leases.now_s + TTL_MS / 1000
        await leader.hold()
        assert leader.lost.is_set()
        assert leases.renewals > 3  # It is no matter of one lost answer.
        assert leases.now_s < ends_s


async def test_a_short_absence_of_the_database_is_survived() -> None:
    async with standing() as (leases, leader):
        await leader.lead()
        leases.is_gone = True
        holding = asyncio.create_task(leader.hold())
        while leases.renewals < 2:
            await asyncio.sleep(0.005)
        leases.is_gone = False
        before = leases.renewals
        while leases.renewals < before + 3:
            await asyncio.sleep(0.005)
        assert not leader.lost.is_set()
        await leader.resign()
        await holding


async def test_one_that_slept_through_its_lease_does_not_go_on() -> None:
    async with standing() as (leases, leader):
        await leader.lead()
        leases.now_s += 3600
        leases.renewed = False
        await leader.hold()
        assert leader.lost.is_set()


async def test_it_leads_again_after_it_was_lost() -> None:
    async with standing() as (leases, leader):
        await leader.lead()
        leases.renewed = False
        await leader.hold()
        await leader.lead()
        assert not leader.lost.is_set()


async def test_it_says_that_it_leads_only_while_nobody_else_can() -> None:
    async with standing() as (leases, leader):
        assert not leader.leads()
        await leader.lead()
        assert leader.leads()
        # Frozen for a while: nobody has looked at the lease since, and the timers haven't run.
        leases.now_s += 0.9 * TTL_MS / 1000
        assert not leader.lost.is_set()
        assert not leader.leads()
        leases.now_s -= 0.9 * TTL_MS / 1000
        assert leader.leads()
        await leader.resign()
        assert not leader.leads()
