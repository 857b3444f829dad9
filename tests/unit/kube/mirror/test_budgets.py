"""Which pods disruption budgets hold."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from rota.kube.api.objects import DisruptionBudget
from rota.kube.mirror.budgets import Budgets
from rota.model.ids import JobId
from rota.model.job import Job
from tests.unit.kube.pods import Told, node, pod

pytestmark = pytest.mark.covers("kube-3")


def budget(allowed: int, gang: str = "g") -> DisruptionBudget:
    body = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"batch.scheduling.k8s.io/gang": gang}}},
        "status": {"disruptionsAllowed": allowed},
    }
    return msgspec.convert(body, DisruptionBudget)


def test_one_that_is_used_up_holds_those_it_selects() -> None:
    changed: list[str] = []
    budgets = Budgets(changed.append)
    budgets.budget_changed(None, budget(0))
    assert budgets.hold(pod("p", gang="g"))
    assert not budgets.hold(pod("p", gang="other"))
    budgets.budget_changed(budget(0), budget(0))
    assert changed == ["default"], "nothing new the second time"
    budgets.budget_changed(budget(0), budget(1))
    assert not budgets.hold(pod("p", gang="g"))
    budgets.budget_changed(budget(1), None)
    assert changed == ["default"] * 2


def waiting(told: Told, name: str, priority: int) -> Job:
    told.add(pod(name, priority=priority))
    told.mirror.settle(0.0)
    return told.mirror.state.record(JobId(f"default/{name}")).job


def test_pods_that_are_held_are_spared_unless_told_otherwise() -> None:
    told = Told()
    told.mirror.node_changed(None, node("n"))
    told.add(pod("p", gang="g", node="n", scheduler="another", priority=7))
    told.mirror.budgets.budget_changed(None, budget(0))

    def is_preemptible() -> bool:
        told.mirror.settle(0.0)
        return told.mirror.state.record(JobId("default/p")).job.template.preemptible

    assert not is_preemptible()
    less, more = (waiting(told, name, priority) for name, priority in (("less", 7), ("more", 8)))
    assert told.mirror.may_need_the_spared([less, more])
    assert not told.mirror.may_need_the_spared([less])
    never = replace(more, template=replace(more.template, may_preempt=False))
    assert not told.mirror.may_need_the_spared([never])
    told.mirror.spare(False)
    assert is_preemptible()
    told.mirror.spare(True)
    assert not is_preemptible()
