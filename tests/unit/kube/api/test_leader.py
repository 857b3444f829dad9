"""Leading by a lease, in virtual time: replicas, an API server that fails on demand, clocks that differ."""

import asyncio
from typing import Any

import pytest
from msgspec import convert, to_builtins

from rota.kube.api.errors import Call, NotConnected, Unreachable, api_error
from rota.kube.api.leader import Leader, LeaseTimes
from rota.kube.api.objects import Lease, LeaseSpec, Status
from rota.kube_objects.objects.metadata import Metadata

pytestmark = [pytest.mark.covers("kube-6"), pytest.mark.virtual_time]

CALL = Call("patch", "leases")
LENGTH_S = 15


class Server:
    """Holds one lease, and is away or loses answers when it is told to."""

    def __init__(self) -> None:
        self.spec: dict[str, Any] | None = None
        self.version = 0
        self.is_away = False
        self.is_silent = False
        self.loses_answers = 0

    async def get(self, resource: Any, name: str, namespace: str = "") -> Any:
        await self._begin()
        if self.spec is None:
            raise api_error(CALL, Status(code=404))
        return self._lease(name)

    async def create(self, resource: Any, body: Any, namespace: str = "") -> Any:
        await self._begin()
        if self.spec is not None:
            raise api_error(CALL, Status(code=409, reason="AlreadyExists"))
        self._merge(body["spec"])
        return self._lease("lease")

    async def patch(self, resource: Any, name: str, change: Any, namespace: str = "") -> Any:
        await self._begin()
        if self.spec is None:
            raise api_error(CALL, Status(code=404))
        if change["metadata"]["resourceVersion"] != str(self.version):
            raise api_error(CALL, Status(code=409))
        self._merge(change["spec"])
        if self.loses_answers:
            self.loses_answers -= 1
            raise Unreachable(CALL, "the connection broke off")
        return self._lease(name)

    async def _begin(self) -> None:
        await asyncio.sleep(0.01)
        if self.is_silent:
            await asyncio.Event().wait()
        if self.is_away:
            raise NotConnected(CALL, "refused")

    def _merge(self, spec: LeaseSpec) -> None:
        self.spec = {**(self.spec or {}), **to_builtins(spec)}
        self.version += 1

    def _lease(self, name: str) -> Lease:
        return Lease(Metadata(name=name, resource_version=str(self.version)), convert(self.spec, LeaseSpec))


def replica(server: Server, identity: str, clock_ahead_s: float = 0.0) -> Leader:
    loop = asyncio.get_running_loop()
    return Leader(server, "ns", "lease", identity, clock=lambda: loop.time() + clock_ahead_s)


def now_s() -> float:
    return asyncio.get_running_loop().time()


async def leading(server: Server, identity: str = "a") -> tuple[Leader, "asyncio.Future[None]"]:
    leader = replica(server, identity)
    await leader.lead()
    return leader, asyncio.ensure_future(leader.hold())


async def test_the_first_leads_and_goes_on_leading() -> None:
    server = Server()
    leader, holding = await leading(server)
    other = replica(server, "b")
    waiting = asyncio.ensure_future(other.lead())
    await asyncio.sleep(1000)
    assert leader.leads()
    assert not holding.done()
    assert not waiting.done()
    assert not other.leads()
    assert other.seen_leader == "a"
    assert server.spec is not None
    assert server.spec["leaseDurationSeconds"] == LENGTH_S


@pytest.mark.parametrize("clock_ahead_s", [-1e6, 0.0, 1e6])
async def test_one_that_is_killed_is_followed_after_the_length_of_its_lease(clock_ahead_s: float) -> None:
    server = Server()
    _, holding = await leading(server)
    other = replica(server, "b", clock_ahead_s)
    waiting = asyncio.ensure_future(other.lead())
    await asyncio.sleep(60)
    holding.cancel()
    killed_s = now_s()
    await waiting
    assert LENGTH_S - 2 <= now_s() - killed_s <= LENGTH_S + 9
    assert other.leads()
    assert server.spec is not None
    assert server.spec["leaseTransitions"] == 1


@pytest.mark.parametrize("how", ["is_away", "is_silent"])
async def test_one_that_cant_renew_steps_down_before_another_leads(how: str) -> None:
    server = Server()
    leader, holding = await leading(server)
    await asyncio.sleep(60)
    setattr(server, how, True)
    gone_s = now_s()
    await holding
    assert not leader.leads()
    assert leader.lost.is_set()
    assert 7.9 <= now_s() - gone_s <= 10


async def test_a_short_absence_of_the_server_is_survived() -> None:
    server = Server()
    leader, holding = await leading(server)
    server.is_away = True
    await asyncio.sleep(7)
    server.is_away = False
    await asyncio.sleep(100)
    assert leader.leads()
    assert not holding.done()


async def test_a_lost_answer_is_no_lost_leadership() -> None:
    server = Server()
    leader, holding = await leading(server)
    server.loses_answers = 2
    await asyncio.sleep(100)
    assert leader.leads()
    assert not holding.done()


async def test_one_that_stood_still_doesnt_lead_when_it_goes_on() -> None:
    ahead_s = 0.0
    loop = asyncio.get_running_loop()
    server = Server()
    leader = Leader(server, "ns", "lease", "a", clock=lambda: loop.time() + ahead_s)
    await leader.lead()
    assert leader.leads()
    ahead_s = 20.0  # Its clock went on while its timers didn't.
    assert not leader.leads()
    assert not leader.lost.is_set(), "no timer has said so yet"
    await leader.hold()
    assert leader.lost.is_set()


async def test_whoever_finds_another_in_its_place_steps_down_at_once() -> None:
    server = Server()
    leader, holding = await leading(server)
    server._merge(LeaseSpec(holder_identity="usurper"))
    began_s = now_s()
    await holding
    assert now_s() - began_s <= 2.1
    assert leader.seen_leader == "usurper"
    assert not leader.leads()


async def test_a_lease_that_was_deleted_is_lost() -> None:
    server = Server()
    leader, holding = await leading(server)
    server.spec = None
    await holding
    assert not leader.leads()
    await leader.lead()
    assert leader.leads()


async def test_one_that_resigns_is_followed_soon() -> None:
    server = Server()
    leader, holding = await leading(server)
    other = replica(server, "b")
    waiting = asyncio.ensure_future(other.lead())
    await asyncio.sleep(60)
    await leader.resign()
    resigned_s = now_s()
    assert not leader.leads()
    await asyncio.gather(waiting, holding)
    assert now_s() - resigned_s <= 4.1


async def test_resigning_in_vain_is_no_error() -> None:
    server = Server()
    leader, _ = await leading(server)
    server.is_silent = True
    await leader.resign()
    assert not leader.leads()
    await replica(server, "b").resign()


async def test_of_many_only_one_leads_at_any_moment() -> None:
    server = Server()
    replicas = [replica(server, str(number), clock_ahead_s=1000.0 * number) for number in range(5)]

    async def serve(one: Leader) -> None:
        while True:
            await one.lead()
            await one.hold()

    serving = [asyncio.ensure_future(serve(one)) for one in replicas]
    leaders = set()
    for number in range(3000):
        await asyncio.sleep(0.1)
        server.is_away = number % 400 in range(250, 390)
        now_leading = [index for index, one in enumerate(replicas) if one.leads()]
        assert len(now_leading) <= 1
        leaders.update(now_leading)
    assert len(leaders) > 1
    assert not any(one.done() for one in serving)


def test_shorter_leases_are_renewed_more_often() -> None:
    assert LeaseTimes.of_length(15) == LeaseTimes()
    assert LeaseTimes.of_length(3) == LeaseTimes(3, 2.0, 0.4)


@pytest.mark.parametrize("times", [(10, 10.0, 2.0), (15, 10.0, 10.0), (15, 10.0, 0.0)])
def test_times_that_cant_be(times: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="shorter than the one before"):
        LeaseTimes(*times)
