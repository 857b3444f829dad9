"""Workloads: their load, and what their notes say."""

import pytest

from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobTemplate, TaskGroup
from rota.model.node import Node, NodeSpec
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from rota.model.workload import ENDLESS_MS, RecordedEnd, SimJob, Workload, WorkloadNote, offered_load

TEMPLATE = JobTemplate((TaskGroup(TaskSpec(Resources(cpu_milli=1000)), 2),))


def sim_job(arrival_ms: int, run_ms: int, outcome: RecordedEnd = RecordedEnd.COMPLETED) -> SimJob:
    return SimJob(Job(JobId(str(arrival_ms)), TEMPLATE, arrival_ms), arrival_ms, run_ms, outcome)


def test_load_is_work_over_capacity_between_first_and_last_arrival() -> None:
    nodes = (Node(NodeName("n"), NodeSpec(Resources(cpu_milli=4000))),)
    assert offered_load(Workload("w", (sim_job(100, 50), sim_job(200, 150)), nodes)) == 1.0


@pytest.mark.parametrize("jobs", [(), (sim_job(5, 5),)])
def test_there_is_no_load_without_a_span(jobs: tuple[SimJob, ...]) -> None:
    with pytest.raises(ValueError, match="no load"):
        offered_load(Workload("w", jobs))


def test_a_job_without_an_end() -> None:
    assert sim_job(0, ENDLESS_MS).is_endless
    assert not sim_job(0, 10**15).is_endless


def test_a_job_that_was_cancelled_before_it_ran() -> None:
    assert sim_job(0, 0, RecordedEnd.CANCELLED).cancelled_waiting
    assert not sim_job(0, 1, RecordedEnd.CANCELLED).cancelled_waiting
    assert not sim_job(0, 0).cancelled_waiting


def test_notes_in_words() -> None:
    assert str(WorkloadNote("steps, left out", 1200, 3)) == "steps, left out (1,200×, first on line 3)"
    assert str(WorkloadNote("pods, left out", 2)) == "pods, left out (2×)"
    assert str(WorkloadNote("as the largest job")) == "as the largest job"
