"""The board: what is put on it and taken off can be undone without a trace."""

import random
from typing import Any

import numpy as np
import pytest

from rota.engine.placing.board import PositionLog
from rota.engine.placing.topology import NO_FOOTPRINT
from rota.snapshot import rows
from tests.builders import Cluster
from tests.kit.sampling import sampled
from tests.unit.engine.workbench import Workbench
from tests.words import apart, near, spread

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"cpu": 1},
    "large": {"cpu": 2, "memory": "2Gi", "storage": "1Gi"},
    "part": {"cpu": 0.5, "gpu": 0.3},
    "gpus": {"gpu": 2},
    "fpga": {"extended": {"fpga": 1}},
    "alone": {"spec": {"exclusive": True}},
    "db": {"labels": {"app": "db"}, "affinity": [apart("host", "app In db")]},
    "web": {
        "labels": {"app": "web"},
        "affinity": [near("zone", "app In db", weight=50)],
        "spread": [spread("zone", "app In web")],
    },
}


def cluster() -> Cluster:
    made = Cluster().offer("o", limit=3, cpu=16, memory="16Gi", gpus=1, price=1)
    for number in range(8):
        made = made.node(
            f"n{number}",
            cpu=7 + number,
            memory="13Gi",
            storage="9Gi",
            gpus=number % 4,
            zone="ab"[number % 2],
            load=100 * number,
            extended={"fpga": 3},
        )
    for name, words in KINDS.items():
        made = made.job(name, **words)
    return made.running("old", on=["n3", "n7"], cpu=1, gpu=0.5, devices=[[2], [1]])


def bench() -> Workbench:
    made = Workbench(cluster())
    for name in KINDS:
        made.signature(name)
    return made


def fitting(made: Workbench, name: str, chance: random.Random) -> int | None:
    demand = made.signature(name).demand
    at = [at for at in range(len(made.nodes)) if made.board.fits(at, demand)]
    return chance.choice(at) if at else None


def move(made: Workbench, held: list[tuple[str, int, tuple[int, ...]]], chance: random.Random) -> None:
    """Something at random that a plan may do to the board."""
    board, what = made.board, chance.random()
    if held and what < 0.3:
        name, at, devices = held.pop(chance.randrange(len(held)))
        signature = made.signature(name)
        board.lift(at, signature.demand, signature.footprint, devices)
        if chance.random() < 0.3:
            board.put_running(at, signature.demand, signature.footprint, devices)
            held.append((name, at, devices))
        return
    name = chance.choice(sorted(KINDS))
    signature = made.signature(name)
    if what < 0.5 and not signature.demand.uses_gpu:
        positions = [chance.randrange(len(made.nodes)) for _ in range(chance.randrange(5))]
        board.put_many(np.array(positions, dtype=np.int64), signature.demand, signature.footprint)
        held += [(name, at, ()) for at in positions]
        return
    position = fitting(made, name, chance)
    if position is not None:
        held.append((name, position, board.put(position, signature.demand, signature.footprint)))


@pytest.mark.covers("gang-1")
@pytest.mark.parametrize("seed", sampled(range(25), quick=5))
def test_rolling_back_restores_everything_to_any_earlier_point(seed: int) -> None:
    chance = random.Random(seed)
    made, held = bench(), list[tuple[str, int, tuple[int, ...]]]()
    points = []
    for _ in range(30):
        if chance.random() < 0.4:
            points.append((made.board.checkpoint(), made.state()))
        move(made, held, chance)
    while points:
        checkpoint, state = points.pop(chance.randrange(len(points)) if chance.random() < 0.3 else -1)
        points = [point for point in points if point[0] <= checkpoint]
        made.board.rollback(checkpoint)
        assert made.state() == state
    made.board.rollback(0)
    assert made.state() == bench().state()


@pytest.mark.parametrize("name", sorted(KINDS))
@pytest.mark.parametrize("seed", sampled(range(3), quick=1))
def test_putting_many_is_putting_one_after_another(name: str, seed: int) -> None:
    chance = random.Random(seed)
    at_once, one_by_one = bench(), bench()
    positions = [chance.randrange(len(at_once.nodes)) for _ in range(12)]
    if at_once.signature(name).demand.uses_gpu:
        positions = [0, 3, 3, 7] if name == "part" else [3, 7]
    signature = at_once.signature(name)
    at_once.board.put_many(np.array(positions, np.int64), signature.demand, signature.footprint)
    signature = one_by_one.signature(name)
    for at in positions:
        one_by_one.board.put(at, signature.demand, signature.footprint)
    assert at_once.state() == one_by_one.state()
    assert at_once.board.devices_since(0) == one_by_one.board.devices_since(0)


def test_putting_none_is_nothing() -> None:
    made = bench()
    before, checkpoint = made.state(), made.board.checkpoint()
    made.board.put_many(np.empty(0, np.int64), made.signature("plain").demand, NO_FOOTPRINT)
    assert (made.state(), made.board.checkpoint()) == (before, checkpoint)


def test_a_task_takes_what_it_asks_for_from_its_node_alone() -> None:
    made = bench()
    free = made.board.free.copy()
    made.put("large", "n5")
    taken = free - made.board.free
    at = made.at("n5")
    assert taken[:, at].tolist() == made.signature("large").demand.take.tolist()
    assert not np.delete(taken, at, axis=1).any()


def test_a_column_of_shares_asked_for_late_is_as_one_asked_for_early() -> None:
    weights = (10, 3, 0, -5)
    early, late = bench(), bench()
    column = early.board.column(weights, 1 << 40)
    for made in (early, late):
        for name, node in [("plain", "n1"), ("large", "n1"), ("part", "n7"), ("plain", "o#1")]:
            made.put(name, node)
    assert late.board.column(weights, 1 << 40).values.tolist() == column.values.tolist()


@pytest.mark.covers("decide-2")
class TestDevices:
    def test_a_part_stays_on_one_device_and_whole_ones_are_had_alone(self) -> None:
        made = bench()
        assert made.put("part", "n3") == (2,)
        assert made.put("gpus", "n3") == (0, 1)
        assert made.board.gpu_free[made.at("n3")].tolist() == [0, 0, 200]

    def test_they_are_told_for_each_task_in_order(self) -> None:
        made = bench()
        made.put("plain", "n0")
        point = made.board.checkpoint()
        made.put("part", "n3")
        made.put("plain", "n0")
        made.put("gpus", "n3")
        assert made.board.devices_since(point) == [(2,), (), (0, 1)]


class TestOffers:
    def test_a_node_is_opened_by_its_first_task_and_closed_by_losing_the_last(self) -> None:
        made = bench()
        at, demand = made.at("o#1"), made.signature("plain").demand
        opened = made.board.opened
        assert not opened[at]
        made.put("plain", "o#1")
        made.put("plain", "o#1")
        assert opened[at]
        made.board.lift(at, demand, NO_FOOTPRINT, ())
        assert opened[at]
        made.board.lift(at, demand, NO_FOOTPRINT, ())
        assert not opened[at]

    def test_a_node_that_exists_is_open_whatever_leaves_it(self) -> None:
        made = bench()
        old = made.snapshot.running.kinds[0]
        demand = made.snapshot.demand(old[0].groups[0].spec)
        made.board.lift(made.at("n3"), demand, NO_FOOTPRINT, (2,))
        assert made.board.opened[made.at("n3")]


class TestCursor:
    def test_it_starts_where_the_last_task_was_started(self) -> None:
        made = Workbench(
            Cluster()
            .nodes("a b c", cpu=9)
            .running("x", on=["b"], started=-5)
            .running("y", on=["c"], started=-9)
        )
        assert made.board.cursor == made.at("b")

    def test_it_starts_before_the_first_node_where_nothing_runs(self) -> None:
        assert Workbench(Cluster().nodes("a b")).board.cursor == -1

    def test_it_follows_what_is_placed_and_not_what_is_taken_away(self) -> None:
        made = bench()
        made.put("plain", "n5")
        made.board.lift(made.at("n2"), made.signature("plain").demand, NO_FOOTPRINT, ())
        assert made.board.cursor == made.at("n5")


def test_nodes_that_got_room_are_on_record() -> None:
    made = bench()
    made.put("plain", "n1")
    assert made.board.freed.since(0).tolist() == []
    point = made.board.checkpoint()
    made.put("plain", "n2")
    made.board.rollback(point)
    made.board.lift(made.at("n3"), made.signature("plain").demand, NO_FOOTPRINT, ())
    point = made.board.checkpoint()
    made.board.put_many(
        np.array([made.at("n5"), made.at("n5")]), made.signature("plain").demand, NO_FOOTPRINT
    )
    made.board.rollback(point)
    assert made.names(made.board.freed.since(0).tolist()) == ["n2", "n3", "n5"]
    assert made.names(made.board.changed.since(0).tolist()) == ["n1", "n2", "n2", "n3", "n5", "n5"]


def test_a_log_grows_as_it_must() -> None:
    log = PositionLog()
    log.add_many(np.arange(1500))
    for position in range(2000):
        log.add(position)
    log.add_many(np.arange(9000))
    assert log.since(0).tolist() == [*range(1500), *range(2000), *range(9000)]
    assert log.since(1500 + 2000).tolist() == list(range(9000))


def test_a_board_leaves_its_snapshot_alone() -> None:
    made = bench()
    before = made.snapshot.free.copy(), made.snapshot.gpu_free.copy()
    made.put("part", "n3")
    assert (made.snapshot.free == before[0]).all()
    assert (made.snapshot.gpu_free == before[1]).all()


@pytest.mark.parametrize(("cpu", "fits"), [(7, True), (8, False)])
def test_a_task_fits_where_every_row_has_enough(cpu: int, fits: bool) -> None:
    made = Workbench(Cluster().node("n", cpu=7, memory="1Gi").job("j", cpu=cpu, memory="1Gi"))
    assert made.board.fits(0, made.signature("j").demand) is fits


def test_a_task_fits_where_what_it_does_not_ask_for_is_overbooked() -> None:
    made = Workbench(
        Cluster().node("n", cpu=7, memory="1Gi").running("r", on=["n"], memory="2Gi").job("j", cpu=1)
    )
    assert made.board.free[rows.MEMORY, 0] < 0
    assert made.board.fits(0, made.signature("j").demand)
