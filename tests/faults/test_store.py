"""The simulated store is held to what the real one does, step by step; and the disk to what disks do."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.api.documents import Role
from rota.faults.disk import Disk
from rota.faults.store import SimulatedStore, Weather
from rota.lifecycle.state import Phase
from rota.model.calendar import QueueMode, QueueState
from rota.model.cluster import TenantUsage
from rota.model.ids import JobId, NodeName, QueueName
from rota.store.batch import Answer, Batch, NodeSettings, Project, Removal
from rota.store.errors import StoreDiverged, StoreUnavailable
from rota.store.event_list import EventFilter
from rota.store.prune import History
from rota.store.store import open_store
from tests.stored import EXITED, attempt, event, job

NOBODY = JobId("99")


def simulated(disk: Disk | None = None, weather: Weather | None = None) -> SimulatedStore:
    return SimulatedStore(disk or Disk(), weather or Weather(), Random(1))


def batch_of(acts: list[int], at: int) -> Batch:
    """A batch of whatever the numbers say."""
    batch = Batch()
    for number in acts:
        name = str(number % 4 + 1)
        match number % 7:
            case 0:
                batch.jobs.append(job(f"{name}0.{number % 3}", phase=("pending", "failed")[number % 2]))
            case 1:
                batch.jobs.append(job(name, phase=("pending", "running", "succeeded")[number % 3]))
            case 2:
                batch.events.append(event("job.Started", name, "vision", number=number))
            case 3:
                batch.queues.append(QueueState(QueueName(name), QueueMode.PAUSED, at))
            case 4:
                batch.node_settings.append(NodeSettings(NodeName(name), draining=number % 2 == 0))
            case 5:
                batch.usage.append(TenantUsage(name, at, (("cpu", number),)))
                batch.projects.append(Project(name, "", at, (("ada", Role.VIEWER),)))
                batch.answers.append(Answer("ada", name, "00", 200, b"{}", at))
            case _:
                batch.removed.append((Removal.PROJECT, name))
                batch.learnt = name.encode()
    batch.jobs = list({state.id: state for state in batch.jobs}.values())
    batch.attempts = [
        attempt(state.id, 1, ended_ms=12 if state.is_over else None, end=EXITED if state.is_over else None)
        for state in batch.jobs
    ]
    batch.queues = list({one.name: one for one in batch.queues}.values())
    batch.node_settings = list({one.name: one for one in batch.node_settings}.values())
    batch.usage = list({one.path: one for one in batch.usage}.values())
    batch.projects = list({one.name: one for one in batch.projects}.values())
    return batch


def answers_of(store: Any) -> list[object]:
    """All that can be asked of either."""
    return [
        store.load(),
        store.counts(),
        [store.job(JobId(name)) for name in ("1", "20.0", "99")],
        store.jobs_of_array(20),
        [store.job_with_attempts(JobId(name)) for name in ("1", "99")],
        store.nodes_of(JobId("1")),
        store.events(0),
        store.events(1, 2, EventFilter(subject="2")),
        store.latest_events(2),
        store.latest_events(2, EventFilter(subject="2")),
        store.answer("ada", "2"),
    ]


@pytest.mark.covers("ops-2")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=25)
@given(steps=st.lists(st.lists(st.integers(0, 200), max_size=5), max_size=5))
def test_it_answers_as_the_real_one_does(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[int]]
) -> None:
    disk = Disk()
    ours = simulated(disk)
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('store')}/rota.db") as real:
        for at, acts in enumerate(steps):
            assert ours.commit(batch_of(acts, at)) == real.commit(batch_of(acts, at))
            assert ours.allocate(3) == real.allocate(3)
            assert answers_of(ours) == answers_of(real)
        assert answers_of(simulated(disk)) == answers_of(real)
        for store in (ours, real):
            store.forget_answers(2)
            store.forget_events(6, at_most=1)
        assert sorted(ours.prune(History(ttl_ms=1), 10_000)) == sorted(real.prune(History(ttl_ms=1), 10_000))
        assert answers_of(ours) == answers_of(real)


def test_what_is_full_keeps_nothing_and_recovers() -> None:
    weather = Weather(is_full=True)
    store = simulated(weather=weather)
    for ask in (lambda: store.commit(Batch(events=[event("a")])), store.load, lambda: store.allocate(1)):
        with pytest.raises(StoreUnavailable, match="full"):
            ask()
    weather.is_full = False
    assert store.commit(Batch(events=[event("a")])) == 1


def test_a_commit_in_doubt_is_kept_once_or_tells_that_it_was() -> None:
    outcomes = set()
    for seed in range(20):
        weather = Weather(loses_connection=1.0)
        store = SimulatedStore(Disk(), weather, Random(seed))
        batch = Batch(events=[event("a")], jobs=[job("1")])
        with pytest.raises(StoreUnavailable):
            store.commit(batch)
        weather.loses_connection = 0.0
        was_kept = store.job(JobId("1")) is not None
        outcomes.add(was_kept)
        if was_kept and seed % 2:
            with pytest.raises(StoreDiverged):
                store.commit(Batch(events=[event("b")]))
            assert store.commit(Batch(events=[event("b")])) == 2
        else:
            assert store.commit(batch) == 1
            assert store.counts()[Phase.PENDING] == 1
    assert outcomes == {True, False}


def test_what_was_synced_survives_a_loss_of_power_and_what_was_not_is_whole_or_gone() -> None:
    seen = set()
    for seed in range(40):
        disk = Disk()
        simulated(disk).commit(Batch(jobs=[job("1")]))
        disk.sync()
        store = simulated(disk)
        store.commit(Batch(jobs=[replace(job("1"), message="changed"), job("2")]))
        disk.lose_power(Random(seed))
        after = simulated(disk)
        first = after.job(JobId("1"))
        assert first is not None
        second_is_there = after.job(JobId("2")) is not None
        assert (first.message == "changed") is second_is_there
        seen.add(second_is_there)
        after.commit(Batch(jobs=[job("3")]))
        assert simulated(disk).job(JobId("3")) is not None
    assert seen == {True, False}
