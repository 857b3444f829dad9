"""Many equal tasks in one go lie exactly as if they had been placed one at a time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.model.cluster import ClusterRecords
from rota.model.ids import JobId
from rota.model.job import Job, JobRecord, JobTemplate, TaskGroup
from rota.model.node import Node, Offer
from rota.model.plan import Binding
from rota.model.policy import PluginConfig, Policy, SchedulerPolicy, Selection, Strategy, default_weights
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from tests.builders import ByName
from tests.properties.carry_out import carried_out, plan_for
from tests.properties.clusters import GI, nodes, offers, task_specs
from tests.words import NOW_MS

COUNTS = st.sampled_from((2, 3, 7, 70, 100))


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    strategy = draw(st.sampled_from(Strategy))
    plugins = (PluginConfig(ByName.name),) if strategy is Strategy.CUSTOM else ()
    selection = Selection(strategy, ByName.name if plugins else "")
    weights = default_weights(strategy)
    if draw(st.booleans()):
        weights = replace(weights, cost=draw(st.sampled_from((0, 25))), load=draw(st.sampled_from((0, 30))))
    return Policy((SchedulerPolicy(selection=selection, weights=weights, plugins=plugins),))


@st.composite
def roomy_nodes(draw: st.DrawFn) -> tuple[Node, ...]:
    """Some of them large, so that many tasks find room and the scores of nodes cross."""
    found = []
    for node in draw(nodes()):
        times = draw(st.sampled_from((1, 1, 4, 16)))
        has = node.spec.capacity
        more = replace(has, cpu_milli=has.cpu_milli * times, memory_bytes=has.memory_bytes * times)
        found.append(replace(node, spec=replace(node.spec, capacity=more)))
    return tuple(found)


@st.composite
def small_tasks(draw: st.DrawFn) -> TaskSpec:
    spec = draw(task_specs())
    requests = Resources(draw(st.sampled_from((100, 500, 0))), draw(st.sampled_from((0, GI // 4, GI))))
    return replace(spec, requests=requests) if draw(st.booleans()) else spec


def jobs(specs: list[TaskSpec]) -> tuple[JobRecord, ...]:
    return tuple(
        JobRecord(Job(JobId(f"w{at:03}"), JobTemplate((TaskGroup(spec),)), NOW_MS))
        for at, spec in enumerate(specs)
    )


@pytest.mark.covers("decide-6", "decide-7")
@given(roomy_nodes(), offers(), small_tasks(), COUNTS, policies())
def test_as_tasks_that_differ_in_nothing_that_matters(
    nodes: tuple[Node, ...], offers: tuple[Offer, ...], spec: TaskSpec, count: int, policy: Policy
) -> None:
    alike = jobs([spec] * count)
    told_apart = jobs([replace(spec, platform=f"unknown-{at}") for at in range(count)])
    in_one_go = plan_for(ClusterRecords(nodes, offers, alike), policy, NOW_MS)
    one_by_one = plan_for(ClusterRecords(nodes, offers, told_apart), policy, NOW_MS)
    assert in_one_go.bindings == one_by_one.bindings


@pytest.mark.covers("decide-6")
@given(roomy_nodes(), small_tasks(), st.sampled_from((3, 6)), policies())
def test_as_tasks_that_come_one_a_cycle(
    nodes: tuple[Node, ...], spec: TaskSpec, count: int, policy: Policy
) -> None:
    every = jobs([spec] * count)
    in_one_go = plan_for(ClusterRecords(nodes, (), every), policy, NOW_MS)
    records = ClusterRecords(nodes)
    bindings: list[Binding] = []
    for at, job in enumerate(every):
        records = replace(records, jobs=(*records.jobs, job))
        plan = plan_for(records, policy, NOW_MS + at)
        bindings += plan.bindings
        records = carried_out(records, plan, NOW_MS + at)
        if not plan.bindings:
            break
    assert list(in_one_go.bindings) == bindings


@pytest.mark.covers("gang-1", "decide-6")
@given(roomy_nodes(), small_tasks(), COUNTS, policies())
def test_as_the_tasks_of_one_gang(
    nodes: tuple[Node, ...], spec: TaskSpec, count: int, policy: Policy
) -> None:
    # A gang that must be near itself looks for a domain that holds all of it; single jobs can't.
    alone = replace(spec, job_affinity=tuple(term for term in spec.job_affinity if term.anti))
    gang = Job(JobId("gang"), JobTemplate((TaskGroup(alone, count),), min_available=1), NOW_MS)
    together = plan_for(ClusterRecords(nodes, (), (JobRecord(gang),)), policy, NOW_MS)
    single = plan_for(ClusterRecords(nodes, (), jobs([alone] * count)), policy, NOW_MS)
    assert [one.node for one in together.bindings] == [one.node for one in single.bindings]
