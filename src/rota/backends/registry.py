"""All backends, by name: a task is sent to the backend of its node. Used by `dispatch` and `loop`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from rota.backends.backend import Backend, Health


class UnknownBackend(LookupError):
    """The text names those that there are."""


class Registry:
    def __init__(self, backends: Sequence[Backend] = ()) -> None:
        self._by_name: dict[str, Backend] = {}
        for backend in backends:
            self.add(backend)

    def __iter__(self) -> Iterator[Backend]:
        """By name."""
        return iter([self._by_name[name] for name in sorted(self._by_name)])

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __len__(self) -> int:
        return len(self._by_name)

    def add(self, backend: Backend) -> None:
        if backend.name in self._by_name:
            raise ValueError(f"there are two backends named {backend.name!r}; give one another name")
        self._by_name[backend.name] = backend

    def get(self, name: str) -> Backend:
        try:
            return self._by_name[name]
        except KeyError:
            known = ", ".join(sorted(self._by_name)) or "none"
            raise UnknownBackend(f"there is no backend {name!r}; there are: {known}") from None

    async def health(self, within_s: float = 10.0) -> dict[str, Health]:
        """Of all, at the same time: one that fails or doesn't answer says nothing about the others."""
        backends = list(self)
        answers = await asyncio.gather(*(_health(backend, within_s) for backend in backends))
        return {backend.name: answer for backend, answer in zip(backends, answers, strict=True)}


async def _health(backend: Backend, within_s: float) -> Health:
    try:
        async with asyncio.timeout(within_s):
            return await backend.health()
    except TimeoutError:
        return Health(False, f"no answer within {within_s:g} s")
    except Exception as error:
        return Health(False, f"{type(error).__name__}: {error}")
