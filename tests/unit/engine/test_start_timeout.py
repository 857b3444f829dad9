"""How long a job may wait: by itself, its queue, its scheduler."""

from __future__ import annotations

import pytest

from rota.engine.start_timeout import StartTimeout, TimeoutOwner, has_timeouts, timeout_for
from rota.model.ids import QueueName
from rota.model.job import JobTemplate
from rota.model.policy import Policy, QueuePolicy, SchedulerPolicy

pytestmark = pytest.mark.covers("decide-17")

SCHEDULERS = (
    SchedulerPolicy(
        "ours", ("ours",), queues=(QueuePolicy(), QueuePolicy("quick", timeout_ms=5)), timeout_ms=60
    ),
    SchedulerPolicy("theirs", ("theirs",)),
)


def template(queue: str = "default", namespace: str = "ours", **fields: int) -> JobTemplate:
    return JobTemplate((), queue=QueueName(queue), namespace=namespace, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (template("quick"), StartTimeout(5, TimeoutOwner.QUEUE, "quick")),
        (template(), StartTimeout(60, TimeoutOwner.SCHEDULER, "ours")),
        (template("quick", start_within_ms=99), None),
        (template(namespace="theirs"), None),
        (template(namespace="nobodys"), None),
    ],
)
def test_the_nearest_counts(of: JobTemplate, expected: StartTimeout | None) -> None:
    assert timeout_for(of, SCHEDULERS) == expected


def test_most_policies_have_none() -> None:
    assert not has_timeouts(Policy())
    assert has_timeouts(Policy(SCHEDULERS))
