"""Backends by name."""

import asyncio
from typing import cast

import pytest

from rota.backends.backend import Backend, Health
from rota.backends.registry import Registry, UnknownBackend


class Answering:
    def __init__(self, name: str, answer: Health | Exception | None) -> None:
        self.name = name
        self._answer = answer

    async def health(self) -> Health:
        if self._answer is None:
            await asyncio.Event().wait()
        if isinstance(self._answer, Exception):
            raise self._answer
        return cast(Health, self._answer)


def registry(*backends: Answering) -> Registry:
    return Registry([cast(Backend, backend) for backend in backends])


@pytest.mark.covers("back-1")
def test_backends_are_found_by_name() -> None:
    known = registry(Answering("b", Health(True)), Answering("a", Health(True)))
    assert known.get("b").name == "b"
    assert [backend.name for backend in known] == ["a", "b"]
    with pytest.raises(UnknownBackend, match="no backend 'c'; there are: a, b"):
        known.get("c")


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="two backends named 'a'"):
        registry(Answering("a", Health(True)), Answering("a", Health(True)))


@pytest.mark.covers("back-1")
def test_one_that_fails_says_nothing_about_the_others() -> None:
    known = registry(
        Answering("fails", RuntimeError("broken")), Answering("silent", None), Answering("well", Health(True))
    )
    health = asyncio.run(known.health(within_s=0.01))
    assert health["well"] == Health(True)
    assert health["fails"] == Health(False, "RuntimeError: broken")
    assert health["silent"] == Health(False, "no answer within 0.01 s")
