"""One run of a scenario: the production server, started by a supervisor, among simulated nodes and users."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, MutableMapping
from concurrent.futures import Executor
from contextlib import contextmanager
from random import Random
from typing import Any, cast

import structlog
from msgspec import Struct

from rota.backends.backend import TaskStart
from rota.faults import backend, scenario, wire
from rota.faults.agent import Agent
from rota.faults.backend import SimulatedBackend
from rota.faults.disk import Disk
from rota.faults.event_loop import OUTSIDE, Endless, Life, VirtualLoop, context_of
from rota.faults.misfortune import Misfortune
from rota.faults.network import Network
from rota.faults.scenario import Scenario
from rota.faults.store import SimulatedStore, Weather
from rota.faults.users import Users
from rota.faults.wire import ToAgent, ToServer
from rota.faults.witness import Violation, Witness
from rota.lifecycle.state import EndReason, JobState, TaskEnd
from rota.loop.metrics import Metrics
from rota.loop.runtime import Runtime
from rota.model.ids import NodeName
from rota.store.errors import StoreError
from rota.store.store import Store

BEGINNING_MS = 1_800_000_000_000
RESTARTS_AFTER_S = 1.0
"""A server that failed to start."""
LEASE_PERIODS = 2
LOOKS_EACH_S = 0.1
FAILURES = frozenset(
    (
        "a command failed",
        "a cycle failed",
        "a job can't even be set aside",
        "a part of the server ended",
        "a report can't be handled",
        "looking ahead failed",
        "the store won't have a change",
    )
)
"""What a server logs when something is wrong with itself, and not with what is around it."""


class Result(Struct):
    scenario: Scenario
    violation: Violation | None
    trace: list[str]
    digest: str
    steps: int
    lasted_s: float


class Server(Struct):
    """A process."""

    life: Life
    store: SimulatedStore
    backend: SimulatedBackend
    runtime: Runtime
    waiting: list[asyncio.Future[Any]]
    """Users whose requests it has."""
    is_stopping: bool = False


class _InTheLoop(Executor):
    """Stands for a pool of processes: the loop does all such work itself."""


class World:
    def __init__(self, chosen: Scenario) -> None:
        seed = chosen.seed
        self.scenario = chosen
        self.slowest_s = 0.002
        """Of what the server does in threads."""
        self._threads = Random(f"{seed} threads")
        self.loop = VirtualLoop(Random(f"{seed} order"), lambda: self.slowest_s * self._threads.random())
        self.witness = Witness(self.loop.time)
        self.network = Network(self.loop, Random(f"{seed} network"))
        self.disk = Disk()
        self.weather = Weather()
        self.backend_doubts = 0.0
        self.clock_off_ms: dict[NodeName | None, int] = {}
        self.server: Server | None = None
        self.agents = {
            node.name: Agent(
                node,
                self.loop,
                Random(f"{seed} {node.name}"),
                self._to_server,
                lambda name=node.name: self.clock_ms(name),  # type: ignore[misc]
                self._fate,
                self.witness,
            )
            for node in scenario.nodes(backend.NAME)
        }
        self._chance = {name: Random(f"{seed} {name}") for name in ("server", "store", "backend", "disk")}
        self._servers = 0
        self._metrics = Metrics()
        self.users = Users(self)
        self._misfortune = Misfortune(self)
        self.loop.after_thread = self.disk.sync

    def clock_ms(self, where: NodeName | None = None) -> int:
        return BEGINNING_MS + int(self.loop.time() * 1000) + self.clock_off_ms.get(where, 0)

    def run(self) -> Result:
        with _logging(self._logged):
            try:
                self.loop.run_until_complete(self._live())
            except Endless as error:
                self.witness.broken("I5", str(error))
            lasted_s = self.loop.time()
            result = Result(
                self.scenario,
                self.witness.violation,
                list(self.witness.trace),
                self.witness.digest(),
                self.loop.steps,
                lasted_s,
            )
            self._bury()
        return result

    async def _live(self) -> None:
        for agent in self.agents.values():
            agent.come_up()
        self.start_server()
        self._misfortune.begin()
        self.users.begin()
        while self.loop.time() < scenario.FAULTS_S and self.witness.violation is None:
            await asyncio.sleep(LOOKS_EACH_S)
        self._misfortune.end()
        self.users.put_right()
        patience_s = LEASE_PERIODS * wire.LOST_AFTER_S + self._work_left_s()
        self.witness.note(f"the faults are over; the rest may take {patience_s:.1f} s")
        ends_s = self.loop.time() + patience_s
        while not self._is_drained() and self.witness.violation is None:
            if self.loop.time() > ends_s:
                self.witness.broken("I5", f"after {patience_s:.1f} s: {self._left()}")
            await asyncio.sleep(LOOKS_EACH_S)
        if self.witness.violation is None:
            self.witness.finished()

    # -- the end

    def _is_drained(self) -> bool:
        return (
            self.users.are_done
            and all(state.is_over for state in self.witness.tables.jobs.values())
            and all(not agent.unsettled for agent in self.agents.values())
        )

    def _left(self) -> str:
        jobs = [
            f"job {state.id} is {state.phase.value}"
            for state in self.witness.tables.jobs.values()
            if not state.is_over
        ]
        unsettled = [
            f"{name} has {len(agent.unsettled)} unsettled"
            for name, agent in self.agents.items()
            if agent.unsettled
        ]
        waiting = [] if self.users.are_done else ["users wait for an answer"]
        return "; ".join([*jobs, *unsettled, *waiting])

    def _work_left_s(self) -> float:
        """If it were all done one after the other, and had to be tried as often as it may."""
        jobs = [state for state in self.witness.tables.jobs.values() if not state.is_over]
        specs = [state.spec for state in jobs] + self.users.unsent()
        total_s = 0.0
        for spec in specs:
            tries = 1 + spec.retry.limit
            run_s = int(spec.run.command[1]) % scenario.ENDLESS_MS / 1000 + 0.5
            total_s += tries * (run_s * spec.template.task_count + spec.retry.backoff_ms * 6 / 1000)
        return total_s

    def _bury(self) -> None:
        if self.server is not None:
            self.server.backend.vanish()
        for agent in self.agents.values():
            agent.go_down()
        self.loop.lay_to_rest()

    # -- the server, and who starts it

    def start_server(self) -> None:
        """Does nothing if there is one."""
        if self.server is not None:
            return
        self._servers += 1
        life = Life(f"server {self._servers}")
        self.witness.note(f"{life.name} starts")
        store = SimulatedStore(self.disk, self.weather, self._chance["store"], self.witness.committed)
        self.witness.recovered(store.tables)
        context_of(life).run(self._open, life, store)

    def _open(self, life: Life, store: SimulatedStore) -> None:
        agents = SimulatedBackend(
            self.loop,
            self._chance["backend"],
            self._to_agent,
            list(self.agents),
            first_session=1_000_000 * self._servers,
        )
        agents.doubts = self.backend_doubts
        try:
            runtime = Runtime(
                cast(Store, store),
                scenario.policy(),
                [agents],
                self.clock_ms,
                self._chance["server"].random,
                _no_files,
                self._metrics,
                make_pool=_InTheLoop,
            )
        except StoreError as error:
            self.witness.note(f"{life.name} can't start: {error}")
            self.loop.call_later(RESTARTS_AFTER_S, self.start_server, context=OUTSIDE)
            return
        self.server = Server(life, store, agents, runtime, [])
        self.loop.create_task(self._serve(self.server), context=context_of(life))

    async def _serve(self, server: Server) -> None:
        try:
            await server.runtime.start()
        except Exception as error:
            self.witness.note(f"{server.life.name} can't start: {error!r}")
            self.loop.call_soon(self._ended_by_itself, server, context=OUTSIDE)
            return
        self.witness.note(f"{server.life.name} is ready")
        self.loop.create_task(self.users.follow(server))
        await server.runtime.failed.wait()
        self.loop.call_soon(self._ended_by_itself, server, context=OUTSIDE)

    def _ended_by_itself(self, server: Server) -> None:
        if server is self.server and not server.is_stopping:
            self.kill_server()
            self.loop.call_later(RESTARTS_AFTER_S, self.start_server, context=OUTSIDE)

    def kill_server(self, power_is_lost: bool = False) -> None:
        server, self.server = self.server, None
        if server is not None:
            self.witness.note(f"{server.life.name} is killed")
            server.life.is_over = True
            server.backend.vanish()
            for answer in server.waiting:
                if not answer.done():
                    answer.set_exception(ConnectionResetError("the server is gone"))
        if power_is_lost:
            self.witness.note(f"power: {self.disk.lose_power(self._chance['disk'])}")

    def stop_server(self) -> None:
        """In good order. Whoever waits for an answer gets it, or learns that there is none."""
        server = self.server
        if server is not None:
            server.is_stopping = True
            self.witness.note(f"{server.life.name} is told to stop")
            task = self.loop.create_task(server.runtime.stop(), context=context_of(server.life))
            task.add_done_callback(lambda _: self._stopped(server), context=OUTSIDE)

    def _stopped(self, server: Server) -> None:
        if server is self.server:
            self.kill_server()

    def _logged(self, event: MutableMapping[str, Any]) -> None:
        if event["event"] in FAILURES:
            why = event.get("why") or repr(event.get("exc_info"))
            self.witness.broken("I0", f"{event['event']}: {why}")

    # -- nodes

    def _to_server(self, name: NodeName, message: ToServer) -> None:
        self.network.send(name, lambda one: self._server_hears(name, one), message)

    def _server_hears(self, name: NodeName, message: ToServer) -> None:
        if self.server is not None:
            self.server.backend.heard(name, message)

    def _to_agent(self, name: NodeName, message: ToAgent) -> None:
        self.network.send(name, self.agents[name].heard, message)

    def _fate(self, start: TaskStart) -> tuple[float, TaskEnd]:
        """The same for the same task, whatever else happens."""
        chance = Random(f"{self.scenario.seed} {start.ref.job} {start.ref.rank} {start.ref.fence}")
        _, longest_ms, fails_per_mille = start.run.command
        failed = chance.randrange(1000) < int(fails_per_mille)
        run_s = int(longest_ms) / 1000 * (0.2 + 0.8 * chance.random())
        return run_s, TaskEnd(EndReason.EXITED, exit_code=int(failed))

    def states(self) -> list[JobState]:
        return list(self.witness.tables.jobs.values())


async def _no_files(sha256: str, chunks: AsyncIterator[bytes]) -> bool:
    raise FileNotFoundError("simulated jobs have no files")


@contextmanager
def _logging(hear: Any) -> Iterator[None]:
    """Logs of the server go to whoever watches it, and nowhere else."""

    def heard(logger: object, name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        hear(event)
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[heard], cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
