"""Calls as gRPC makes them: messages both ways, a status at the end, and an end that both sides learn of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import grpc
import pytest

from tests.faults.network import Conditions
from tests.faults.rpc import Call, CallContext, Channel, Kind, Method, RpcServer
from tests.faults.talk import Two

WORDS: Kind[str, str] = Kind("Words", str.encode, bytes.decode, str.encode, bytes.decode)


class Service:
    """Says each word again, until it is told to stop."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.ended: list[str] = []

    async def words(self, requests: AsyncIterator[str], context: CallContext) -> AsyncIterator[str]:
        try:
            async for word in requests:
                self.heard.append(word)
                if word == "go away":
                    await context.abort(grpc.StatusCode.PERMISSION_DENIED, "I'd rather not")
                yield f"{word}, from {context.peer()}"
            self.ended.append("said all")
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise


def begin(two: Two) -> tuple[Service, Channel, Call[str, str]]:
    service = Service()
    two.context(two.there).run(RpcServer, two.there, "port", [Method(WORDS, service.words)])
    channel = Channel(two.here, "there", "port")
    return service, channel, channel.begin(WORDS)


@pytest.mark.parametrize("seed", range(10))
def test_messages_go_both_ways_in_order(seed: int) -> None:
    two = Two(seed, Conditions(drops=0.3, duplicates=0.3, delays=0.3))

    async def test() -> None:
        service, _, call = begin(two)
        for number in range(20):
            await call.write(str(number))
        await call.done_writing()
        assert [answer async for answer in call] == [f"{number}, from here" for number in range(20)]
        assert await call.read() is grpc.aio.EOF
        assert service.ended == ["said all"]
        with pytest.raises(asyncio.InvalidStateError):
            await call.write("late")

    two.run(test)


def test_the_server_may_refuse() -> None:
    two = Two(1)

    async def test() -> None:
        _, channel, call = begin(two)
        await call.write("go away")
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await call.read()
        assert (error.value.code(), error.value.details()) == (
            grpc.StatusCode.PERMISSION_DENIED,
            "I'd rather not",
        )
        other = channel.begin(WORDS)
        await other.write("once more")
        assert await other.read() == "once more, from here"

    two.run(test)


def test_a_call_that_is_cancelled_ends_its_handler() -> None:
    two = Two(1)

    async def test() -> None:
        service, _, call = begin(two)
        await call.write("hello")
        await call.read()
        call.cancel()
        await asyncio.sleep(0.1)
        assert service.ended != []
        with pytest.raises(asyncio.CancelledError):
            await call.read()

    two.run(test)


def test_a_server_that_is_gone_is_unavailable() -> None:
    two = Two(1)

    async def test() -> None:
        _, channel, call = begin(two)
        await call.write("hello")
        await call.read()
        two.kill(two.there)
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await call.read()
        assert error.value.code() is grpc.StatusCode.UNAVAILABLE
        with pytest.raises(grpc.aio.AioRpcError):
            await channel.begin(WORDS).read()

    two.run(test)


@pytest.mark.parametrize("seed", range(20))
def test_a_client_that_is_gone_ends_its_handler_one_way_or_the_other(seed: int) -> None:
    two = Two(seed)
    ended: list[str] = []

    async def test() -> None:
        service, _, call = begin(two)
        await call.write("hello")
        await call.read()
        two.here.break_all()
        with suppress(grpc.aio.AioRpcError):
            await call.read()
        await asyncio.sleep(0.1)
        ended.extend(service.ended)

    two.run(test)
    assert ended in (["said all"], ["cancelled"])
