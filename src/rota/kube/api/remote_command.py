"""Commands run in containers of pods: what they write comes back, and what they read is sent.

Messages of the connection begin with the number of their channel; the last one, on the channel of errors,
says how the command ended. (Kubernetes' channel protocol, versions 4 and 5.)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from enum import IntEnum
from typing import NamedTuple
from urllib.parse import urlencode

import aiohttp
import msgspec

from rota.kube.api.errors import BadAnswer, Call, Unreachable
from rota.kube.api.objects import Status
from rota.kube.api.resources import PODS

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_STATUS = msgspec.json.Decoder(Status)
_PIECE_BYTES = 1 << 16
_SUCCEEDED = 86
_TELLING = ("/bin/sh", "-c", f'"$@" && exit {_SUCCEEDED}', "sh")
"""Before each command: where a kubelet goes away in the middle of one, the API server tells of a success. So
only an exit code is believed, and success has one of its own."""


class Channel(IntEnum):
    IN = 0
    OUT = 1
    ERR = 2
    STATUS = 3


class Piece(NamedTuple):
    channel: Channel
    """OUT or ERR."""
    data: bytes


def exec_path(namespace: str, pod: str, container: str, command: Sequence[str], *, has_input: bool) -> str:
    flags = [("stdin", "true")] if has_input else []
    words = (("command", word) for word in (*_TELLING, *command))
    query = [("container", container), *words, *flags, ("stdout", "true"), ("stderr", "true")]
    return f"{PODS.path(namespace, pod, 'exec')}?{urlencode(query)}"


class RemoteCommand:
    """One that runs."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, call: Call) -> None:
        self._socket = socket
        self._call = call
        self.exit_code: int | None = None
        """None: it runs, or it isn't known how it ended. 0, if it succeeded."""
        self.problem = ""
        """What the cluster says of its end, where that isn't an exit code."""

    async def send(self, data: bytes) -> None:
        """Waits while the command doesn't read."""
        try:
            for at in range(0, len(data), _PIECE_BYTES):
                await self._socket.send_bytes(bytes([Channel.IN]) + data[at : at + _PIECE_BYTES])
        except (ConnectionError, aiohttp.ClientError) as error:
            raise Unreachable(self._call, str(error) or "the connection is closed") from None

    async def pieces(self) -> AsyncIterator[Piece]:
        """Until it ends. Raises Unreachable where the connection does first."""
        async for message in self._socket:
            if message.type is not aiohttp.WSMsgType.BINARY or not message.data:
                continue
            number, data = message.data[0], message.data[1:]
            if number == Channel.STATUS:
                self._ended(data)
                return
            if number in (Channel.OUT, Channel.ERR) and data:
                yield Piece(Channel(number), data)
        raise Unreachable(self._call, "the connection ended before the command did")

    def _ended(self, data: bytes) -> None:
        try:
            status = _STATUS.decode(data)
        except msgspec.DecodeError as error:
            raise BadAnswer(self._call, str(error)) from None
        if status.status == "Success":
            self.problem = "the connection ended before the command did"
            return
        codes = [cause.message for cause in status.causes if cause.reason == "ExitCode"]
        if codes and codes[0].isdecimal():
            self.exit_code = 0 if int(codes[0]) == _SUCCEEDED else int(codes[0])
        else:
            self.problem = status.message or status.reason
