"""Cycle after cycle: what plans lead to when each is carried out before the next is made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId
from rota.model.job import Job, JobRecord, JobTemplate, TaskGroup
from rota.model.node import Node
from rota.model.plan import EvictionCause, Plan
from rota.model.policy import Policy
from rota.model.task import TaskSpec
from tests.properties.carry_out import carried_out, plan_for
from tests.properties.clusters import Situation, nodes, situations, task_specs
from tests.reference.gangs import can_start, gang_ask
from tests.reference.world import jobs_of, world_of
from tests.words import NOW_MS

STEP_MS = 600_000
QUIET = 6
"""Cycles without any change after which nothing will change: no job rises in class any more."""
MOST_CYCLES = 60


def cycles(situation: Situation) -> list[Plan]:
    """Plans until nothing changes any more."""
    records, policy = situation.records, situation.policy
    plans: list[Plan] = []
    quiet = 0
    while quiet < QUIET:
        now_ms = NOW_MS + len(plans) * STEP_MS
        plan = plan_for(records, policy, now_ms)
        plans.append(plan)
        quiet = 0 if plan.bindings or plan.evictions else quiet + 1
        assert len(plans) < MOST_CYCLES, "it goes on and on"
        records = carried_out(records, plan, now_ms)
    return plans


@pytest.mark.covers("prio-3", "prio-6")
@given(situations())
def test_it_comes_to_rest_and_no_two_jobs_evict_each_other(situation: Situation) -> None:
    evicted = {
        (eviction.preemptor, eviction.job)
        for plan in cycles(situation)
        for eviction in plan.evictions
        if eviction.cause is not EvictionCause.TAINT
    }
    assert [pair for pair in evicted if pair[::-1] in evicted] == []


@pytest.mark.covers("prio-2")
@given(situations())
def test_no_job_is_lost(situation: Situation) -> None:
    """Whoever was evicted waits, runs, or is somewhere in the last plan."""
    records, policy = situation.records, situation.policy
    for at in range(3):
        plan = plan_for(records, policy, NOW_MS + at * STEP_MS)
        records = carried_out(records, plan, NOW_MS + at * STEP_MS)
    waiting = {job for entry in plan.waiting for job in entry.jobs}
    for record in records.jobs:
        assert list(record.waiting_ranks()) == [] or record.job.id in waiting


@pytest.mark.covers("gang-1", "gang-3")
@given(nodes(), st.lists(st.tuples(task_specs(), st.integers(1, 4)), min_size=2, max_size=5))
def test_gangs_that_fit_alone_all_get_their_turn(
    nodes: tuple[Node, ...], shapes: list[tuple[TaskSpec, int]]
) -> None:
    """Whoever runs has ended by the next cycle: then every gang that fits alone has run soon."""
    policy = Policy()
    gangs = [
        JobRecord(Job(JobId(f"w{at}"), JobTemplate((TaskGroup(spec, count),)), NOW_MS - at))
        for at, (spec, count) in enumerate(shapes)
    ]
    feasible = {gang.job.id for gang in gangs if _fits_alone(nodes, gang, policy)}
    ran: set[str] = set()
    for at in range(len(gangs)):
        left = tuple(gang for gang in gangs if gang.job.id not in ran)
        plan = plan_for(ClusterRecords(nodes, (), left), policy, NOW_MS + at * STEP_MS)
        started = {binding.job for binding in plan.bindings}
        for job in started:
            bound = [binding for binding in plan.bindings if binding.job == job]
            assert len(bound) == next(g.job.template.task_count for g in gangs if g.job.id == job)
        ran |= started
    assert feasible <= ran


def _fits_alone(nodes: tuple[Node, ...], gang: JobRecord, policy: Policy) -> bool:
    records = ClusterRecords(nodes, (), (gang,))
    world = world_of(records, policy.defaults)
    return can_start(world, gang_ask(jobs_of(records, policy)[gang.job.id], policy, NOW_MS))
