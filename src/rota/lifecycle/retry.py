"""Whether what failed is tried again, and after which pause."""

from __future__ import annotations

from msgspec.structs import replace

from rota.lifecycle.state import JobState, TaskEnd
from rota.model.run import BACKOFF_MS, MAX_BACKOFF_MS, MOST_RETRIES, Retry

PROMPT_RETRIES = 3
"""So many come after the pause that the job asks for, however short that is."""
LEAST_PAUSE_MS = 1000
"""Before all later ones: a job that always fails is not to keep the whole cluster busy."""


def may_retry(state: JobState, end: TaskEnd) -> bool:
    retry = state.spec.retry
    if state.retries >= min(retry.limit, MOST_RETRIES):
        return False
    return not retry.exit_codes or end.exit_code in retry.exit_codes


def pause_ms(retry: Retry, retries: int, chance: float) -> int:
    """Before the retry of this number, from 1 on. Jobs that failed together come back at different
    moments, since each is given another chance: up to a half more."""
    first = BACKOFF_MS if retry.backoff_ms is None else retry.backoff_ms
    longest = MAX_BACKOFF_MS if retry.max_backoff_ms is None else retry.max_backoff_ms
    doublings = min(retries - 1, longest.bit_length())
    pause = min(longest, first << doublings)
    if retries > PROMPT_RETRIES:
        pause = max(pause, LEAST_PAUSE_MS)
    return pause + int(pause * chance / 2)


def within_pause(state: JobState, now_ms: int) -> JobState:
    """A job as it was kept, whose pause is no longer than it could be if it began now: the clock may have
    been ahead when it was reckoned."""
    latest_ms = now_ms + pause_ms(state.spec.retry, max(1, state.retries), chance=1.0)
    return state if state.not_before_ms <= latest_ms else replace(state, not_before_ms=latest_ms)
