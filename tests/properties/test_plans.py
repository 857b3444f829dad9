"""Any plan for any cluster, judged by the reference implementation."""

from __future__ import annotations

import pytest
from hypothesis import given

from rota.engine import decide
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS
from tests.properties.clusters import Situation, situations
from tests.reference import evicting, placing, waiting
from tests.reference.case import Case
from tests.words import NOW_MS


def planned(situation: Situation) -> Case:
    records, policy = situation.records, situation.policy
    plan = decide(snapshot_of(records, policy.defaults), policy, NOW_MS, PLUGINS)
    return Case(records, policy, NOW_MS, plan)


@pytest.mark.covers("decide-1", "decide-2", "decide-12", "decide-14")
@given(situations())
def test_no_node_is_oversubscribed(situation: Situation) -> None:
    assert list(placing.check_room(planned(situation))) == []


@pytest.mark.covers("decide-3", "decide-4", "decide-5", "decide-9", "decide-11", "decide-13")
@given(situations())
def test_bindings_keep_every_hard_constraint(situation: Situation) -> None:
    assert list(placing.check_constraints(planned(situation))) == []


@pytest.mark.covers("gang-1", "gang-2")
@given(situations())
def test_gangs_start_together_or_not_at_all(situation: Situation) -> None:
    assert list(placing.check_gangs(planned(situation))) == []


@pytest.mark.covers("why-1", "decide-1")
@given(situations())
def test_who_waits_does_so_for_true_reasons(situation: Situation) -> None:
    assert list(waiting.check_reasons(planned(situation))) == []


@pytest.mark.covers("why-1")
@given(situations())
def test_never_means_not_even_on_an_idle_cluster(situation: Situation) -> None:
    assert list(waiting.check_never(planned(situation))) == []


@pytest.mark.covers("decide-1", "prio-1")
@given(situations())
def test_nobody_is_left_out(situation: Situation) -> None:
    assert list(waiting.check_left_out(planned(situation))) == []


@pytest.mark.covers("prio-1", "prio-2", "prio-3", "prio-4")
@given(situations())
def test_evictions_are_lawful_and_none_is_in_vain(situation: Situation) -> None:
    assert list(evicting.check_evictions(planned(situation))) == []


@pytest.mark.covers("prio-5")
@given(situations(quotas=True))
def test_quotas_hold(situation: Situation) -> None:
    assert list(placing.check_quotas(planned(situation))) == []


@pytest.mark.covers("decide-8")
@given(situations(quotas=False))
def test_nobody_is_overtaken_for_room(situation: Situation) -> None:
    assert list(placing.check_order(planned(situation))) == []


@pytest.mark.covers("decide-8")
@given(situations())
def test_in_a_strict_queue_nobody_is_overtaken_at_all(situation: Situation) -> None:
    assert list(placing.check_strict(planned(situation))) == []
