"""People who submit, cancel, hold and extend jobs, operators who pause queues and drain nodes, and somebody
who follows all events: through the desk of whichever server there is. Who gets no answer asks again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from rota.api.people import Role
from rota.control.access import Who
from rota.control.errors import ControlError, Unavailable
from rota.intake.submissions import Entry, Submission
from rota.lifecycle.state import JobState
from rota.loop.desk.desks import LiveDesks
from rota.model.calendar import QueueMode, QueueState
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.run import Dependency, JobSpec
from rota.store.errors import StoreError
from rota.store.reading.event_list import ALL_EVENTS
from rota.store.writing.batch import NodeSettings
from tests.faults import scenario as work
from tests.faults.event_loop import context_of
from tests.faults.scenario import Work
from tests.faults.troubles import NODES

if TYPE_CHECKING:
    from tests.faults.world import Server, World

T = TypeVar("T")

ADA = Who("ada", Role.ADMIN)
ASKS_AGAIN_S = 0.5


class Users:
    def __init__(self, world: World) -> None:
        self._world = world
        self._jobs: dict[int, JobId] = {}
        """Of an array, its number."""
        self._unsent: dict[int, JobSpec] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._told_seq = 0
        self._are_late = False

    @property
    def are_done(self) -> bool:
        return all(task.done() for task in self._tasks)

    def unsent(self) -> list[JobSpec]:
        return list(self._unsent.values())

    def begin(self) -> None:
        for item, one in self._world.scenario.work:
            if isinstance(one, work.Submit):
                self._unsent[item] = one.spec
            self._spawn(self._do(item, one))

    def put_right(self) -> None:
        """What keeps jobs waiting is taken back."""
        self._are_late = True
        self._spawn(self._put_right())

    def _spawn(self, doing: Awaitable[None]) -> None:
        self._tasks.append(self._world.loop.create_task(doing))  # type: ignore[arg-type]

    async def _do(self, item: int, one: Work) -> None:
        await asyncio.sleep(one.at_s)
        match one:
            case work.Submit():
                await self._submit(item, one)
            case work.Cancel():
                await self._to_job(one.item, lambda desk, job: desk.jobs.cancel(job, ADA, "not needed"))
            case work.Hold():
                await self._to_job(one.item, lambda desk, job: desk.jobs.hold(job, ADA))
                await asyncio.sleep(one.for_s)
                await self._to_job(one.item, lambda desk, job: desk.jobs.release(job, ADA))
            case work.Extend():
                limit_ms = one.time_limit_ms
                await self._to_job(one.item, lambda desk, job: desk.questions.extend(job, limit_ms, ADA))
            case work.PauseQueue():
                if not self._are_late:
                    await self._set_queue(one.queue, QueueMode.PAUSED)
                    await asyncio.sleep(one.for_s)
                    await self._set_queue(one.queue, QueueMode.OPEN)
            case work.Drain():
                if not self._are_late:
                    await self._drain(one.node, True)
                    await asyncio.sleep(one.for_s)
                    await self._drain(one.node, False)

    async def _submit(self, item: int, one: work.Submit) -> None:
        spec = one.spec
        if one.waits_for in self._jobs:
            spec = replace(spec, depends_on=(Dependency(self._jobs[one.waits_for], one.after),))
        array = tuple(range(one.elements)) if one.elements else None
        submission = Submission((Entry(spec, array),))
        states = await self._insist(lambda desk: desk.jobs.submit(submission, ADA), f"submit {item}")
        self._unsent.pop(item, None)
        if states:
            self._jobs[item] = JobId(states[0].id.partition(".")[0])
            self._world.witness.acknowledged(states)

    async def _to_job(self, item: int, do: Callable[[LiveDesks, JobId], Awaitable[object]]) -> None:
        job = self._jobs.get(item)
        if job is not None:
            await self._insist(lambda desk: do(desk, job), f"change job {job}")

    async def _set_queue(self, name: QueueName, mode: QueueMode) -> None:
        state = QueueState(name, mode, self._world.clock_ms())
        await self._insist(lambda desk: desk.queues.set_queue(state, ADA), f"{name} is {mode.value}")

    async def _drain(self, node: NodeName, drains: bool) -> None:
        settings = NodeSettings(node, draining=drains)
        await self._insist(lambda desk: desk.nodes.set_node(settings, ADA), f"{node} drains: {drains}")

    async def _put_right(self) -> None:
        for queue in work.QUEUES:
            await self._set_queue(queue, QueueMode.OPEN)
        for node in NODES:
            await self._drain(node, False)
        held: list[JobState] = [state for state in self._world.states() if state.held and not state.is_over]
        for state in held:
            job = state.id
            await self._insist(lambda desk, job=job: desk.jobs.release(job, ADA), f"release {job}")  # type: ignore[misc]
        while self._unsent:
            await asyncio.sleep(ASKS_AGAIN_S)
        for state in self._world.states():
            # One that is ending has been told: it isn't to depend on being told again.
            if (
                not state.is_over
                and state.ending is None
                and state.spec.run.command[1] == str(work.ENDLESS_MS)
            ):
                await self._insist(partial(_cancel, state.id), f"cancel {state.id}")

    async def _insist(self, ask: Callable[[LiveDesks], Awaitable[T]], what: str) -> T | None:
        """Until there is an answer; None: it is no."""
        while True:
            try:
                return await self._ask(ask)
            except (ConnectionResetError, Unavailable, StoreError) as error:
                self._world.witness.note(f"users: {what}: {error}")
                await asyncio.sleep(ASKS_AGAIN_S)
            except ControlError as error:
                self._world.witness.note(f"users: {what}: refused: {error}")
                return None

    async def _ask(self, ask: Callable[[LiveDesks], Awaitable[T]]) -> T:
        """The request is handled by the server, and ends with it."""
        server = self._world.server
        if server is None or not server.runtime.desks.status.is_ready:
            raise ConnectionResetError("there is no server")
        loop = self._world.loop
        answer: asyncio.Future[T] = loop.create_future()
        server.waiting.append(answer)
        handling = loop.create_task(_handle(ask, server.runtime.desks), context=context_of(server.life))

        def told(done: asyncio.Task[T]) -> None:
            if answer.done():
                return
            if done.cancelled():
                answer.set_exception(ConnectionResetError("the server is gone"))
            elif (error := done.exception()) is not None:
                answer.set_exception(error)
            else:
                answer.set_result(done.result())

        handling.add_done_callback(told)
        return await answer

    async def follow(self, server: Server) -> None:
        """As a client of the event stream does: after a break, it goes on where it was."""
        async for events in server.runtime.desks.events.follow(self._told_seq, ALL_EVENTS):
            if events:
                self._told_seq = events[-1].seq
            self._world.witness.told(events)


async def _cancel(job: JobId, desk: LiveDesks) -> None:
    await desk.jobs.cancel(job, ADA, "enough")


async def _handle(ask: Callable[[LiveDesks], Awaitable[T]], desk: LiveDesks) -> T:
    return await ask(desk)
