"""Any plan for any cluster, judged by the reference implementation (`tests/reference`)."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.properties.clusters import Situation, situations
from tests.properties.planning import complaints
from tests.reference.evicting import check_evictions
from tests.reference.placing import (
    check_constraints,
    check_gangs,
    check_order,
    check_quotas,
    check_room,
    check_strict,
)
from tests.reference.waiting import check_left_out, check_never, check_reasons


@pytest.mark.covers("decide-2", "decide-12", "decide-14", "gang-1", "gang-2")
@given(situations())
def test_no_node_is_oversubscribed_and_no_gang_starts_in_part(situation: Situation) -> None:
    assert complaints(situation, check_room, check_gangs) == []


@pytest.mark.covers("decide-3", "decide-4", "decide-5", "decide-9", "decide-11", "decide-13")
@given(situations())
def test_what_starts_keeps_every_hard_constraint(situation: Situation) -> None:
    assert complaints(situation, check_constraints) == []


@pytest.mark.covers("why-1", "decide-1", "prio-1")
@given(situations())
def test_who_waits_has_to_and_is_told_why(situation: Situation) -> None:
    assert complaints(situation, check_reasons, check_left_out) == []


@pytest.mark.covers("why-1")
@given(situations())
def test_never_means_not_even_on_an_idle_cluster(situation: Situation) -> None:
    assert complaints(situation, check_never) == []


@pytest.mark.covers("prio-1", "prio-2", "prio-3", "prio-4", "decide-5")
@given(situations())
def test_evictions_are_lawful_and_none_is_in_vain(situation: Situation) -> None:
    assert complaints(situation, check_evictions) == []


@pytest.mark.covers("prio-5")
@given(situations(quotas=True))
def test_quotas_hold(situation: Situation) -> None:
    assert complaints(situation, check_quotas, check_reasons, check_evictions) == []


@pytest.mark.covers("decide-8")
@given(situations(quotas=False))
def test_queues_keep_their_order(situation: Situation) -> None:
    assert complaints(situation, check_order, check_strict) == []
