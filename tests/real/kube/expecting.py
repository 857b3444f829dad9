"""What is waited for: pods that are bound, pods that are told something."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.real.kube.pods import Place


def bound_are(place: Place, *names: str) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return set(await place.bound()) == set(names)

    return is_so


def told(place: Place, reason: str, pod: str, part: str) -> Callable[[], Awaitable[bool]]:
    async def is_so() -> bool:
        return any(part in note for note in await place.notes(reason, pod))

    return is_so
