"""A controller of the test's: it remembers all that it is told, as one with a disk would."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec.structs import replace

from rota.stateless_scheduler.client import (
    Action,
    Ended,
    FilePart,
    Output,
    Placement,
    Refused,
    SchedulerClient,
)

PATIENCE_S = 60.0


class Remembering:
    """Implements Ledger."""

    def __init__(self) -> None:
        self.actions: dict[str, Action] = {}
        self.ended_: dict[str, Ended] = {}
        self.reasons: dict[str, str] = {}
        self.places: dict[str, list[Placement]] = {}
        self.running_: dict[str, int] = {}
        self.log: dict[tuple[str, int], bytes] = {}
        self.files: dict[tuple[str, str], bytes] = {}
        self.refusals: list[Refused] = []
        self.slowness_s = 0.0
        """How long it takes over each piece of output."""
        self._changed = asyncio.Event()

    def add(self, *actions: Action) -> Sequence[Action]:
        self.actions.update((one.id, one) for one in actions)
        return actions

    def unfinished(self) -> Iterable[Action]:
        return list(self.actions.values())

    async def placed(self, placements: Sequence[Placement]) -> None:
        for one in placements:
            if one.action in self.actions:
                self.actions[one.action] = replace(
                    self.actions[one.action], placement=one, output_bytes=0, last_fence=one.fence
                )
                self.places.setdefault(one.action, []).append(one)
        self._notify()

    async def waiting(self, actions: Sequence[str], reason: str) -> None:
        for action in actions:
            self.reasons[action] = reason
            if action in self.actions:
                self.actions[action] = replace(self.actions[action], placement=None, output_bytes=0)
        self._notify()

    async def running(self, action: str, fence: int, at_ms: int) -> None:
        self.running_[action] = fence
        self._notify()

    async def output(self, output: Output) -> None:
        if self.slowness_s:
            await asyncio.sleep(self.slowness_s)
        key = output.action, output.fence
        so_far = self.log.get(key, b"")
        assert output.offset_bytes == len(so_far), "all of it, once and in order"
        self.log[key] = so_far + b"".join(piece.data for piece in output.pieces)
        action = self.actions[output.action]
        self.actions[output.action] = replace(action, output_bytes=len(self.log[key]))
        self._notify()

    async def file(self, part: FilePart) -> None:
        key = part.action, part.path
        so_far = self.files.get(key, b"")[: part.offset_bytes]
        self.files[key] = so_far + part.data

    async def ended(self, ended: Ended) -> None:
        self.actions.pop(ended.action, None)
        self.ended_[ended.action] = ended
        self._notify()

    async def refused(self, refused: Refused) -> None:
        self.refusals.append(refused)
        if refused.action in self.actions and self.actions[refused.action].placement is None:
            del self.actions[refused.action]
        self._notify()

    def _notify(self) -> None:
        self._changed.set()

    async def until(self, find: Callable[[], Any], what: str = "it") -> Any:
        """What `find` gives, once it gives something."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not (found := find()):
                    self._changed.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(0.1):
                            await self._changed.wait()
                return found
        except TimeoutError:
            raise AssertionError(f"waited in vain for {what}") from None

    async def end_of(self, action: str) -> Ended:
        ended: Ended = await self.until(lambda: self.ended_.get(action), f"the end of {action}")
        return ended

    async def until_running(self, *actions: str) -> None:
        await self.until(lambda: set(actions) <= self.running_.keys(), f"{actions} to run")

    def node_of(self, action: str) -> str:
        return self.places[action][-1].node

    def wrote(self, action: str) -> bytes:
        """Under its latest fence."""
        return self.log.get((action, self.places[action][-1].fence), b"")


@asynccontextmanager
async def directing(
    target: str, ledger: Remembering, name: str = "ci", token: str = "", ca: bytes | None = None
) -> AsyncIterator[SchedulerClient]:
    client = SchedulerClient(target, name, token or token_of(name), ledger, ca=ca)
    running = asyncio.create_task(client.run())
    try:
        await ledger.until(lambda: client.is_connected or running.done(), "a connection")
        if running.done():
            running.result()
        yield client
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def token_of(controller: str) -> str:
    return f"rota_the_token_of_{controller}_0123456789"
