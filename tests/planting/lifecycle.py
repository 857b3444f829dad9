"""Bugs of the lifecycle: what becomes of a job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from rota.control import attempts
from rota.lifecycle import again, failure, live, placing, tasks
from rota.lifecycle.state import JobState


@contextmanager
def fences_are_not_checked() -> Iterator[None]:
    def position_of(state: JobState, rank: int, fence: int) -> int:
        for position, task in enumerate(state.live):
            if task.rank == rank:
                return position
        return real(state, rank, fence)

    def attempt(before: JobState, rank: int, fence: int) -> Any:
        task = before.task(rank)
        assert task is not None
        return real_attempt(before, rank, task.fence)

    real, real_attempt = live.position_of, attempts._attempt
    with patch.object(tasks, "position_of", position_of), patch.object(attempts, "_attempt", attempt):
        yield


@contextmanager
def fences_begin_anew() -> Iterator[None]:
    def job_waits(state: JobState, at_ms: int, **changes: Any) -> Any:
        return real(replace(state, fence=0), at_ms, **changes)

    real = again.job_waits
    with patch.object(again, "job_waits", job_waits):
        yield


@contextmanager
def lost_tasks_are_not_queued_again() -> Iterator[None]:
    def lost(state: JobState, live: Any, end: Any, at_ms: int) -> Any:
        advanced = real(state, live, end, at_ms)
        # Left as it was, without its task: neither does it run nor is it waiting.
        return replace(advanced, state=replace(advanced.state, phase=state.phase, held=True))

    real = tasks._lost
    with patch.object(tasks, "_lost", lost):
        yield


@contextmanager
def retries_have_no_pause() -> Iterator[None]:
    with patch.object(failure, "pause_ms", lambda retry, retries, chance: 0):
        yield


@contextmanager
def gangs_start_without_all_of_them() -> Iterator[None]:
    def bound(state: JobState, event: Any, at_ms: int) -> Any:
        return real(state, replace(event, seats=event.seats[: max(1, len(event.seats) - 1)]), at_ms)

    real = placing.bound
    with patch("rota.lifecycle.advance.bound", bound), patch.object(placing, "_run_together", _anything):
        yield


def _anything(*_: object) -> None:
    pass
