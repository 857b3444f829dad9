"""How many tasks a job has, how many must start together, and what they are called."""

import pytest

from rota.model.ids import JobId, NodeName, TaskName
from rota.model.job import Job, JobRecord, JobTemplate, Percent, Placement, Priority
from rota.model.resources import GpuRequest, Resources
from tests.words import tasks


def template(*counts: int, least: int | Percent | None = None) -> JobTemplate:
    return JobTemplate(tuple(tasks(count, cpu=at + 1) for at, count in enumerate(counts)), least)


@pytest.mark.covers("gang-2")
@pytest.mark.parametrize(
    ("count", "least", "needed"),
    [
        (5, None, 5),
        (5, 3, 3),
        (5, 1, 1),
        (5, Percent(100), 5),
        (5, Percent(50), 3),
        (4, Percent(50), 2),
        (3, Percent(67), 3),
        (3, Percent(66), 2),
        (5, Percent(1), 1),
        (5, Percent(0), 1),
        (1, Percent(99), 1),
    ],
)
def test_min_available_as_a_number_or_a_percentage_rounded_up(
    count: int, least: int | Percent | None, needed: int
) -> None:
    assert template(count, least=least).min_count == needed


def test_all_groups_count() -> None:
    assert template(2, 3).task_count == 5
    assert template(2, 3).min_count == 5
    assert template(2, 3, least=Percent(50)).min_count == 3


@pytest.mark.parametrize(("rank", "group"), [(0, 0), (1, 0), (2, 1), (4, 1), (5, 2)])
def test_ranks_run_through_the_groups(rank: int, group: int) -> None:
    assert Job(JobId("j"), template(2, 3, 1)).group_of(rank) == group


def test_a_rank_beyond_the_last_is_an_error_that_names_the_job() -> None:
    with pytest.raises(IndexError, match="job j has no task"):
        Job(JobId("j"), template(2, 3)).group_of(5)


def test_tasks_are_named_by_rank_or_from_outside() -> None:
    assert Job(JobId("j"), template(2)).task_name(1) == "j/1"
    given = Job(JobId("j"), template(2), task_names=(TaskName("p"), TaskName("q")))
    assert given.task_name(1) == "q"


@pytest.mark.parametrize(
    ("running", "done", "waiting"),
    [
        ((), (), [0, 1, 2, 3]),
        ((0, 2), (), [1, 3]),
        ((0,), (3,), [1, 2]),
        ((), (0, 1, 2, 3), []),
        ((3, 2), (1, 0), []),
    ],
)
def test_what_neither_runs_nor_is_done_waits(
    running: tuple[int, ...], done: tuple[int, ...], waiting: list[int]
) -> None:
    placements = tuple(Placement(rank, NodeName("n")) for rank in running)
    record = JobRecord(Job(JobId("j"), template(4)), placements, done)
    assert list(record.waiting_ranks()) == waiting


@pytest.mark.covers("prio-1")
def test_the_five_classes_are_in_order() -> None:
    ordered = [Priority.BATCH, Priority.LOW, Priority.MEDIUM, Priority.HIGH, Priority.CRITICAL]
    assert sorted(Priority) == ordered
    assert Priority.MEDIUM.value == 0


def test_equal_templates_are_one_key_whatever_object_they_are() -> None:
    one, other = template(2, 3, least=2), template(2, 3, least=2)
    assert one is not other
    assert len({one, other, template(2, 3)}) == 2


class TestAmounts:
    def test_sums_go_by_name(self) -> None:
        one = Resources(1, 2, 3, 4, (("a", 5), ("c", 6)))
        other = Resources(10, 20, 30, 40, (("b", 7), ("c", 8)))
        assert one.plus(other) == Resources(11, 22, 33, 44, (("a", 5), ("b", 7), ("c", 14)))
        assert one.plus(other) == other.plus(one)
        assert one.plus(Resources()) == one

    @pytest.mark.covers("decide-2")
    @pytest.mark.parametrize(
        ("asked", "is_fraction", "total_milli"),
        [
            (GpuRequest(), False, 0),
            (GpuRequest(1), False, 1000),
            (GpuRequest(2), False, 2000),
            (GpuRequest(1, 300), True, 300),
            (GpuRequest(0, 300), False, 0),
        ],
    )
    def test_a_gpu_askedis_whole_devices_or_a_part_of_one(
        self, asked: GpuRequest, is_fraction: bool, total_milli: int
    ) -> None:
        assert asked.is_fraction is is_fraction
        assert asked.total_milli == total_milli
