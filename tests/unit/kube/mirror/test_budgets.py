"""Which pods disruption budgets hold, and how much is taken from them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rota.kube.api.objects import DisruptionBudget
from rota.kube.mirror.budgets import Budgets
from rota.model.ids import JobId
from rota.snapshot.running import RunningTask
from tests.unit.kube.pods import Told, node, pod

pytestmark = pytest.mark.covers("kube-3")

LABEL = "batch.scheduling.k8s.io/gang"


def budget(allowed: int, gang: str | None = "g", **status: Any) -> DisruptionBudget:
    """Without a gang it has an empty selector."""
    selector = {} if gang is None else {"matchLabels": {LABEL: gang}}
    body = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed, **status},
    }
    return msgspec.convert(body, DisruptionBudget)


def running(*names: str, gang: str = "g") -> list[RunningTask]:
    """Pods of another scheduler: to us no gang."""
    told = Told()
    told.mirror.node_changed(None, node("n"))
    for name in names:
        told.add(pod(name, gang=gang, node="n", scheduler="another"))
    told.mirror.settle(0.0)
    records = [told.mirror.state.record(JobId(f"default/{name}")) for name in names]
    return [RunningTask(record.job, record.placements[0]) for record in records]


def broken(of: DisruptionBudget, tasks: list[RunningTask]) -> list[bool]:
    budgets = Budgets(lambda: None)
    budgets.budget_changed(None, of)
    now = budgets.now()
    return now.broken_by(tasks) if now else [False] * len(tasks)


def test_one_that_is_used_up_is_broken_by_each_pod_that_it_selects() -> None:
    assert broken(budget(0), running("p", "q")) == [True, True]
    assert broken(budget(0), running("p", gang="other")) == [False]


def test_one_that_allows_some_is_broken_by_those_beyond_the_most_valuable_first() -> None:
    assert broken(budget(1), running("p", "q", "r")) == [False, True, True]


def test_a_pod_whose_end_is_counted_already_takes_nothing() -> None:
    ending = budget(0, disruptedPods={"p": "2026-01-01T00:00:00Z"})
    assert broken(ending, running("p", "q")) == [False, True]


def test_an_empty_selector_selects_nobody() -> None:
    assert broken(budget(0, gang=None), running("p")) == [False]


def test_changes_are_told_once() -> None:
    changes: list[None] = []
    budgets = Budgets(lambda: changes.append(None))
    budgets.budget_changed(None, budget(0))
    budgets.budget_changed(budget(0), budget(0))
    assert len(changes) == 1, "nothing new the second time"
    budgets.budget_changed(budget(0), budget(1))
    budgets.budget_changed(budget(1), None)
    assert len(changes) == 3
    assert budgets.now() is None
