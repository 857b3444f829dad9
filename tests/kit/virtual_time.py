"""Coroutines in an event loop in which no time passes."""

from __future__ import annotations

from collections.abc import Coroutine
from random import Random
from typing import Any

from tests.faults.event_loop import VirtualLoop


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    loop = VirtualLoop(Random(1), lambda: 0.0)
    try:
        loop.run_until_complete(coroutine)
    finally:
        loop.lay_to_rest()
    assert not loop.exceptions
