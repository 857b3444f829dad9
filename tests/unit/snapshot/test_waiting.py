"""Lanes of waiting jobs: equal ones share one, in the order in which they came."""

import random

import pytest

from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, Placement
from rota.snapshot.waiting import Lane, LaneKey, WaitingJobs
from tests.kit.sampling import sampled
from tests.words import tasks

GANG = JobTemplate((tasks(2, cpu=1), tasks(3, cpu=2)), min_available=4)
SINGLE = JobTemplate((tasks(1, cpu=1),))


def waiting_job(name: str, template: JobTemplate = SINGLE, at: int = 0, retries: int = 0) -> Job:
    return Job(JobId(name), template, submitted_ms=at, retries=retries)


def partly(running: tuple[int, ...] = (), done: tuple[int, ...] = (), name: str = "j") -> JobRecord:
    placements = tuple(Placement(rank, NodeName("n")) for rank in running)
    return JobRecord(waiting_job(name, GANG), placements, done)


def key_of(record: JobRecord) -> LaneKey:
    key = WaitingJobs().add(record)
    assert key is not None
    return key


def names(lane: Lane) -> list[str]:
    jobs, start = lane.view()
    return [job.id for job in jobs[start:]]


class TestOneLane:
    def test_equal_jobs_share_it_first_come_first(self) -> None:
        waiting = WaitingJobs()
        for name, at in [("c", 1), ("a", 2), ("b", 0), ("d", 1)]:
            waiting.add(JobRecord(waiting_job(name, at=at)))
        [lane] = waiting.lanes()
        assert names(lane) == ["b", "c", "d", "a"]

    @pytest.mark.parametrize(
        "other",
        [
            waiting_job("b", GANG),
            waiting_job("b", retries=1),
            Job(JobId("b"), SINGLE, preempted_by=(JobId("x"),)),
        ],
        ids=["another template", "another number of retries", "another preemptor"],
    )
    def test_jobs_that_the_engine_can_tell_apart_have_lanes_of_their_own(self, other: Job) -> None:
        waiting = WaitingJobs()
        waiting.add(JobRecord(waiting_job("a")))
        waiting.add(JobRecord(other))
        assert [names(lane) for lane in waiting.lanes()] == [["a"], ["b"]]

    @pytest.mark.covers("decide-8")
    @pytest.mark.parametrize("seed", sampled(range(20), quick=4))
    def test_whatever_comes_and_goes_the_order_stays(self, seed: int) -> None:
        chance = random.Random(seed)
        waiting, kept = WaitingJobs(), dict[str, tuple[Job, LaneKey]]()
        for number in range(200):
            if kept and chance.random() < (0.8 if number > 120 else 0.4):
                oldest = min(kept, key=lambda name: (kept[name][0].submitted_ms, name))
                gone = oldest if chance.random() < 0.5 else chance.choice(sorted(kept))
                waiting.discard(*kept.pop(gone))
            else:
                # A job that was taken out may come back, under the same name and age or another.
                name = f"j{chance.randrange(60)}"
                if name not in kept:
                    job = waiting_job(name, at=chance.randrange(30))
                    key = waiting.add(JobRecord(job))
                    assert key is not None
                    kept[name] = (job, key)
            if chance.random() < 0.3:
                expected = sorted(kept, key=lambda name: (kept[name][0].submitted_ms, name))
                assert [name for lane in waiting.lanes() for name in names(lane)] == expected
            assert len(waiting) == waiting.task_count == len(kept)
            assert sum(len(lane) for lane in waiting.lanes()) == len(kept)

    def test_a_lane_that_is_empty_is_gone_and_the_next_has_a_new_number(self) -> None:
        waiting = WaitingJobs()
        job = waiting_job("a")
        key = waiting.add(JobRecord(job))
        assert key is not None
        [before] = [lane.number for lane in waiting.lanes()]
        waiting.discard(job, key)
        assert list(waiting.lanes()) == []
        waiting.add(JobRecord(job))
        [after] = [lane.number for lane in waiting.lanes()]
        assert after != before


class TestGangsOfWhichSomeRun:
    @pytest.mark.covers("gang-2")
    @pytest.mark.parametrize(
        ("running", "done", "ranks", "by_group", "needed"),
        [
            ((), (), None, (2, 3), 4),
            ((0,), (), (1, 2, 3, 4), (1, 3), 3),
            ((0, 1, 2, 3), (), (4,), (0, 1), 1),
            ((2,), (0, 1), (3, 4), (0, 2), 1),
            ((), (0, 1), (2, 3, 4), (0, 3), 2),
        ],
    )
    def test_those_that_wait_and_how_many_of_them_must_start_together(
        self,
        running: tuple[int, ...],
        done: tuple[int, ...],
        ranks: tuple[int, ...] | None,
        by_group: tuple[int, ...],
        needed: int,
    ) -> None:
        key = key_of(partly(running, done))
        assert key.ranks == ranks
        assert key.waiting_by_group == by_group
        assert key.task_count == sum(by_group)
        assert key.needed == needed

    def test_ranks_are_told_group_by_group(self) -> None:
        whole = [list(ranks) for ranks in key_of(partly()).ranks_by_group()]
        rest = [list(ranks) for ranks in key_of(partly(running=(0, 3))).ranks_by_group()]
        assert whole == [[0, 1], [2, 3, 4]]
        assert rest == [[1], [2, 4]]

    def test_each_is_alone_since_where_its_tasks_run_matters(self) -> None:
        waiting = WaitingJobs()
        for record in [
            partly(name="a"),
            partly((0,), name="b"),
            partly((1,), name="c"),
            partly((0,), name="d"),
        ]:
            waiting.add(record)
        assert [names(lane) for lane in waiting.lanes()] == [["a"], ["b"], ["c"], ["d"]]
        assert waiting.task_count == 5 + 3 * 4

    def test_a_job_all_of_whose_tasks_run_does_not_wait(self) -> None:
        waiting = WaitingJobs()
        assert waiting.add(partly((0, 1, 2), (3, 4))) is None
        assert len(waiting) == 0
