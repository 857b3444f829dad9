"""Running tasks that can be evicted: which go together, which their gang can spare."""

import pytest

from rota.engine.evicting.victims import Unit
from tests.builders import Cluster
from tests.unit.engine.workbench import Scene


@pytest.mark.covers("prio-2")
class TestUnits:
    GANGS = (
        Cluster()
        .nodes("a b", cpu=99)
        .running("elastic", on=["a", "b", "a", "b"], min_available=2)
        .running("gang", on=["a", "b"])
        .running("one", on=["b"])
    )

    def test_a_gang_goes_as_a_whole_and_what_it_can_spare_alone(self) -> None:
        assert Scene(self.GANGS).candidates() == {
            "elastic/0": 1,
            "elastic/1": 1,
            "elastic/2": 1,
            "elastic/3": 1,
            "gang/0": 2,
            "gang/1": 2,
            "one/0": 1,
        }

    def test_of_all_of_a_gang_its_core_goes_together_and_the_rest_alone(self) -> None:
        assert Scene(self.GANGS).units() == [
            ["elastic/0", "elastic/1"],
            ["elastic/2"],
            ["elastic/3"],
            ["gang/0", "gang/1"],
            ["one/0"],
        ]

    @pytest.mark.parametrize(
        ("chosen", "units"),
        [
            (["elastic/2"], [["elastic/2"]]),
            (["elastic/0"], [["elastic/0"]]),
            (["elastic/1", "elastic/3"], [["elastic/1"], ["elastic/3"]]),
            (
                ["elastic/1", "elastic/2", "elastic/3"],
                [["elastic/0", "elastic/1"], ["elastic/2"], ["elastic/3"]],
            ),
            (["gang/1"], [["gang/0", "gang/1"]]),
            (["gang/0", "gang/1", "one/0"], [["gang/0", "gang/1"], ["one/0"]]),
        ],
    )
    def test_no_more_go_alone_than_the_gang_can_spare(
        self, chosen: list[str], units: list[list[str]]
    ) -> None:
        scene = Scene(self.GANGS)
        names = scene.task_names(range(len(scene.victims.alive)))
        found = scene.victims.units([names.index(name) for name in chosen], scene.eligible())
        assert [scene.task_names(unit.tasks) for unit in found] == units

    def test_a_gang_of_which_a_task_must_stay_does_not_go(self) -> None:
        assert not {"gang/0", "gang/1"} & set(Scene(self.GANGS).candidates("gang/1"))

    def test_a_gang_of_which_a_task_must_stay_can_still_spare_others(self) -> None:
        scene = Scene(self.GANGS)
        assert scene.candidates("elastic/0", "gang", "one") == {f"elastic/{rank}": 1 for rank in (1, 2, 3)}
        assert len(scene.units("elastic/0", "gang", "one")) == 2

    def test_what_is_dead_is_neither_a_candidate_nor_a_member(self) -> None:
        scene = Scene(self.GANGS)
        scene.kill("elastic/3", "one/0")
        assert scene.candidates("gang") == {"elastic/0": 1, "elastic/1": 1, "elastic/2": 1}
        assert scene.units("gang") == [["elastic/0", "elastic/1"], ["elastic/2"]]
        scene.kill("elastic/1")
        assert scene.candidates("gang") == {"elastic/0": 2, "elastic/2": 2}
        assert scene.units("gang") == [["elastic/0", "elastic/2"]]
        scene.kill("elastic/0", "elastic/2", "gang/0", "gang/1")
        assert scene.candidates() == {}

    def test_the_tasks_of_a_job_are_those_that_are_alive(self) -> None:
        scene = Scene(self.GANGS)
        scene.kill("elastic/1")
        [number] = [n for n, job in enumerate(scene.snapshot.running.jobs) if job.id == "elastic"]
        assert scene.task_names(scene.victims.tasks_of(number)) == ["elastic/0", "elastic/2", "elastic/3"]

    def test_a_cluster_where_nothing_runs_has_no_candidates(self) -> None:
        assert Scene(Cluster().node("a")).candidates() == {}


@pytest.mark.parametrize(
    ("worth", "less"),
    [
        (Unit((0,), 0, False, 5, 9, "a"), Unit((1,), 0, False, 4, 1, "b")),
        (Unit((0, 1), 0, False, 5, 9, "a"), Unit((2,), 0, False, 5, 1, "b")),
        (Unit((0,), 0, False, 5, 1, "b"), Unit((1,), 0, False, 5, 9, "a")),
        (Unit((0,), 0, False, 5, 1, "a"), Unit((1,), 0, False, 5, 1, "b")),
    ],
    ids=["high class", "large", "long running", "name"],
)
def test_most_worth_sparing_is_the_high_class_the_large_and_the_long_running(worth: Unit, less: Unit) -> None:
    assert sorted([less, worth], key=Unit.value) == [worth, less]


def test_fitting_back_minds_amounts_and_devices() -> None:
    cluster = Cluster().node("a", cpu=4, gpus=2).running("r", on=["a", "a"], cpu=1, gpu=1, devices=[[0], [1]])
    scene = Scene(cluster.job("cpu", cpu=3).job("part", gpu=0.5))
    [unit] = scene.victims.units([0, 1], scene.eligible())
    assert not scene.victims.fits_back(unit)
    scene.victims.lift(unit.tasks)
    assert scene.victims.fits_back(unit)
    point = scene.board.checkpoint()
    scene.put("cpu", "a")
    assert not scene.victims.fits_back(unit)
    scene.board.rollback(point)
    scene.put("part", "a")
    assert not scene.victims.fits_back(unit)
