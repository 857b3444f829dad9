"""Plans of random clusters, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.properties.carry_out import plan_for
from tests.properties.clusters import Situation
from tests.reference.case import Case
from tests.words import NOW_MS

Check = Callable[[Case], Iterator[str]]


def planned(situation: Situation) -> Case:
    plan = plan_for(situation.records, situation.policy, NOW_MS)
    return Case(situation.records, situation.policy, NOW_MS, plan)


def complaints(situation: Situation, *checks: Check) -> list[str]:
    case = planned(situation)
    return [complaint for check in checks for complaint in check(case)]
