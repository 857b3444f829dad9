"""States that can't be are told, each with what is wrong about it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from rota.lifecycle.state import JobState, Phase, TaskPhase
from rota.lifecycle.validate import ImpossibleState, validate
from rota.model.causes import Cause
from rota.model.ids import JobId
from rota.model.job import Promise
from rota.model.run import Dependency
from tests.unit.lifecycle.following import follow

PENDING = follow(tasks=2).state
CREATED = follow(tasks=2, held=True).state
SCHEDULED = follow(tasks=2).bind(0, 1).state
RUNNING = follow(tasks=2).run(0, 1).state
STOPPING = follow(tasks=2).run(0, 1).cancel().state
SUCCEEDED = follow(tasks=2).run(0, 1).exit(0, 1).state
FAILED = follow().run(0).exit(0, code=1).state
CANCELLED = follow().cancel().state
TIMED_OUT = replace(CANCELLED, phase=Phase.TIMED_OUT, cause=Cause.DEADLINE)
PROMISE = Promise(5, ())


@pytest.mark.parametrize(
    ("state", "change", "complaint"),
    [
        (CREATED, {"held": False}, "nothing keeps it back"),
        (CREATED, {"cause": None}, "nobody is told what keeps it back"),
        (CREATED, {"promise": PROMISE}, "promised a start"),
        (CREATED, {"live": SCHEDULED.live, "fence": 2}, "one of its tasks is live"),
        (PENDING, {"held": True}, "it is held"),
        (PENDING, {"restarting": True}, "it is stopping"),
        (PENDING, {"done": (0, 1)}, "none of its tasks waits"),
        (PENDING, {"done": (1, 0)}, "isn't in order"),
        (PENDING, {"done": (0,), "failed": (1,)}, "a rank failed that isn't done"),
        (PENDING, {"done": (2,)}, "none of its tasks'"),
        (PENDING, {"attempt": 0}, "never tried"),
        (PENDING, {"retries": 1}, "more often"),
        (PENDING, {"ended_ms": 5}, "it has an end and goes on"),
        (SCHEDULED, {"live": RUNNING.live}, "one of its tasks has started"),
        (SCHEDULED, {"live": ()}, "none of its tasks is live"),
        (SCHEDULED, {"live": SCHEDULED.live[::-1]}, "order of their ranks"),
        (SCHEDULED, {"live": tuple(replace(one, fence=1) for one in SCHEDULED.live)}, "the same fence"),
        (SCHEDULED, {"fence": 1}, "never given out"),
        (SCHEDULED, {"done": (0,)}, "a rank is live and done"),
        (SCHEDULED, {"ending": Phase.FAILED}, "wasn't told"),
        (RUNNING, {"started_ms": None}, "it never started"),
        (RUNNING, {"live": (replace(RUNNING.live[0], phase=TaskPhase.BOUND),)}, "runs unstarted"),
        (RUNNING, {"live": (replace(RUNNING.live[0], evicted=True),)}, "evicted task isn't told"),
        (RUNNING, {"depends_on": (Dependency(JobId("1")),)}, "waits for other jobs"),
        (STOPPING, {"restarting": True}, "both ends and begins anew"),
        (STOPPING, {"ending": Phase.SUCCEEDED}, "in order to succeed"),
        (STOPPING, {"ending": Phase.PENDING}, "in order to go on"),
        (STOPPING, {"promise": PROMISE}, "stops, and is promised a start"),
        (SUCCEEDED, {"done": (0,)}, "not all of its tasks are done"),
        (SUCCEEDED, {"failed": (0,)}, "one of its tasks failed"),
        (SUCCEEDED, {"cause": Cause.RETRY}, "it has a cause"),
        (SUCCEEDED, {"ended_ms": None}, "or the reverse"),
        (SUCCEEDED, {"promise": PROMISE}, "promised a start"),
        (SUCCEEDED, {"live": RUNNING.live, "done": ()}, "one of its tasks is live"),
        (FAILED, {"cause": None}, "nobody is told why"),
        (FAILED, {"ending": Phase.FAILED}, "still stopping"),
        (CANCELLED, {"cause": Cause.TASK_FAILED}, "neither by somebody nor by another job"),
        (TIMED_OUT, {"cause": Cause.BY_USER}, "neither by its limit nor by its deadline"),
    ],
)
def test_tells_what_cannot_be(state: JobState, change: dict[str, Any], complaint: str) -> None:
    validate(state)
    with pytest.raises(ImpossibleState, match=complaint):
        validate(replace(state, **change))
