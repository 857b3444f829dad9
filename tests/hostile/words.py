"""What somebody says at the door of agents: messages of the protocol, whole or cut, in any order."""

from __future__ import annotations

from random import Random
from typing import Any

import grpc
from msgspec import Struct

from rota.wire import agents_pb2 as wire
from tests.hostile.odd import Odd

METHODS = ("Attend", "Perform", "Attend", "Perform", "Nonsense")


class Speech(Struct, frozen=True):
    method: str
    words: tuple[bytes, ...]


def a_speech(random: Random) -> Speech:
    odd = Odd(random)
    method = random.choice(METHODS)
    words = [_word(method, odd) for _ in range(random.choice((0, 1, 1, 2, 5)))]
    return Speech(method, tuple(odd.cut(word) if random.random() < 0.4 else word for word in words))


def _word(method: str, odd: Odd) -> bytes:
    ref = wire.TaskRef(job=_text(odd), rank=_number(odd), fence=_number(odd))
    if method == "Perform":
        news = odd.random.choice(
            (
                wire.TaskNews(opening=wire.Opening(session=_text(odd), ref=ref, kept=True)),
                wire.TaskNews(started=wire.Started(at_ms=_number(odd))),
                wire.TaskNews(ended=wire.Ended(at_ms=_number(odd), reason=_text(odd), message=_text(odd))),
            )
        )
        return news.SerializeToString()
    node = wire.Node(
        capacity=wire.Resources(cpu_milli=_number(odd), memory_bytes=_number(odd), slots=_number(odd)),
        gpus=_number(odd),
        pool=_text(odd),
        labels={_text(odd): _text(odd) for _ in range(odd.random.choice((0, 1, 500)))},
    )
    hello = wire.Hello(
        protocol=odd.random.choice((0, 1, 2, 2**31 - 1)),
        version=_text(odd),
        name=odd.random.choice(("n1", _text(odd))),
        instance=_text(odd),
        node=node,
        tasks=[ref] * odd.random.choice((0, 1, 2000)),
        clock_ms=_number(odd),
    )
    return odd.random.choice(
        (
            wire.AgentNews(hello=hello),
            wire.AgentNews(heartbeat=wire.Heartbeat(number=_number(odd), node=node, clock_ms=_number(odd))),
            wire.AgentNews(settled=wire.Settled(refs=[ref])),
        )
    ).SerializeToString()


def _text(odd: Odd) -> str:
    return odd.text().encode("utf-8", "replace").decode()


def _number(odd: Odd) -> int:
    return max(-(2**63), min(2**63 - 1, int(odd.number())))


def say(channel: grpc.Channel, speech: Speech, timeout_s: float = 10) -> str:
    """The name of the status that it is answered with."""
    call: Any = channel.stream_stream(f"/rota.agents.v1.Agents/{speech.method}")
    try:
        for _ in call(iter(speech.words), timeout=timeout_s):
            pass
    except grpc.RpcError as error:
        name = str(error.code().name)
        # In the middle of a word, gRPC's own core ends the stream so.
        if name == "INTERNAL" and error.details() == "Internal error from Core":
            return "ENDED"
        return name
    return "OK"
