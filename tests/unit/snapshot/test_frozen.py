"""A snapshot is frozen: what it says stays as it was, however the state it was taken from changes."""

import random
import sys
from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.engine import decide
from rota.model.ids import JobId
from rota.snapshot import ClusterState, Snapshot
from rota.snapshot.state import with_waiting
from tests.builders import PLUGINS, Cluster
from tests.kit.sampling import sampled
from tests.properties.clusters import Situation, situations
from tests.unit.snapshot.changing import change, contents, job_named, node_named
from tests.words import NOW_MS


def all_of(snapshot: Snapshot) -> dict[str, Any]:
    return {**contents(snapshot), "jobs": dict(snapshot.jobs), "calendar": snapshot.calendar}


@pytest.fixture
def threads_take_turns_often() -> Iterator[None]:
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual_s)


@pytest.mark.covers("trust-1")
@pytest.mark.parametrize("seed", sampled(range(20), quick=4))
def test_it_says_the_same_after_any_changes(seed: int) -> None:
    chance = random.Random(seed)
    records, state = node_named("n0", chance).records, ClusterState()
    state.load(records)
    taken: list[tuple[Snapshot, dict[str, Any]]] = []
    for _ in range(60):
        records = change(state, records, chance)
        if chance.random() < 0.3:
            snapshot = state.snapshot()
            taken.append((snapshot, all_of(snapshot)))
        if taken and chance.random() < 0.2:
            # Whoever is done with one leaves the others as they are.
            taken.pop(chance.randrange(len(taken)))
        for snapshot, said in taken:
            assert all_of(snapshot) == said


@pytest.mark.covers("trust-1")
@given(situations(), st.randoms(use_true_random=False))
def test_it_gives_the_same_plan_after_any_changes(situation: Situation, chance: random.Random) -> None:
    state = ClusterState(situation.policy.defaults)
    state.load(situation.records)
    snapshot = state.snapshot()
    plan = decide(snapshot, situation.policy, NOW_MS, PLUGINS)
    for record in situation.records.jobs:
        state.remove_job(record.job.id)
    for node in situation.records.nodes[1:]:
        state.remove_node(node.name)
    for number in range(5):
        [record] = job_named(f"new{number}", chance).records.jobs
        state.set_job(record)
        state.snapshot()
    assert decide(snapshot, situation.policy, NOW_MS, PLUGINS) == plan


@pytest.mark.slow
@pytest.mark.covers("trust-1")
@pytest.mark.usefixtures("threads_take_turns_often")
def test_another_thread_may_read_it_while_the_state_changes() -> None:
    chance = random.Random(1)
    records, state = node_named("n0", chance).records, ClusterState()
    state.load(records)
    for number in range(40):
        [record] = job_named(f"j{number % 12}", chance).records.jobs
        state.set_job(record)
    records = state.records()
    snapshot = state.snapshot()
    said, found = all_of(snapshot), list[dict[str, Any]]()
    enough, has_begun = Event(), Event()

    def read() -> None:
        while not enough.is_set():
            found.append(all_of(snapshot))
            has_begun.set()

    reader = Thread(target=read)
    reader.start()
    try:
        assert has_begun.wait(30)
        for _ in range(150):
            records = change(state, records, chance)
            state.snapshot()
    finally:
        enough.set()
        reader.join(30)
    assert found
    assert all(one == said for one in found)


def test_records_that_were_not_there_are_still_not_there() -> None:
    state = ClusterState()
    state.load(Cluster().node("n", cpu=4).job("a", cpu=1).records)
    snapshot = state.snapshot()
    state.load(Cluster().job("b", cpu=1).records)
    state.remove_job(JobId("a"))
    assert "b" not in snapshot.jobs
    assert snapshot.jobs.get(JobId("b")) is None
    assert list(snapshot.jobs) == ["a"]
    assert len(snapshot.jobs) == 1
    assert list(state.snapshot().jobs) == ["b"]


def test_one_that_nobody_looks_at_any_more_costs_nothing() -> None:
    state = ClusterState()
    state.load(Cluster().node("n", cpu=4).job("a", cpu=1).records)
    for _ in range(5):
        state.snapshot()
        state.load(Cluster().job("a", cpu=1).records)
    assert len(state._records._frozen) == 1


@pytest.mark.parametrize("extended", [{}, {"never-asked-for": 1}], ids=["known rows", "a new row"])
@given(situations(), st.randoms(use_true_random=False))
def test_jobs_that_might_come_are_decided_on_as_if_they_had(
    extended: dict[str, int], situation: Situation, chance: random.Random
) -> None:
    records, policy = situation.records, situation.policy
    state = ClusterState(policy.defaults)
    state.load(records)
    cluster = Cluster()
    for number in range(4):
        cpu, count = chance.randrange(1, 3), chance.randrange(1, 3)
        cluster = cluster.job(f"new{number}", tasks=count, extended=extended, cpu=cpu, submitted=-number)
    like = [one for one in records.jobs if not one.placements and one.promise is None][:2]
    more = [
        *cluster.records.jobs,
        *(
            replace(one, job=replace(one.job, id=JobId(f"like-{one.job.id}"), submitted_ms=NOW_MS, number=99))
            for one in like
        ),
    ]
    supposed = with_waiting(state.snapshot(), more, policy.defaults, records.nodes)
    if records.offers:
        return  # How many nodes an offer has depends on who waits: no live cluster has any.
    for record in more:
        state.set_job(record)
    assert decide(supposed, policy, NOW_MS, PLUGINS) == decide(state.snapshot(), policy, NOW_MS, PLUGINS)
