"""Fair queues over many cycles: who has had least comes first, and nobody starves."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.model.cluster import ClusterRecords, TenantUsage
from rota.model.ids import JobId
from rota.model.job import Job, JobRecord, JobTemplate, TaskGroup
from rota.model.plan import EvictionCause
from rota.model.policy import (
    FairShare,
    Policy,
    QueuePolicy,
    QueueStrategy,
    Quota,
    SchedulerPolicy,
    TenantKey,
    TenantPolicy,
)
from rota.model.resources import Resources
from rota.model.task import TaskSpec
from tests.builders import Cluster
from tests.properties.carry_out import plan_for
from tests.words import NOW_MS

CYCLE_MS = 600_000
TASK_CPU_MILLI = 1000

Weights = dict[str, int]
"""Tenant path ("project/user") → weight"""


def fair(weights: Weights) -> Policy:
    queue = QueuePolicy(strategy=QueueStrategy.FAIR, tenant_key=TenantKey.PROJECT_USER)
    tenants = tuple(TenantPolicy(path, weight) for path, weight in weights.items())
    return Policy((SchedulerPolicy(queues=(queue,)),), FairShare(tenants=tenants))


def waiting(path: str, count: int) -> tuple[JobRecord, ...]:
    project, _, user = path.partition("/")
    spec = TaskSpec(Resources(TASK_CPU_MILLI))
    template = JobTemplate((TaskGroup(spec),), project=project, user=user or "one")
    return tuple(JobRecord(Job(JobId(f"{path}-{number:02}"), template, NOW_MS)) for number in range(count))


def served(policy: Policy, paths: list[str], slots: int, cycles: int) -> list[Counter[str]]:
    """After each cycle, how many jobs of each tenant have run; every job takes one cycle."""
    records = Cluster().node("n", cpu=slots).records
    records = replace(records, jobs=tuple(job for path in paths for job in waiting(path, 40)))
    used: Counter[str] = Counter()
    history = []
    for cycle in range(cycles):
        now_ms = NOW_MS + cycle * CYCLE_MS
        records = replace(records, usage=usage(used, now_ms))
        plan = plan_for(records, policy, now_ms)
        done = {binding.job for binding in plan.bindings}
        used.update(job.rpartition("-")[0] for job in done)
        records = replace(records, jobs=tuple(one for one in records.jobs if one.job.id not in done))
        history.append(used.copy())
    return history


def usage(jobs: Counter[str], now_ms: int) -> tuple[TenantUsage, ...]:
    amount = TASK_CPU_MILLI * CYCLE_MS // 1000
    return tuple(
        TenantUsage(path, now_ms, (("cpu", count * amount),)) for path, count in sorted(jobs.items())
    )


@pytest.mark.covers("prio-5", "decide-8")
@given(st.integers(2, 4), st.integers(1, 5), st.integers(1, 8))
def test_equal_tenants_are_served_within_one_job_of_each_other(tenants: int, slots: int, cycles: int) -> None:
    paths = [f"p{number}/one" for number in range(tenants)]
    for counts in served(fair({}), paths, slots, cycles):
        assert max(counts[path] for path in paths) - min(counts[path] for path in paths) <= 1


@pytest.mark.covers("prio-5")
@given(st.lists(st.integers(1, 3), min_size=2, max_size=3), st.integers(1, 6))
def test_within_a_cycle_tenants_are_served_by_their_weights(weights: list[int], slots: int) -> None:
    paths = {f"p{number}": weight for number, weight in enumerate(weights)}
    counts = served(fair(paths), [f"{path}/one" for path in paths], slots, 1)[-1]
    for one, weight in paths.items():
        for other, its_weight in paths.items():
            # Whoever was served last had, before that, no more than anybody else for its weight.
            assert (counts[f"{one}/one"] - 1) * its_weight <= counts[f"{other}/one"] * weight


@pytest.mark.covers("prio-5")
@given(st.integers(1, 3), st.integers(1, 4), st.integers(2, 6))
def test_a_project_gets_its_part_however_many_users_it_has(users: int, slots: int, cycles: int) -> None:
    many = [f"crowd/u{number}" for number in range(users)]
    for counts in served(fair({}), [*many, "alone/one"], slots, cycles):
        crowd = [counts[path] for path in many]
        assert abs(sum(crowd) - counts["alone/one"]) <= 1
        assert max(crowd) - min(crowd) <= 1


@pytest.mark.covers("prio-5")
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 20))
def test_a_starved_tenant_is_served_first(running: int, slots: int, hours_used: int) -> None:
    cluster = Cluster().node("n", cpu=running + slots)
    cluster = cluster.usage("rich/one", cpu=hours_used * 3600 * TASK_CPU_MILLI)
    for number in range(running):
        cluster = cluster.running(
            f"rich-{number}", on=["n"], cpu=1, template={"project": "rich", "user": "one"}
        )
    jobs = (*cluster.records.jobs, *waiting("rich/one", 5), *waiting("starved/one", 5))
    records: ClusterRecords = replace(cluster.records, jobs=jobs)
    plan = plan_for(records, fair({}), NOW_MS)
    first = [binding.job.partition("/")[0] for binding in plan.bindings[: min(running, slots)]]
    assert first == ["starved"] * min(running, slots)


@pytest.mark.covers("prio-5")
@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_what_a_tenant_lent_it_can_take_back(own: int, others: int, data: st.DataObject) -> None:
    """A borrower that holds everything gives up as much as the owner asks for, and no more."""
    wanted = data.draw(st.integers(1, own))
    owner = TenantPolicy("owner", quota=Quota((("cpu", own * TASK_CPU_MILLI),)))
    borrower = TenantPolicy("borrower", quota=Quota((("cpu", others * TASK_CPU_MILLI),)))
    policy = replace(fair({}), fair_share=FairShare(tenants=(owner, borrower)))
    cluster = Cluster().node("n", cpu=own + others)
    for number in range(own + others):
        cluster = cluster.running(f"b{number}", on=["n"], cpu=1, template={"project": "borrower"})
    records = replace(cluster.records, jobs=(*cluster.records.jobs, *waiting("owner/one", wanted)))
    plan = plan_for(records, policy, NOW_MS)
    assert len(plan.bindings) == len(plan.evictions) == wanted
    assert {one.cause for one in plan.evictions} == {EvictionCause.RECLAIMED}
