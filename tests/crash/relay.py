"""Between those who dial and those who listen: connections that can be cut, or fall silent.

In a thread of its own.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_PIECE_BYTES = 1 << 16
_WITH_A_RESET = struct.pack("ii", 1, 0)


Place = int | Path
"""A port of this machine, or a socket."""


class Relay:
    """From one who dials to a place, by another of its kind."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._speaks = asyncio.Event()
        self._speaks.set()
        self._listening: asyncio.Server | None = None
        self._links: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.StreamWriter] = set()

    async def listen(self) -> str:
        """Where."""
        if isinstance(self._place, Path):
            # In the same folder, which is for the same user alone. A server that stands by makes it later.
            self._place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._place.with_name(f"relay-{id(self)}")
            self._listening = await asyncio.start_unix_server(self._connected, path)
            return f"unix:{path}"
        self._listening = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        host, port = self._listening.sockets[0].getsockname()
        return f"{host}:{port}"

    def cut(self) -> None:
        for end in self._ends:
            connection: socket.socket = end.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _WITH_A_RESET)
            end.transport.abort()

    def part(self) -> None:
        self._speaks.clear()

    def join(self) -> None:
        self._speaks.set()

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.close()
        for link in self._links:
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.current_task()
        assert link is not None
        self._links.add(link)
        ends = {writer}
        try:
            await self._speaks.wait()
            from_there, to_there = await self._dial()
            ends.add(to_there)
            self._ends |= ends
            await asyncio.gather(self._pass_on(reader, to_there), self._pass_on(from_there, writer))
        except OSError:
            pass  # One side is gone: the other is told below.
        finally:
            self._links.discard(link)
            self._ends -= ends
            for end in ends:
                end.close()

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._place, Path):
            return await asyncio.open_unix_connection(self._place)
        return await asyncio.open_connection("127.0.0.1", self._place)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(_PIECE_BYTES):
            await self._speaks.wait()
            writer.write(piece)
            await writer.drain()
        writer.close()


class Relays:
    """From all who dial to all places that each of them knows."""

    def __init__(self, ways: Mapping[str, Sequence[Place]]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relays", daemon=True)
        self._thread.start()
        self._relays = {name: [Relay(place) for place in places] for name, places in ways.items()}

    def listen(self, name: str) -> list[str]:
        """Where it is to dial."""
        return [
            asyncio.run_coroutine_threadsafe(relay.listen(), self._loop).result()
            for relay in self._relays[name]
        ]

    def cut(self, name: str) -> None:
        self._each(name, Relay.cut)

    def part(self, name: str) -> None:
        self._each(name, Relay.part)

    def join(self, name: str) -> None:
        self._each(name, Relay.join)

    def close(self) -> None:
        for relays in self._relays.values():
            for relay in relays:
                asyncio.run_coroutine_threadsafe(relay.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _each(self, name: str, call: Callable[[Relay], None]) -> None:
        for relay in self._relays[name]:
            self._loop.call_soon_threadsafe(call, relay)
