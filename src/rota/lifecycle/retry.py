"""Whether what failed is tried again, and after which pause."""

from __future__ import annotations

from rota.lifecycle.state import JobState, TaskEnd
from rota.model.run import Retry


def may_retry(state: JobState, end: TaskEnd) -> bool:
    retry = state.spec.retry
    if state.retries >= retry.limit:
        return False
    return not retry.exit_codes or end.exit_code in retry.exit_codes


def pause_ms(retry: Retry, retries: int, chance: float) -> int:
    """Before the retry of this number, from 1 on. Jobs that failed together come back at different
    moments, since each is given another chance: up to a half more."""
    doublings = min(retries - 1, retry.max_backoff_ms.bit_length())
    pause = min(retry.max_backoff_ms, retry.backoff_ms << doublings)
    return pause + int(pause * chance / 2)
