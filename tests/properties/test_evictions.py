"""Whatever has to go, gangs go on with what they need, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.properties.clusters import Situation, crowded
from tests.properties.planning import complaints, planned
from tests.reference.evicting import check_evictions
from tests.reference.placing import check_quotas, check_room


@pytest.mark.covers("gang-1", "prio-2", "decide-5")
@given(crowded())
def test_a_gang_that_loses_tasks_keeps_enough_to_go_on_or_none(situation: Situation) -> None:
    """Whoever evicts them: one job or several, by class or for a quota, or a taint."""
    case = planned(situation)
    kept = {job: (len(case.after.of(job)), case.least(job)) for job in case.evictions}
    assert {job: (count, least) for job, (count, least) in kept.items() if 0 < count < least} == {}


@pytest.mark.covers("prio-1", "prio-3", "prio-5")
@given(crowded())
def test_in_a_crowd_too_nobody_is_evicted_in_vain(situation: Situation) -> None:
    assert complaints(situation, check_evictions, check_quotas, check_room) == []
