"""What the server makes of agents that come, go, and come back, without a network in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.backends.agents import agent, backend, pool
from rota.backends.agents.agent import Session
from rota.backends.agents.arrivals import FolderArrivals
from rota.backends.agents.backend import AgentsBackend
from rota.backends.agents.claims import Refusal
from rota.backends.agents.pool import NameTaken, NotTheirs
from rota.backends.agents.terms import Terms
from rota.backends.backend import TaskEnded, TaskRef, TaskReport, TaskStart, TaskStarted
from rota.lifecycle.state import EndReason, TaskEnd
from rota.model.ids import JobId, NodeName
from rota.model.run import Run
from rota.wire import agents_pb2 as wire

A = NodeName("a")
TERMS = Terms(60_000)


def ref(job: str, fence: int = 1) -> TaskRef:
    return TaskRef(JobId(job), 0, fence)


def start(job: str, node: str = "a") -> TaskStart:
    return TaskStart(ref(job), NodeName(node), Run(command=("true",)))


def hello(*tasks: TaskRef, name: str = "a", instance: str = "i") -> wire.Hello:
    capacity = wire.Resources(cpu_milli=1000, memory_bytes=1 << 30, slots=1)
    refs = [wire.TaskRef(job=task.job, rank=task.rank, fence=task.fence) for task in tasks]
    return wire.Hello(
        protocol=1, name=name, instance=instance, node=wire.Node(capacity=capacity), tasks=refs, clock_ms=1
    )


class Bench:
    """A backend, its clock, and what it says."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ms = 1_000_000
        for module in (agent, backend, pool):
            monkeypatch.setattr(module, "since_boot_ms", lambda: self.now_ms)
        self.changes = 0
        self.backend = AgentsBackend(
            FolderArrivals(folder), terms=TERMS, reserved=frozenset([NodeName("own")])
        )
        self.backend.on_change = self._changed

    def _changed(self) -> None:
        self.changes += 1

    def admit(self, hello: wire.Hello) -> Session:
        """As after its first heartbeat."""
        session = self.backend.greet(hello)
        self.backend.admit(session)
        return session

    def orders(self, session: Session) -> list[tuple[str, list[str]]]:
        """Since the last time: offers and settlements, with their jobs."""
        said = []
        while not session.orders.empty():
            order = session.orders.get_nowait()
            assert order is not None
            if order.WhichOneof("order") == "offer":
                said.append(("offer", [task.ref.job for task in order.offer.tasks]))
            else:
                said.append(("settle", [task.job for task in order.settle.refs]))
        return said

    def reports(self) -> list[TaskReport]:
        found = []
        while not self.backend._reports.empty():
            found.append(self.backend._reports.get_nowait())
        return found

    def lost(self) -> list[str]:
        return [
            report.ref.job
            for report in self.reports()
            if isinstance(report, TaskEnded) and report.end.reason is EndReason.LOST
        ]

    def later(self, by_ms: int) -> None:
        self.now_ms += by_ms
        self.backend.look_for_silence()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


async def test_a_start_is_offered_at_once_or_when_the_agent_is_back(bench: Bench) -> None:
    session = bench.admit(hello())
    await bench.backend.start([start("1"), start("1")])
    assert bench.orders(session) == [("offer", ["1"])]
    bench.backend.left(session, for_good=False)
    await bench.backend.start([start("2")])
    again = bench.admit(hello(ref("1")))
    assert bench.orders(again) == [("offer", ["2"])]
    assert bench.reports() == []


async def test_what_ran_while_the_server_was_away_keeps_its_times(bench: Bench) -> None:
    """Its start wasn't confirmed before, so it is said again: to one that has ended long ago."""

    await bench.backend.take_up([(ref("1"), A)])
    await bench.backend.start([start("1")])
    session = bench.admit(hello(ref("1")))
    task = bench.backend.task_of(session, ref("1"))
    bench.backend.hear_of(task, TaskStarted(ref("1"), 5))
    bench.backend.hear_of(task, TaskEnded(ref("1"), 9, TaskEnd(EndReason.EXITED, 0)))
    assert [report.at_ms for report in bench.reports()] == [5, 9]


async def test_what_began_and_is_missing_is_lost_and_what_did_not_is_offered_again(bench: Bench) -> None:
    session = bench.admit(hello())
    await bench.backend.start([start("1"), start("2")])
    bench.backend.hear_of(bench.backend.task_of(session, ref("1")), TaskStarted(ref("1"), 5))
    bench.reports()
    again = bench.admit(hello())
    assert bench.lost() == ["1"]
    assert bench.orders(again) == [("offer", ["2"])]


@pytest.mark.covers("agent-5")
async def test_a_hello_that_was_long_under_way_changes_nothing(bench: Bench) -> None:
    """On a connection that the agent has given up: nobody will ever answer there."""

    session = bench.admit(hello())
    await bench.backend.start([start("1")])
    bench.backend.hear_of(bench.backend.task_of(session, ref("1")), TaskStarted(ref("1"), 5))
    bench.reports()
    late = bench.backend.greet(hello())
    assert not session.is_closed
    assert bench.lost() == []
    assert bench.orders(late) == []
    bench.backend.left(late, for_good=False)
    assert bench.backend.session_of(session.secret) is session


async def test_an_agent_that_answers_has_left_its_connection_before(bench: Bench) -> None:
    session = bench.admit(hello())
    again = bench.backend.greet(hello())
    assert bench.backend.session_of(again.secret) is again, "by a task's stream, say, or a result"
    assert session.is_closed
    third = bench.backend.greet(hello())
    bench.backend.heartbeat(third, wire.Heartbeat(number=1, node=hello().node))
    assert again.is_closed
    assert not third.is_closed


async def test_one_that_never_answers_is_given_up(bench: Bench) -> None:
    session = bench.backend.greet(hello())
    bench.later(TERMS.given_up_after_ms - 1)
    assert not session.is_closed
    assert await bench.backend.nodes() == []
    bench.later(1)
    assert session.is_closed


async def test_one_that_was_given_up_before_it_answered_comes_with_nothing(bench: Bench) -> None:
    bench.admit(hello())
    await bench.backend.start([start("1")])
    bench.now_ms += TERMS.given_up_after_ms - 1
    late = bench.backend.greet(hello(ref("1")))
    bench.later(TERMS.given_up_after_ms - 1)
    assert bench.lost() == [], "it was heard of"
    bench.later(1)
    assert bench.lost() == ["1"]
    late = bench.backend.greet(hello(ref("1")))
    bench.backend.admit(late)
    assert await bench.backend.wanted(late, ref("1"), is_kept=True) is None


@pytest.mark.covers("agent-6")
async def test_a_name_that_another_machine_got_meanwhile_is_taken(bench: Bench) -> None:
    first, second = bench.backend.greet(hello()), bench.backend.greet(hello(instance="another"))
    bench.backend.admit(second)
    with pytest.raises(NameTaken):
        bench.backend.admit(first)
    assert bench.backend.session_of(first.secret) is None


@pytest.mark.covers("agent-5")
async def test_after_a_restart_agents_are_waited_for(bench: Bench) -> None:
    there, gone, bound = ref("1"), ref("2"), ref("3")
    taken = await bench.backend.take_up([(there, A), (gone, A), (bound, A)])
    assert list(taken) == [there, gone, bound]
    assert await bench.backend.nodes() == []
    await bench.backend.start([start("3")])
    assert bench.reports() == []
    session = bench.admit(hello(there))
    assert bench.lost() == ["2"]
    assert bench.orders(session) == [("offer", ["3"])]
    assert bench.backend.task_of(session, there).start is None


@pytest.mark.covers("agent-6")
async def test_those_that_never_come_back_are_lost_in_time_and_not_before(bench: Bench) -> None:
    await bench.backend.take_up([(ref("1"), A)])
    bench.later(TERMS.given_up_after_ms - 1)
    assert bench.lost() == []
    bench.later(1)
    assert bench.lost() == ["1"]
    await bench.backend.settle([ref("1")])
    assert await bench.backend.running() == []


async def test_what_is_taken_up_later_is_only_what_is_known(bench: Bench) -> None:
    session = bench.admit(hello())
    await bench.backend.take_up([])
    await bench.backend.start([start("1"), start("2")])
    taken = await bench.backend.take_up([(ref("1"), A), (ref("9"), A), (ref("8"), NodeName("b"))])
    assert list(taken) == [ref("1")]
    assert bench.backend.task_of(session, ref("2")).is_to_stop


@pytest.mark.covers("agent-6")
async def test_an_agent_that_is_lost_leaves_the_pool_and_its_secret_counts_for_nothing(bench: Bench) -> None:
    session = bench.admit(hello())
    await bench.backend.start([start("1")])
    bench.later(TERMS.silent_after_ms)
    [node] = await bench.backend.nodes()
    assert not node.ready
    assert "not heard of for 17 s" in dict((await bench.backend.health()).of_nodes)[A]
    bench.later(TERMS.given_up_after_ms - TERMS.silent_after_ms)
    assert await bench.backend.nodes() == []
    assert bench.lost() == ["1"]
    assert bench.backend.session_of(session.secret) is None
    with pytest.raises(NotTheirs):
        bench.backend.task_of(session, ref("1"))
    again = bench.admit(hello(ref("1"), instance="another"))
    assert bench.orders(again) == []


async def test_a_heartbeat_keeps_it_there(bench: Bench) -> None:
    session = bench.admit(hello())
    for number in range(30):
        bench.later(TERMS.heartbeat_ms)
        said = hello().node
        said.load_milli = 10 * number
        bench.backend.heartbeat(session, wire.Heartbeat(number=number, node=said, clock_ms=1))
    [node] = await bench.backend.nodes()
    assert (node.ready, node.load_milli) == (True, 250)
    assert bench.changes == 2, "it came, and was ready; its load is none"


async def test_a_machine_that_changes_is_seen_whichever_word_tells_it(bench: Bench) -> None:
    def said(cpu_milli: int, load_milli: int = 0) -> wire.Hello:
        made = hello()
        made.node.capacity.cpu_milli, made.node.load_milli = cpu_milli, load_milli
        return made

    async def cpu_milli() -> int:
        [node] = await bench.backend.nodes()
        return node.spec.capacity.cpu_milli

    session = bench.admit(said(1000))
    for now_milli in (2000, 2000, 3000):
        bench.backend.heartbeat(session, wire.Heartbeat(number=1, node=said(now_milli, 500).node))
        assert await cpu_milli() == now_milli
    assert bench.changes == 3
    again = bench.admit(said(4000))
    bench.backend.heartbeat(again, wire.Heartbeat(number=1, node=said(3000).node))
    assert await cpu_milli() == 3000, "as it said on the connection before"


async def test_a_node_that_is_as_it_was_is_the_same_object(bench: Bench) -> None:
    session = bench.admit(hello())
    bench.later(1)
    before = await bench.backend.nodes()
    bench.backend.heartbeat(session, wire.Heartbeat(number=1, node=hello().node))
    [node], [same] = before, await bench.backend.nodes()
    assert node == same
    [again] = await bench.backend.nodes()
    assert again is same


@pytest.mark.parametrize("load_milli", [-1, 2**60])
async def test_a_load_that_cannot_be_is_refused_though_all_else_is_as_before(
    bench: Bench, load_milli: int
) -> None:
    session = bench.admit(hello())
    bench.backend.heartbeat(session, wire.Heartbeat(number=1, node=hello().node))
    said = hello().node
    said.load_milli = load_milli
    with pytest.raises(Refusal, match=r"node\.load_milli"):
        bench.backend.heartbeat(session, wire.Heartbeat(number=2, node=said))


async def test_one_that_drains_takes_nothing_new_and_may_leave_for_good(bench: Bench) -> None:
    session = bench.admit(hello())
    await bench.backend.start([start("1")])
    bench.backend.heartbeat(session, wire.Heartbeat(number=1, node=hello().node, draining=True))
    [node] = await bench.backend.nodes()
    assert node.cordoned
    bench.backend.left(session, for_good=True)
    assert len(await bench.backend.nodes()) == 1, "it still has a task"
    again = bench.admit(hello(ref("1")))
    task = bench.backend.task_of(again, ref("1"))
    bench.backend.hear_of(task, TaskEnded(ref("1"), 9, TaskEnd(EndReason.EXITED, 0)))
    await bench.backend.settle([ref("1")])
    bench.backend.left(again, for_good=True)
    assert await bench.backend.nodes() == []


async def test_what_is_settled_is_said_until_it_is_forgotten(bench: Bench) -> None:
    session = bench.admit(hello())
    await bench.backend.start([start("1"), start("2")])
    for job in ("1", "2"):
        task = bench.backend.task_of(session, ref(job))
        bench.backend.hear_of(task, TaskEnded(ref(job), 9, TaskEnd(EndReason.EXITED, 0)))
    await bench.backend.settle([ref("1"), ref("2"), ref("7")])
    assert bench.orders(session) == [("offer", ["1", "2"]), ("settle", ["1", "2"])]
    bench.backend.forgotten(session, [ref("1")])
    again = bench.admit(hello(ref("2")))
    assert bench.orders(again) == [("settle", ["2"])]
    assert bench.orders(bench.admit(hello())) == []


async def test_what_was_told_is_told_once_and_the_first_end_counts(bench: Bench) -> None:
    session = bench.admit(hello())
    await bench.backend.start([start("1")])
    task = bench.backend.task_of(session, ref("1"))
    ended = TaskEnded(ref("1"), 2**50 + 4, TaskEnd(EndReason.EXITED, 0))
    later = TaskEnded(ref("1"), 2**50 + 5, TaskEnd(EndReason.EXITED, 1))
    started = TaskStarted(ref("1"), 2**50)
    for report in (started, started, ended, later, started):
        bench.backend.hear_of(task, report)
    assert bench.reports() == [started, ended]


async def test_nothing_is_before_its_time(bench: Bench) -> None:
    session = bench.admit(hello())
    await bench.backend.start([start("1")])
    task = bench.backend.task_of(session, ref("1"))
    bench.backend.hear_of(task, TaskStarted(ref("1"), -7))
    bench.backend.hear_of(task, TaskEnded(ref("1"), 3, TaskEnd(EndReason.EXITED, 0)))
    assert {report.at_ms for report in bench.reports()} == {task.since_ms}
    assert task.since_ms > 0


async def test_a_start_for_an_agent_that_is_not_there_is_lost(bench: Bench) -> None:
    await bench.backend.start([start("1", "nobody")])
    assert bench.lost() == ["1"]


async def test_names_that_are_taken(bench: Bench) -> None:
    bench.admit(hello())
    with pytest.raises(NameTaken, match="another machine"):
        bench.admit(hello(instance="other"))
    with pytest.raises(NameTaken, match="own worker"):
        bench.admit(hello(name="own"))


async def test_a_new_connection_of_the_same_agent_ends_the_old_one(bench: Bench) -> None:
    old = bench.admit(hello())
    new = bench.admit(hello())
    assert (old.is_closed, new.is_closed) == (True, False)
    bench.backend.left(old, for_good=True)
    assert bench.backend.session_of(new.secret) is new
    assert len(await bench.backend.nodes()) == 1
