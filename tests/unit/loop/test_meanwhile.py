"""Things happen while a decision is under way: it takes seconds, and nobody waits for it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rota.control.draft import Draft
from rota.engine.decide import decide
from rota.lifecycle.state import JobState, LiveTask, Phase, TaskPhase
from rota.loop.live import loop as module
from rota.loop.live import small_decisions as small
from rota.loop.live.preconditions import Grounds
from rota.loop.live.room_check import Outdated
from rota.loop.live.runtime import Runtime
from rota.model.calendar import Maintenance, QueueMode, QueueState
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import Priority
from rota.model.plan import Binding, Plan
from rota.store.writing.batch import NodeSettings
from tests.kit.live import ADA, OPERATOR, running, spec, submit, until
from tests.kit.waiting import eventually
from tests.obedient import ObedientBackend, node

pytestmark = [pytest.mark.covers("trust-1"), pytest.mark.slow]


class Deciding:
    """Decisions that take as long as the test says."""

    def __init__(self) -> None:
        self.count = 0
        self._may_end = threading.Event()
        self._may_end.set()

    def __call__(self, *args: Any) -> Plan:
        plan = decide(*args)
        self.count += 1
        assert self._may_end.wait(30)
        return plan

    async def begins(self, runtime: Runtime) -> None:
        """The next takes until `ends`."""
        self._may_end.clear()
        before = self.count
        runtime.live.look_again()
        await eventually(lambda: self.count > before)

    def ends(self) -> None:
        self._may_end.set()


@pytest.fixture
def deciding(monkeypatch: pytest.MonkeyPatch) -> Iterator[Deciding]:
    slow = Deciding()
    monkeypatch.setattr(module, "decide", slow)
    monkeypatch.setattr(small, "MOST_NODES", 0)
    yield slow
    slow.ends()


async def until_decided(runtime: Runtime, deciding: Deciding) -> None:
    """The decision under way, and another one."""
    before = runtime.live.cycles
    deciding.ends()
    await eventually(lambda: runtime.live.cycles > before)
    runtime.live.look_again()
    await eventually(lambda: runtime.live.cycles > before + 1 and not runtime.live.turn.locked())


async def waiting_job(runtime: Runtime, deciding: Deciding, **more: Any) -> JobState:
    """One that the decision under way has found room for."""
    await deciding.begins(runtime)
    [job] = await submit(runtime.desks, spec(**more))
    deciding.ends()
    await deciding.begins(runtime)
    return job


def has_started(runtime: Runtime, job: JobState) -> bool:
    state = runtime.memory.jobs.get(job.id)
    return state is not None and bool(state.live)


Meanwhile = Callable[[Runtime, ObedientBackend, JobState], Awaitable[object]]


async def cancelled(runtime: Runtime, backend: ObedientBackend, job: JobState) -> None:
    await runtime.desks.jobs.cancel(job.id, ADA, "")


async def held(runtime: Runtime, backend: ObedientBackend, job: JobState) -> None:
    await runtime.desks.jobs.hold(job.id, ADA)


async def cordoned(runtime: Runtime, backend: ObedientBackend, job: JobState) -> None:
    await runtime.desks.nodes.set_node(NodeSettings(NodeName("n1"), cordoned=True), OPERATOR)


async def drained(runtime: Runtime, backend: ObedientBackend, job: JobState) -> None:
    await runtime.desks.nodes.set_node(NodeSettings(NodeName("n1"), draining=True), OPERATOR)


async def gone(runtime: Runtime, backend: ObedientBackend, job: JobState) -> None:
    backend.here = [node("n2", cpus=1)]
    runtime.nodes_changed.set()
    await eventually(lambda: runtime.memory.node(NodeName("n1")) is None)


async def smaller(runtime: Runtime, backend: ObedientBackend, job: JobState) -> None:
    backend.here = [node("n1", cpus=1)]
    runtime.nodes_changed.set()
    await eventually(lambda: one_cpu_is_left(runtime))


def one_cpu_is_left(runtime: Runtime) -> bool:
    now = runtime.memory.node(NodeName("n1"))
    return now is not None and now.spec.capacity.cpu_milli == 1000


async def announced(runtime: Runtime, backend: ObedientBackend, job: JobState) -> None:
    now_ms = runtime.transactor.now_ms()
    window = Maintenance("m", now_ms, now_ms + 3_600_000, (NodeName("n1"),))
    await runtime.desks.calendar.set_maintenance(window, OPERATOR)


async def paused(runtime: Runtime, backend: ObedientBackend, job: JobState) -> None:
    queue = QueueState(QueueName(job.spec.template.queue), QueueMode.PAUSED, runtime.transactor.now_ms())
    await runtime.desks.queues.set_queue(queue, OPERATOR)


async def taken(runtime: Runtime, backend: ObedientBackend, job: JobState) -> None:
    """By a task that runs already, and that nobody decided on."""

    def command(draft: Draft) -> None:
        now_ms = draft.now_ms
        task = LiveTask(0, 1, NodeName("n1"), TaskPhase.RUNNING, bound_ms=now_ms, started_ms=now_ms)
        adopted = replace(
            job, id=JobId("999"), number=999, phase=Phase.RUNNING, live=(task,), fence=1, started_ms=now_ms
        )
        draft.adopt(adopted, "ada")

    await runtime.transactor.do(command)


@pytest.mark.parametrize(
    "happens", [cancelled, held, cordoned, drained, gone, smaller, announced, paused, taken]
)
async def test_nothing_starts_that_may_no_longer(
    happens: Meanwhile, deciding: Deciding, tmp_path: Path
) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with running(tmp_path, backend) as runtime:
        job = await waiting_job(runtime, deciding, cpus=2)
        await happens(runtime, backend, job)
        await until_decided(runtime, deciding)
        assert not has_started(runtime, job)
        assert not backend.seen


async def test_without_a_change_it_starts(deciding: Deciding, tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with running(tmp_path, backend) as runtime:
        job = await waiting_job(runtime, deciding, cpus=2)
        deciding.ends()
        await until(runtime.desks, job, Phase.RUNNING)


async def test_what_matters_to_nobody_holds_nobody_up(deciding: Deciding, tmp_path: Path) -> None:
    """Other jobs come and end, a node's load changes, a token goes."""

    backend = ObedientBackend(node("n1", cpus=4))
    async with running(tmp_path, backend) as runtime:
        [other] = await submit(runtime.desks, spec(cpus=1))
        await until(runtime.desks, other, Phase.RUNNING)
        job = await waiting_job(runtime, deciding, cpus=2)
        backend.end_job(other.id)
        await until(runtime.desks, other, Phase.SUCCEEDED)
        await submit(runtime.desks, spec(cpus=3))
        backend.here = [replace(backend.here[0], load_milli=700)]
        runtime.nodes_changed.set()
        await eventually(lambda: next(runtime.memory.nodes()).load_milli == 700)
        cycles = runtime.live.cycles
        deciding.ends()
        await until(runtime.desks, job, Phase.RUNNING)
        assert runtime.live.cycles == cycles + 1, "by the decision that was under way"


async def test_nobody_is_evicted_for_one_that_no_longer_waits(deciding: Deciding, tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with running(tmp_path, backend) as runtime:
        [victim] = await submit(runtime.desks, spec(cpus=2, priority=int(Priority.LOW), preemptible=True))
        await until(runtime.desks, victim, Phase.RUNNING)
        urgent = await waiting_job(runtime, deciding, cpus=2, priority=int(Priority.MEDIUM))
        await cancelled(runtime, backend, urgent)
        await until_decided(runtime, deciding)
        assert runtime.memory.jobs[victim.id].phase is Phase.RUNNING
        assert not backend.stopped


async def test_one_whose_victim_has_ended_by_itself_starts(deciding: Deciding, tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with running(tmp_path, backend) as runtime:
        [victim] = await submit(runtime.desks, spec(cpus=2, priority=int(Priority.LOW), preemptible=True))
        await until(runtime.desks, victim, Phase.RUNNING)
        urgent = await waiting_job(runtime, deciding, cpus=2, priority=int(Priority.MEDIUM))
        backend.end_job(victim.id)
        await until(runtime.desks, victim, Phase.SUCCEEDED)
        deciding.ends()
        await until(runtime.desks, urgent, Phase.RUNNING)


async def test_everybody_else_is_answered(deciding: Deciding, tmp_path: Path) -> None:
    backend = ObedientBackend(node("n1", cpus=2))
    async with running(tmp_path, backend) as runtime:
        job = await waiting_job(runtime, deciding, cpus=2)
        async with asyncio.timeout(20):
            [other] = await submit(runtime.desks, spec(cpus=2))
            assert (await runtime.desks.questions.why(job.id, None, ADA)).explanation.job == job.id
            assert (await runtime.desks.status.stats()).pending == 2
            await runtime.desks.jobs.cancel(other.id, ADA, "")
        assert runtime.live.turn.locked(), "the decision goes on"


async def test_one_that_takes_for_ever_keeps_nobody_from_stopping(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun, interrupted = threading.Event(), threading.Event()

    def endless(*args: Any) -> Plan:
        begun.set()
        try:
            while True:
                time.sleep(0.001)
        finally:
            interrupted.set()

    async with running(tmp_path, ObedientBackend()) as runtime:
        monkeypatch.setattr(module, "decide", endless)
        monkeypatch.setattr(small, "MOST_NODES", 0)
        runtime.live.look_again()
        await eventually(begun.is_set)
        async with asyncio.timeout(20):
            await runtime.stop()
    assert interrupted.wait(20)


class TestRoom:
    """Of several that were decided on together, as many start as there is room for."""

    async def test_what_was_tried_before_counts(self, tmp_path: Path) -> None:
        backend = ObedientBackend(node("n1", cpus=2))
        async with running(tmp_path, backend) as runtime:
            await runtime.desks.queues.set_queue(
                QueueState(QueueName("default"), QueueMode.PAUSED, 0), OPERATOR
            )
            jobs = await submit(runtime.desks, *[spec(cpus=1)] * 3)
            grounds = Grounds(runtime.memory, runtime.live.snapshot())
            commands = [
                (one.id, grounds.binding(one.id, [Binding(one.id, 0, NodeName("n1"), ())])) for one in jobs
            ]
            failures = await runtime.transactor.do_each(commands)
            assert [type(one) for one in failures] == [type(None), type(None), Outdated]
            # What is kept by now counts as well.
            [again] = await runtime.transactor.do_each(commands[2:])
            assert isinstance(again, Outdated)
