"""Jobs that wait for their first start, and until when the policy lets them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from rota.engine.start_timeout import has_timeouts, timeout_for
from rota.lifecycle.state import JobState, Phase
from rota.model.ids import JobId
from rota.model.policy import Policy


def start_by_ms(state: JobState, policy: Policy) -> int | None:
    """When the job fails if it hasn't started; None: by the policy, never."""
    if state.phase is not Phase.PENDING or state.started_ms is not None:
        return None
    timeout = timeout_for(state.spec.template, policy.schedulers)
    return None if timeout is None else _waits_since_ms(state) + timeout.within_ms


def _waits_since_ms(state: JobState) -> int:
    """Neither the time before it is to start counts, nor that in which it was held, or waited for others."""
    spec = state.spec
    could_wait = bool(spec.held or spec.depends_on)
    return max(spec.start_after_ms, state.changed_ms if could_wait else state.submitted_ms)


class StartLimits:
    """When to look next. Entries may be out of date: whoever takes one looks at the job as it is."""

    def __init__(self, policy: Policy) -> None:
        self._due: list[tuple[int, JobId]] = []
        self.set_policy(policy)

    def set_policy(self, policy: Policy) -> None:
        """All is to be followed anew."""
        self._policy = policy
        self._is_idle = not has_timeouts(policy)
        self._due.clear()

    def follow(self, states: Iterable[JobState]) -> None:
        if self._is_idle:
            return
        for state in states:
            due_ms = start_by_ms(state, self._policy)
            if due_ms is not None:
                heappush(self._due, (due_ms, state.id))

    @property
    def next_ms(self) -> int | None:
        return self._due[0][0] if self._due else None

    def missed(self, now_ms: int, job: Callable[[JobId], JobState | None]) -> list[JobId]:
        """Those whose time is up."""
        found: dict[JobId, None] = {}
        while self._due and self._due[0][0] <= now_ms:
            _, job_id = heappop(self._due)
            state = job(job_id)
            due_ms = None if state is None else start_by_ms(state, self._policy)
            if due_ms is not None and due_ms <= now_ms:
                found[job_id] = None
            elif due_ms is not None:
                heappush(self._due, (due_ms, job_id))
        return list(found)
