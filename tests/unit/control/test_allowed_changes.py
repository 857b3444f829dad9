"""A change of a job is only suggested to those who may make it."""

from __future__ import annotations

import pytest

from rota.control.allowed_changes import is_allowed
from rota.limits.applying import asked_limits
from rota.limits.checking import excesses, owner_of
from rota.model.changes import AskForLess, RaisePriority, ShareNodes, ShortenTimeLimit
from rota.model.explanation import Change
from rota.model.job import JobTemplate, Priority, TaskGroup
from rota.model.limits import Limits, LimitsPolicy
from rota.model.taints import Effect, Taint, Toleration
from rota.model.task import TaskSpec
from rota.plugins.taints import Tolerate

pytestmark = pytest.mark.covers("trust-4")

HOUR_MS = 3_600_000
GPU = Taint("gpu", Effect.NO_SCHEDULE)
A100 = Taint("gpu", Effect.NO_EXECUTE, "a100")
BROKEN = Taint("broken", Effect.NO_SCHEDULE)


def allowed(change: Change, limits: Limits, *, is_exempt: bool = False) -> bool:
    owner = owner_of(tolerating())
    return is_allowed(change, asked_limits(LimitsPolicy(default=limits), owner, is_exempt))


def tolerating(*tolerations: Toleration) -> JobTemplate:
    groups = (TaskGroup(TaskSpec(tolerations=tolerations)),)
    return JobTemplate(groups, project="vision", namespace="vision", user="ada")


@pytest.mark.parametrize(
    ("limits", "change", "expected"),
    [
        (Limits(), RaisePriority(0, Priority.MEDIUM), True),
        (Limits(), RaisePriority(0, Priority.HIGH), False),
        (Limits(priority=Priority.HIGH), RaisePriority(0, Priority.HIGH), True),
        (Limits(priority=Priority.HIGH), RaisePriority(0, Priority.CRITICAL), False),
        (Limits(), ShortenTimeLimit(0, 99 * HOUR_MS), True),
        (Limits(time_limit_ms=HOUR_MS), ShortenTimeLimit(0, HOUR_MS), True),
        (Limits(time_limit_ms=HOUR_MS), ShortenTimeLimit(0, 2 * HOUR_MS), False),
        (Limits(), AskForLess("cpu", 2000, 1000), True),
        (Limits(exclusive=False), ShareNodes(), True),
    ],
)
def test_amounts(limits: Limits, change: Change, expected: bool) -> None:
    assert allowed(change, limits) is expected
    assert allowed(change, limits, is_exempt=True)


@pytest.mark.parametrize(
    ("tolerations", "taints", "expected"),
    [
        ((), (GPU,), False),
        (("gpu",), (GPU,), True),
        (("gpu",), (A100,), True),
        (("gpu=a100",), (A100,), True),
        (("gpu=h100",), (A100,), False),
        (("gpu=a100",), (GPU,), False),
        (("gpu",), (A100, BROKEN), False),
        (("broken", "gpu"), (A100, BROKEN), True),
        (("*",), (A100, BROKEN), True),
    ],
)
def test_tolerations(tolerations: tuple[str, ...], taints: tuple[Taint, ...], expected: bool) -> None:
    assert allowed(Tolerate(taints), Limits(tolerations=tolerations)) is expected


@pytest.mark.parametrize("taint", [GPU, A100])
@pytest.mark.parametrize("listed", [(), ("gpu",), ("gpu=a100",), ("gpu=a",)])
def test_a_suggested_toleration_is_checked_as_a_submitted_one(taint: Taint, listed: tuple[str, ...]) -> None:
    limits = Limits(tolerations=listed)
    job = tolerating(Toleration(taint.key, not taint.value, taint.value, taint.effect))
    asked = asked_limits(LimitsPolicy(default=limits), owner_of(job))
    assert allowed(Tolerate((taint,)), limits) is not bool(excesses(job, asked))
