"""Rounds as they are drawn."""

from __future__ import annotations

from typing import get_args

from tests.crash.faults import Fault, KeeperFrozen
from tests.crash.plan import POINTS, Kind, Plan, plan

MANY = [plan(seed) for seed in range(1, 201)]


def faults_of(one: Plan) -> list[Fault]:
    return [fault for point in one.points for fault in point.faults]


def test_the_same_seed_is_the_same_round() -> None:
    assert plan(17) == plan(17)
    assert plan(17).points != plan(22).points


def test_each_has_as_many_points_as_asked_for() -> None:
    assert {one.length for one in MANY} == {POINTS}
    assert [plan(5, points).length for points in (1, 2, 7)] == [1, 2, 7]


def test_every_kind_has_its_share_and_half_on_sqlite_a_damaged_log() -> None:
    kinds = [one.kind for one in MANY]
    shares = {kind: 5 * kinds.count(kind) / len(MANY) for kind in Kind}
    assert shares == {Kind.LOG_DAMAGED: 1, Kind.PARTED: 1, Kind.POSTGRES: 2, Kind.SCHEDULER: 1}


def test_everything_goes_wrong_somewhere() -> None:
    seen = {type(fault) for one in MANY for fault in faults_of(one)}
    assert seen == set(get_args(Fault))


def test_a_keeper_is_frozen_alone() -> None:
    """With its agent it would be what no lease can see."""
    for one in MANY:
        for point in one.points:
            assert len(point.faults) == 1 or not any(isinstance(each, KeeperFrozen) for each in point.faults)
