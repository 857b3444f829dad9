"""What the engine and the calendar decide, carried out on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rota.lifecycle.state import Phase
from rota.model.calendar import QueueMode
from rota.model.causes import Cause
from rota.sdk.errors import BadInput, Conflict, NotFound
from tests.real.server.rota_server import RotaServer, eventually, shell


def whole(server: RotaServer, script: str, **fields: object) -> dict[str, object]:
    """A job that takes all the cores there are."""
    return shell(script, resources={"cpu": server.cpus}, **fields)


def until_told(file: Path) -> str:
    return f"while [ ! -e {file} ]; do sleep 0.02; done"


@pytest.mark.covers("prio-1", "prio-2")
def test_an_urgent_job_takes_the_place_of_one_that_runs(server: RotaServer, tmp_path: Path) -> None:
    told = tmp_path / "told"
    low = server.submit_one(whole(server, until_told(told), priority="low"))
    server.started(low)
    high = server.submit_one(whole(server, until_told(told), priority="high"))
    server.started(high)
    evicted = server.client.job(low).job
    assert (evicted.phase, evicted.cause) == (Phase.PENDING, Cause.PREEMPTED)
    told.touch()
    assert [server.over(job).phase for job in (high, low)] == [Phase.SUCCEEDED] * 2
    assert len(server.client.job(low).attempts) == 2


@pytest.mark.covers("time-2")
def test_an_interactive_job_is_promised_a_start_that_is_kept(server: RotaServer) -> None:
    first = server.submit_one(whole(server, "sleep 60", queue="desk", time_limit="2s", grace="100ms"))
    server.started(first)
    second = server.submit_one(whole(server, "true", queue="desk", time_limit="10s"))
    waiting = eventually(
        lambda: job if (job := server.client.job(second).job).promised is not None else None, "a promise"
    )
    overtaking = server.submit_one(whole(server, "true", priority="critical", time_limit="1m"))
    over = server.over(second)
    assert waiting.promised is not None
    assert over.started is not None
    assert over.started <= waiting.promised + timedelta(seconds=5)
    after = server.over(overtaking)
    assert after.started is not None
    assert after.started >= over.started


@pytest.mark.covers("time-2")
def test_nothing_is_promised_to_what_can_never_start(server: RotaServer) -> None:
    job = {"command": ["true"], "queue": "desk", "resources": {"cpu": 100_000}, "time_limit": "1m"}
    [answer] = server.client.plan(job).jobs
    assert (answer.starts, answer.promised) == (None, False)
    assert any("cpu" in reason for reason in answer.reasons)


@pytest.fixture
def side(server: RotaServer) -> Iterator[str]:
    """A queue to play with; open again afterwards."""
    yield "side"
    server.client.set_queue("side", QueueMode.OPEN)


@pytest.mark.covers("time-6")
def test_any_sequence_of_pausing_and_closing_leaves_a_queue_usable(server: RotaServer, side: str) -> None:
    client = server.client
    paused = client.set_queue(side, QueueMode.PAUSED, message="file server is down")
    assert (paused.state, paused.message) == (QueueMode.PAUSED, "file server is down")
    waiting = server.submit_one(shell("true", queue=side))
    assert "file server is down" in str(client.why(waiting).why)
    client.set_queue(side, QueueMode.CLOSED, message="for good")
    with pytest.raises(Conflict, match="accepts no jobs: for good"):
        server.submit(shell("true", queue=side))
    assert server.over(waiting).phase is Phase.SUCCEEDED
    for state in (QueueMode.PAUSED, QueueMode.CLOSED, QueueMode.CLOSED, QueueMode.PAUSED, QueueMode.OPEN):
        client.set_queue(side, state)
    assert server.run(shell("true", queue=side)).phase is Phase.SUCCEEDED
    with pytest.raises(NotFound):
        client.set_queue("no-such-queue", QueueMode.PAUSED)


@pytest.fixture
def calendar(server: RotaServer) -> Iterator[RotaServer]:
    """Whatever a test announces or reserves is called off afterwards."""
    yield server
    for window in server.client.maintenance():
        server.client.remove_maintenance(window.name)
    for reservation in server.client.reservations():
        server.client.remove_reservation(reservation.name)


def _in(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


@pytest.mark.covers("time-5")
def test_nothing_starts_that_would_run_into_maintenance(calendar: RotaServer) -> None:
    server = calendar
    server.client.set_maintenance("cables", _in(30), lasting="1h")
    long, short = server.submit(shell("true", time_limit="10m"), shell("true", time_limit="10s"))
    assert server.over(short).phase is Phase.SUCCEEDED
    assert server.client.job(long).job.phase is Phase.PENDING
    assert "cables" in str(server.client.why(long).why)
    server.client.remove_maintenance("cables")
    assert server.over(long).phase is Phase.SUCCEEDED


@pytest.mark.covers("time-5")
@pytest.mark.parametrize(
    ("at_maintenance", "phase"), [("requeue", Phase.PENDING), ("end", Phase.FAILED)], ids=["requeue", "end"]
)
def test_what_runs_when_maintenance_begins_does_as_its_job_says(
    calendar: RotaServer, at_maintenance: str, phase: Phase
) -> None:
    server = calendar
    job = server.submit_one(shell("sleep 60", at_maintenance=at_maintenance))
    server.started(job)
    server.client.set_maintenance("now", _in(0.3), lasting="1h", nodes=[server.node])
    detail = server.until(job, phase)
    assert detail.job.cause is Cause.MAINTENANCE


@pytest.mark.covers("time-4")
def test_a_reservation_is_for_those_it_names(calendar: RotaServer) -> None:
    server = calendar
    with pytest.raises(BadInput, match="there is no node nowhere"):
        server.client.set_reservation("exam", _in(0), nodes=["nowhere"], tenants=["school"], lasting="1h")
    server.client.set_reservation("exam", _in(-1), nodes=[server.node], tenants=["school"], lasting="1h")
    with pytest.raises(Conflict):
        server.client.set_reservation("too", _in(5), nodes=[server.node], tenants=["other"], lasting="1h")
    for project in ("work", "school"):
        server.client.set_project(project)
    outside, inside = server.submit(
        shell("true", project="work"), shell("true", project="school", reservation="exam")
    )
    assert server.over(inside).phase is Phase.SUCCEEDED
    assert server.client.job(outside).job.phase is Phase.PENDING
    assert "exam" in str(server.client.why(outside).why)
    server.client.remove_reservation("exam")
    assert server.over(outside).phase is Phase.SUCCEEDED


@pytest.mark.parametrize("state", ["cordoned", "draining"])
def test_a_node_that_is_to_take_nothing_lets_what_runs_end(
    server: RotaServer, tmp_path: Path, state: str
) -> None:
    told = tmp_path / "told"
    running = server.submit_one(shell(until_told(told)))
    server.started(running)
    node = server.client.set_node(server.node, message="a fan is loud", **{state: True})  # type: ignore[arg-type]
    assert getattr(node, state)
    try:
        waiting = server.submit_one(shell("true"))
        told.touch()
        assert server.over(running).phase is Phase.SUCCEEDED
        assert server.client.job(waiting).job.phase is Phase.PENDING
    finally:
        server.client.set_node(server.node, cordoned=False, draining=False, taints=[], message="")
    assert server.over(waiting).phase is Phase.SUCCEEDED


@pytest.mark.covers("decide-5")
def test_a_taint_keeps_off_and_evicts_what_does_not_tolerate_it(server: RotaServer) -> None:
    job, tolerant = server.submit(
        shell("sleep 60", resources={"cpu": "100m"}),
        shell("sleep 60", resources={"cpu": "100m"}, tolerations=["hot"]),
    )
    server.started(job, tolerant)
    server.client.set_node(server.node, taints=["hot:NoExecute"])
    try:
        assert server.until(job, Phase.PENDING).job.cause is Cause.TAINT
        assert server.client.job(tolerant).job.phase is Phase.RUNNING
    finally:
        server.client.set_node(server.node, taints=[])
    server.started(job)


@pytest.mark.covers("time-8")
def test_a_running_job_may_run_longer_unless_that_breaks_a_promise(calendar: RotaServer) -> None:
    server = calendar
    job = server.submit_one(whole(server, "sleep 60", time_limit="1m"))
    server.started(job)
    assert server.client.extend(job, "+1m").extension["granted"] is True
    assert server.client.job(job).job.time_limit_s == 120
    server.client.set_maintenance("cables", _in(300), lasting="1h")
    with pytest.raises(Conflict) as refused:
        server.client.extend(job, "1h")
    assert "cables" in str(refused.value.data)
    assert server.client.job(job).job.time_limit_s == 120


@pytest.mark.covers("time-9")
def test_a_job_that_does_not_start_in_time_fails_with_that_reason(server: RotaServer) -> None:
    blocker = server.submit_one(whole(server, "sleep 60"))
    server.started(blocker)
    late = server.run(whole(server, "true", start_within="300ms"))
    assert (late.phase, late.cause) == (Phase.FAILED, Cause.START_MISSED)


@pytest.mark.covers("time-9", "why-2")
def test_a_job_that_could_never_run_is_refused_with_what_would_have_to_change(server: RotaServer) -> None:
    with pytest.raises(BadInput) as refused:
        server.submit(shell("true", resources={"cpu": 100_000}))
    assert "cpu" in str(refused.value)
    assert not list(server.unfinished())


@pytest.mark.covers("why-1", "time-1")
def test_a_waiting_job_says_why_and_when(server: RotaServer) -> None:
    running = server.submit_one(whole(server, "sleep 60"))
    server.started(running)
    waiting = server.submit_one(whole(server, "true"))
    assert "insufficient cpu" in str(server.client.why(waiting).why)
    estimate = eventually(
        lambda: found if (found := server.client.eta(waiting)).expected is not None else None, "an estimate"
    )
    assert estimate.latest is not None
    assert estimate.position == 0
    server.client.cancel(running)
    assert server.over(waiting).phase is Phase.SUCCEEDED


@pytest.mark.covers("agent-2")
def test_the_servers_own_machine_tells_how_much_of_its_memory_is_in_use(server: RotaServer) -> None:
    [node] = server.client.nodes()
    assert node.memory_used is not None
    assert 0 < node.memory_used < 2 * node.capacity["memory"]


@pytest.mark.covers("decide-17")
def test_a_job_that_no_node_could_run_waits_for_one_if_it_says_so(server: RotaServer) -> None:
    huge = {**shell("true"), "resources": {"cpu": 100_000}}
    with pytest.raises(BadInput, match="never start here"):
        server.submit(huge)
    job = server.submit_one({**huge, "wait_for_nodes": True})
    why = server.client.why(job).why
    assert (why.verdict, why.waits_for_node) == ("never", "a node with 100000 cpu, 256Mi memory")
    server.client.cancel(job)


@pytest.mark.covers("decide-18")
def test_plugins_are_listed_by_the_server(server: RotaServer) -> None:
    listed = {one.name: one for one in server.client.plugins()}
    assert listed["gpu-packing"].package == "rota"
    assert listed["licences"].does == ["filter", "score"]
