"""Reads what a pod writes, from its log-collector: on and on, also when connections break."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from rota.backends.backend import Stream
from rota.backends.kubernetes.output import PodOutput
from rota.backends.kubernetes.outputs import COLLECTOR
from rota.backends.kubernetes.pod_calls import PodCalls
from rota.backends.kubernetes.scripts import follow_command
from rota.kube.api.errors import Call, KubeError, Unreachable
from rota.kube.api.remote_command import Channel
from rota.patience.backoff import Backoff

_LONGEST_HEAD_BYTES = 64
_STREAMS = {Channel.OUT: Stream.OUT, Channel.ERR: Stream.ERR}


class Follower:
    """Of one task."""

    def __init__(
        self,
        calls: PodCalls,
        pod: str,
        output: PodOutput,
        on_begin: Callable[[int | None], None],
        pauses: Backoff,
    ) -> None:
        """`on_begin` is told when the task began, in hundredths of seconds; None: it never did."""
        self._calls = calls
        self._pod = pod
        self._output = output
        self._on_begin = on_begin
        self._pauses = pauses
        self.failures = 0
        """In a row."""
        self.failure = ""

    async def follow(self) -> None:
        """Until the task has ended and all was read, or until no more is kept."""
        while True:
            try:
                await self.read()
                return
            except KubeError as error:
                self.failures += 1
                self.failure = str(error)
                await asyncio.sleep(self._pauses.pause_s(self.failures, random.random()))

    async def read(self, *, is_final: bool = False) -> None:
        """`is_final`: what there is, without waiting for more."""
        done = self._output.read_bytes
        command = follow_command(done[Stream.OUT], done[Stream.ERR], is_final=is_final)
        head: bytes | None = b""
        async with self._calls.client.run_in(self._calls.namespace, self._pod, COLLECTOR, command) as running:
            async for channel, data in running.pieces():
                if head is not None and channel is Channel.OUT:
                    head, data = await self._begun(head + data)
                if data:
                    await self._output.take(_STREAMS[channel], data)
                if self._output.is_full:
                    return
        if running.exit_code != 0:
            call = Call("create", "pods/exec", namespace=self._calls.namespace, name=self._pod)
            raise Unreachable(call, running.problem or f"exit code {running.exit_code}")

    async def _begun(self, text: bytes) -> tuple[bytes | None, bytes]:
        """What is still missing of the first line, and what comes after it."""
        line, newline, rest = text.partition(b"\n")
        if not newline and len(text) < _LONGEST_HEAD_BYTES:
            return text, b""
        self.failures = 0
        await self._output.begin()
        began = line.removeprefix(b"begun ").decode("ascii", "replace")
        self._on_begin(int(began) if began.isdecimal() else None)
        return None, rest
