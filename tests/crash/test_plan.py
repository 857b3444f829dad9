"""Rounds as they are drawn."""

from __future__ import annotations

from tests.crash.plan import POINTS, Fault, KeeperFrozen, Kind, Plan, plan

MANY = [plan(seed) for seed in range(1, 201)]


def faults_of(one: Plan) -> list[Fault]:
    return [fault for point in one.points for fault in point.faults]


def test_the_same_seed_is_the_same_round() -> None:
    assert plan(17) == plan(17)
    assert plan(17).points != plan(21).points


def test_each_has_as_many_points_as_asked_for() -> None:
    assert {one.length for one in MANY} == {POINTS}
    assert [plan(5, points).length for points in (1, 2, 7)] == [1, 2, 7]


def test_half_are_on_sqlite_and_half_of_these_with_a_damaged_log() -> None:
    kinds = [one.kind for one in MANY]
    assert sum(kind.is_sqlite for kind in kinds) == len(MANY) / 2
    assert kinds.count(Kind.LOG_DAMAGED) == len(MANY) / 4


def test_everything_goes_wrong_somewhere() -> None:
    seen = {type(fault) for one in MANY for fault in faults_of(one)}
    assert seen == set(Fault.__args__)


def test_a_keeper_is_frozen_alone() -> None:
    """With its agent it would be what no lease can see."""
    for one in MANY:
        for point in one.points:
            assert len(point.faults) == 1 or not any(isinstance(each, KeeperFrozen) for each in point.faults)
