"""How an agent reaches its servers: one of them leads, and takes agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

import grpc

from rota.patience.backoff import Backoff
from rota.trust import SERVER_NAME, agent_credentials
from rota.trust.folder import has_joined
from rota.trust.local_socket import LocalSocket, is_local
from rota.wire.agents_pb2_grpc import AgentsStub

if TYPE_CHECKING:
    from rota.wire.agents_pb2_grpc import AgentsAsyncStub

CHANNEL_OPTIONS = (
    # Each channel has its own connection, so that heartbeats don't wait behind output.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 15_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    ("grpc.max_receive_message_length", 64 << 20),
)
_TO_WHOM = ("grpc.ssl_target_name_override", SERVER_NAME)
"""Certificates of servers name what they are, and not where."""
_AWAY = Backoff(first_s=0.4, longest_s=10.0)
_REFUSED = Backoff(first_s=0.4, longest_s=30.0)
_NEXT = Backoff(first_s=0.1, longest_s=0.1)
"""On the way from one server to the next."""


class DialResult(Enum):
    WELCOME = auto()
    """The connection was fine until it ended."""
    AWAY = auto()
    """It can't be reached, says nothing, or doesn't lead."""
    REFUSED = auto()


class Itinerary:
    """Which server to dial, and after which pause: the one that was found to lead first, then the others in
    turn. Pauses grow from round to round."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._targets = targets
        self._at = 0
        self._failures = 0
        self._was_refused = False

    @property
    def target(self) -> str:
        return self._targets[self._at]

    def after(self, outcome: DialResult, chance: float) -> float:
        """How long to wait before `target` is dialled, which may be another now."""
        if outcome is DialResult.WELCOME:
            self._failures = 0
            return _NEXT.pause_s(1, chance)
        self._failures += 1
        self._was_refused |= outcome is DialResult.REFUSED
        self._at = (self._at + 1) % len(self._targets)
        rounds, left = divmod(self._failures, len(self._targets))
        if left:
            return _NEXT.pause_s(1, chance)
        pauses = _REFUSED if self._was_refused else _AWAY
        self._was_refused = False
        return pauses.pause_s(rounds, chance)


class Lines:
    """Connections for the event loop, one to each server that ever led."""

    def __init__(self, proof: grpc.ChannelCredentials | None) -> None:
        self._proof = proof
        self._lines: dict[str, _Line] = {}

    def stub(self, target: str) -> AgentsAsyncStub:
        line = self._lines.get(target)
        if line is None or not (line.socket is None or line.socket.is_current):
            # One that leads nowhere any more is closed in the end: streams may still be about to find out.
            line = self._lines[target] = _Line(target, self._proof, line)
        return AgentsStub(line.channel)

    async def close(self) -> None:
        for line in self._lines.values():
            await line.close()


class _Line:
    def __init__(self, target: str, proof: grpc.ChannelCredentials | None, before: _Line | None) -> None:
        self._before = before
        self.socket = _local(target)
        if self.socket is not None:
            self.channel = grpc.aio.insecure_channel(self.socket.target, options=CHANNEL_OPTIONS)
        else:
            self.channel = loop_channel(target, _needed(proof))

    async def close(self) -> None:
        await self.channel.close()
        if self.socket is not None:
            self.socket.close()
        if self._before is not None:
            await self._before.close()


def credentials(folder: Path) -> grpc.ChannelCredentials | None:
    """None: it hasn't joined, and reaches a server of its own user on this machine alone."""
    if not has_joined(folder):
        return None
    key, certificate, ca = agent_credentials(folder)
    return grpc.ssl_channel_credentials(ca, key, certificate)


@contextmanager
def channel(target: str, proof: grpc.ChannelCredentials | None) -> Iterator[grpc.Channel]:
    """For a thread that may block. Raises TrustError if the other end may not be the server."""
    with ExitStack() as opened:
        if (socket := _local(target)) is not None:
            opened.enter_context(socket)
            made = grpc.insecure_channel(socket.target, options=CHANNEL_OPTIONS)
        else:
            made = grpc.secure_channel(target, _needed(proof), options=(*CHANNEL_OPTIONS, _TO_WHOM))
        yield opened.enter_context(made)


def loop_channel(target: str, proof: grpc.ChannelCredentials) -> grpc.aio.Channel:
    """For the event loop."""
    return grpc.aio.secure_channel(target, proof, options=(*CHANNEL_OPTIONS, _TO_WHOM))


def _local(target: str) -> LocalSocket | None:
    return LocalSocket(Path(target.partition(":")[2])) if is_local(target) else None


def _needed(proof: grpc.ChannelCredentials | None) -> grpc.ChannelCredentials:
    assert proof is not None, "checked before anything is dialled"
    return proof
