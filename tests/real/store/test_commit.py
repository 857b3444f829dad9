"""One batch is one transaction, and what was kept comes back as it was."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from rota.api.people import Role
from rota.lifecycle.state import EndReason, JobState, Phase, TaskEnd, Used
from rota.model.calendar import Maintenance, QueueMode, QueueState, Reservation
from rota.model.causes import Cause
from rota.model.cluster import TenantUsage
from rota.model.estimate import Estimate
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import Placement, Promise
from rota.model.run import After, Dependency, InputFile, OnTaskFailure, Retry, Run
from rota.model.taints import Effect, Taint
from rota.store.errors import ValueRejected
from rota.store.store import Store, open_store
from rota.store.writing.batch import (
    Agent,
    AgentNode,
    Answer,
    Batch,
    IssuedCertificate,
    JoinToken,
    NodeSettings,
    Project,
    Removal,
    StoredEvent,
    Token,
    ToldEstimate,
)
from tests.stored import EXITED, RUNNING, attempt, event, ids, job, keep


def full_state() -> JobState:
    """With something in every field that isn't plain."""
    state = job(
        "7.3",
        phase="running",
        labels={"team": "vision"},
        name="train",
        spec={
            "retry": Retry(limit=2, exit_codes=(1, 2)),
            "on_task_failure": OnTaskFailure.CONTINUE,
            "depends_on": (Dependency(JobId("1"), After.ANY),),
            "held": True,
            "start_after_ms": 3,
            "deadline_ms": 2**40,
        },
        cause=Cause.RETRY,
        message="again — ☃ \x00",
        live=(RUNNING,),
        done=(1, 2),
        failed=(2,),
        fence=9,
        promise=Promise(50, (Placement(0, NodeName("n1"), 50, (1,)),)),
        time_limit_ms=1000,
        ending=Phase.CANCELLED,
        last_end=TaskEnd(EndReason.SIGNALLED, signal=9, used=Used(5, 6)),
    )
    run = Run(
        script="#!/bin/sh\necho ☃",
        environment=(("A", "b"),),
        files=(InputFile("in", "00", 3, executable=True),),
    )
    return replace(state, spec=replace(state.spec, run=run))


@pytest.mark.covers("job-1")
def test_a_job_comes_back_as_it_was(store: Store) -> None:
    state = full_state()
    keep(store, state)
    assert store.job(state.id) == state
    assert store.load().jobs == [state]


def test_a_changed_job_replaces_what_was_kept_of_it(store: Store) -> None:
    keep(store, job("1"), job("2"))
    keep(store, job("1", phase="running"))
    found = store.job(JobId("1"))
    assert found is not None
    assert found.phase is Phase.RUNNING
    assert ids(store.load().jobs) == ["1", "2"]


def test_jobs_are_counted_by_phase(store: Store) -> None:
    keep(store, job("1"), job("2"), job("3", phase="succeeded"))
    keep(store, job("1", phase="running"), job("4"))
    assert {phase: count for phase, count in store.counts().items() if count} == {
        Phase.PENDING: 2,
        Phase.RUNNING: 1,
        Phase.SUCCEEDED: 1,
    }


@pytest.mark.covers("job-1")
def test_events_are_numbered_without_gaps_over_commits(store: Store) -> None:
    first, second = event("job.Submitted", "1", "vision", a=1), event("job.Held", "1", "vision")
    assert store.commit(Batch(events=[first])) == 1
    assert store.commit(Batch(events=[second, second])) == 3
    assert store.commit(Batch(jobs=[job("1")])) == 3
    assert store.events(0) == [StoredEvent(1, first), StoredEvent(2, second), StoredEvent(3, second)]
    assert store.load().last_seq == 3


@pytest.mark.covers("ops-3")
@pytest.mark.parametrize(
    "bad",
    [
        Batch(attempts=[attempt("1", 2**70)]),
        Batch(jobs=[job("2", message="\ud800")]),
        Batch(jobs=[job("2", project="\ud800")]),
        Batch(attempts=[attempt("99", 1)]),
    ],
    ids=["a number", "a message", "a name", "of an unknown job"],
)
def test_a_batch_that_cannot_be_kept_leaves_nothing_behind(store: Store, bad: Batch) -> None:
    bad.jobs = [job("1"), *bad.jobs]
    bad.events = [event("job.Submitted")]
    with pytest.raises(ValueRejected):
        store.commit(bad)
    assert store.load().jobs == []
    assert store.nodes_of(JobId("99")) == []
    assert store.commit(Batch(jobs=[job("1")], events=[event("job.Submitted")])) == 1
    assert store.counts()[Phase.PENDING] == 1


def test_attempts_are_live_until_they_end(store: Store) -> None:
    first, second = attempt("1", 1), attempt("1", 2, started_ms=20)
    store.commit(Batch(jobs=[job("1")], attempts=[first, second]))
    ended = replace(first, started_ms=15, ended_ms=30, end=EXITED)
    store.commit(Batch(attempts=[ended]))
    assert store.load().attempts == [second]
    assert store.job_with_attempts(JobId("1")) == (job("1"), [ended, second])
    assert store.job_with_attempts(JobId("1"), limit=1) == (job("1"), [second])


def test_nodes_of_a_job_are_known_by_its_latest_attempt_on_each(store: Store) -> None:
    nodes = ["a", "b", "c", "b"]
    attempts = [replace(attempt("1", fence), node=NodeName(name)) for fence, name in enumerate(nodes)]
    other = replace(attempt("2", 1), node=NodeName("d"))
    store.commit(Batch(jobs=[job("1"), job("2")], attempts=[*attempts, other]))
    assert store.nodes_of(JobId("1")) == ["a", "c", "b"]
    assert store.nodes_of(JobId("77")) == []


def test_what_operators_set_is_loaded_and_removed(store: Store) -> None:
    node = NodeSettings(NodeName("n1"), cordoned=True, taints=(Taint("a", Effect.NO_EXECUTE, added_ms=3),))
    queue = QueueState(QueueName("batch"), QueueMode.PAUSED, 4, "moving")
    window = Maintenance("move", 1, 2, (NodeName("n1"),))
    reservation = Reservation("demo", 1, 2, (NodeName("n1"),), ("vision",))
    project = Project("vision", "Seeing", 1, (("ada", Role.PROJECT_ADMIN),))
    token = Token("t1", "00", "ada", Role.ADMIN, None, 1)
    usage = TenantUsage("vision", 5, (("cpu", 3),))
    store.commit(
        Batch(
            node_settings=[node],
            queues=[queue],
            maintenance=[window],
            reservations=[reservation],
            projects=[project],
            tokens=[token],
            usage=[usage],
            learnt=b"\x00learnt",
        )
    )
    loaded = store.load()
    assert (loaded.node_settings, loaded.queues, loaded.maintenance) == ([node], [queue], [window])
    assert (loaded.reservations, loaded.projects, loaded.tokens) == ([reservation], [project], [token])
    assert (loaded.usage, loaded.learnt) == ([usage], b"\x00learnt")

    names = {
        Removal.NODE_SETTINGS: "n1",
        Removal.MAINTENANCE: "move",
        Removal.RESERVATION: "demo",
        Removal.PROJECT: "vision",
        Removal.TOKEN: "t1",
    }
    store.commit(Batch(removed=list(names.items())))
    loaded = store.load()
    assert (loaded.node_settings, loaded.maintenance, loaded.reservations) == ([], [], [])
    assert (loaded.projects, loaded.tokens) == ([], [])
    assert loaded.queues == [queue]


@pytest.mark.covers("ops-2")
def test_agents_and_their_invitations_are_loaded_and_removed(store: Store) -> None:
    node = AgentNode("gpu", (("zone", "a"),), (Taint("a", Effect.NO_EXECUTE, added_ms=3),), 5)
    invitation = JoinToken("j1", b"\x00key", "ada", 1, 2, "gpu-1", node)
    certificate = IssuedCertificate("1f", "00", "PEM", 7)
    agent = Agent("gpu-0", 1, "ada", (certificate,), node)
    store.commit(Batch(join_tokens=[invitation], agents=[agent]))
    loaded = store.load()
    assert (loaded.join_tokens, loaded.agents) == ([invitation], [agent])

    revoked = replace(agent, revoked_ms=9, revoked_by="ada")
    store.commit(Batch(removed=[(Removal.JOIN_TOKEN, "j1")], agents=[agent, revoked]))
    loaded = store.load()
    assert (loaded.join_tokens, loaded.agents) == ([], [revoked])
    store.commit(Batch(removed=[(Removal.AGENT, "gpu-0")]))
    assert store.load().agents == []


def test_the_first_authority_stays(store: Store, url: str) -> None:
    assert store.authority(lambda: b"first") == b"first"
    with open_store(url) as other:
        assert other.authority(lambda: b"second") == b"first"


def test_estimates_are_told_in_order_and_learn_the_start(store: Store) -> None:
    first, second = Estimate(1, 10, 20), Estimate(2, 11, 21, 30)
    store.commit(
        Batch(jobs=[job("1")], estimates=[ToldEstimate(JobId("1"), second), ToldEstimate(JobId("1"), first)])
    )
    store.commit(Batch(estimates=[ToldEstimate(JobId("1"), first, started_ms=12)]))
    assert store.estimates(JobId("1")) == [
        ToldEstimate(JobId("1"), first, 12),
        ToldEstimate(JobId("1"), second),
    ]


def test_the_first_answer_to_a_key_stays(store: Store) -> None:
    answer = Answer("ada", "k1", "00", 201, b"{}", 5)
    store.commit(Batch(answers=[answer]))
    store.commit(Batch(answers=[replace(answer, status=500)]))
    assert store.answer("ada", "k1") == answer
    assert store.answer("bob", "k1") is None
    assert store.forget_answers(before_ms=5) == 0
    assert store.forget_answers(before_ms=6) == 1
    assert store.answer("ada", "k1") is None


def test_jobs_of_an_array_share_one_spec(store: Store) -> None:
    keep(store, *(job(f"5.{index}", command=("sweep",), labels={"a": "b"}) for index in range(30)), job("99"))
    loaded = store.load().jobs
    elements = loaded[:30]
    assert len({id(state.spec.template) for state in elements}) == 1
    assert len({id(state.spec.run) for state in elements}) == 1
    assert [state.spec.array_index for state in elements] == list(range(30))
    with store.connections.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM specs").scalar() == 2


def test_equal_templates_are_one_object_whatever_the_command(store: Store) -> None:
    keep(store, job("1", command=("a",)), job("2", command=("b",)))
    one, other = store.load().jobs
    assert one.spec.template is other.spec.template
    assert one.spec.run != other.spec.run


def test_numbers_are_given_once(store: Store, url: str) -> None:
    with open_store(url) as other, ThreadPoolExecutor(8) as threads:
        counts = [1, 7, 150, 2] * 10
        firsts = list(
            threads.map(lambda at: (store, other)[at % 2].numbers.allocate(counts[at]), range(len(counts)))
        )
    given = [first + at for first, count in zip(firsts, counts, strict=True) for at in range(count)]
    assert len(set(given)) == len(given)
    assert min(given) == 1


def test_numbers_go_on_without_a_gap_after_a_close(url: str) -> None:
    with open_store(url) as store:
        assert store.numbers.allocate(3) == 1
    with open_store(url) as store:
        assert store.numbers.allocate(1) == 4


def test_readers_see_whole_batches_while_one_writes(store: Store) -> None:
    done = threading.Event()
    torn = []

    def look() -> None:
        while not done.is_set():
            loaded = store.load()
            if len(loaded.jobs) != loaded.last_seq:
                torn.append((len(loaded.jobs), loaded.last_seq))

    with ThreadPoolExecutor(3) as threads:
        looking = [threads.submit(look) for _ in range(3)]
        for first in range(1, 400, 10):
            numbers = [str(number) for number in range(first, first + 10)]
            store.commit(
                Batch(
                    jobs=[job(one) for one in numbers],
                    events=[event("job.Submitted", one) for one in numbers],
                )
            )
        done.set()
        for one in looking:
            one.result()
    assert torn == []
    assert store.load().last_seq == 400


def test_a_row_that_cannot_be_read_hides_no_other(store: Store) -> None:
    keep(store, job("1"), job("2"))
    with store.connections.write() as connection:
        connection.exec_driver_sql("UPDATE jobs SET phase = 'pending', state = '{' WHERE id = '1'")
    loaded = store.load()
    assert ids(loaded.jobs) == ["2"]
    assert [job_id for job_id, _ in loaded.unreadable] == ["1"]
