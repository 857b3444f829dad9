"""One run of a scenario: the production server, started by a supervisor, among simulated nodes and users."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct

from rota.agent.output import OutputReader
from rota.backends.agents.arrivals import FolderArrivals
from rota.backends.process.folders import Folders
from rota.backends.process.segments import Origin
from rota.lifecycle.state import EndReason, JobState
from rota.loop.live.runtime import Runtime
from rota.loop.telemetry.metrics import Metrics
from rota.server.agents import keep_notices
from rota.store.errors import StoreError
from tests.faults import scenario
from tests.faults.cluster import TERMS, Cluster
from tests.faults.disk import Disk, Weather
from tests.faults.doubts import DoubtfulAgents
from tests.faults.event_loop import LIFE, OUTSIDE, Life, context_of
from tests.faults.kept import found_in
from tests.faults.machine import ProcessClock, written_by
from tests.faults.misfortune import ServerMisfortune
from tests.faults.scenario import ServerScenario
from tests.faults.services import serve_agents
from tests.faults.store import SeenStore
from tests.faults.users import Users
from tests.faults.witness import Witness

AGENTS = "agents"
RESTARTS_AFTER_S = 1.0
"""A server that failed to start."""
SERVER = "server"


class Server(Struct):
    """A process."""

    life: Life
    store: SeenStore
    agents: DoubtfulAgents
    runtime: Runtime
    waiting: list[asyncio.Future[Any]]
    """Users whose requests it has."""
    is_stopping: bool = False


class _InTheLoop(Executor):
    """Stands for a pool of processes: the loop does all such work itself."""


class World(Cluster[Witness]):
    def __init__(self, chosen: ServerScenario) -> None:
        super().__init__(chosen, SERVER, scenario.nodes(AGENTS), Witness)
        self.weather = Weather()
        self.disk = Disk(Path(self._folder.name, "disk"), self.weather, Random(f"{chosen.seed} disk"))
        self.backend_doubts = 0.0
        self.server: Server | None = None
        self._chance = {name: Random(f"{chosen.seed} {name}") for name in ("server", "backend")}
        self._servers = 0
        self._metrics = Metrics()
        self.users = Users(self)
        self._misfortune = ServerMisfortune(self)
        self.loop.after_thread = self._thread_ended

    # -- from the beginning to the end

    def _begin(self) -> None:
        self.start_server()
        self._misfortune.begin()
        self.users.begin()

    def _calm(self) -> None:
        self._misfortune.end()
        self.users.put_right()

    def _judge(self) -> None:
        self.witness.finished()
        self._check_output()

    def _check_output(self) -> None:
        """Of those that ended by themselves all is there, and once."""
        folders = Folders(Path(self._folder.name, SERVER))
        for ref, attempt in self.witness.kept.attempts.items():
            if attempt.end is not None and attempt.end.reason is EndReason.EXITED:
                begins, ends = written_by(ref)
                reader = OutputReader(folders.logs_of(ref.job), Origin(ref.rank, ref.fence), 0)
                found = b""
                while (output := reader.read()) is not None:
                    found += b"".join(piece.data for piece in output.pieces)
                self.witness.demand(
                    found == begins + ends, "I1", f"{ref} wrote {begins + ends!r}, kept is {found!r}"
                )

    def _left(self) -> list[str]:
        jobs = [
            f"job {state.id} is {state.phase.value}"
            for state in self.witness.kept.jobs.values()
            if not state.is_over
        ]
        waiting = [] if self.users.are_done else ["users wait for an answer"]
        return [*jobs, *self._unsettled(), *waiting]

    def _work_left_s(self) -> float:
        jobs = [state for state in self.witness.kept.jobs.values() if not state.is_over]
        specs = [state.spec for state in jobs] + self.users.unsent()
        total_s = 0.0
        for spec in specs:
            tries = 1 + spec.retry.limit
            run_s = int(spec.run.command[1]) % scenario.ENDLESS_MS / 1000 + 0.5
            total_s += tries * (run_s * spec.template.task_count + (spec.retry.backoff_ms or 0) * 6 / 1000)
        return total_s

    def _bury(self) -> None:
        if self.server is not None:
            self.disk.outlive_process(self.server.store.database.close)
        super()._bury()

    # -- the server, and who starts it

    def start_server(self) -> None:
        """Does nothing if there is one."""
        if self.server is not None:
            return
        self._servers += 1
        life = Life(f"server {self._servers}", ProcessClock(self._clock))
        self.witness.note(f"{life.name} starts")
        store = SeenStore(self.disk, self.witness.committed)
        self.witness.recovered(found_in(store.database))
        context_of(life).run(self._open, life, store)

    def _open(self, life: Life, store: SeenStore) -> None:
        agents = DoubtfulAgents(
            FolderArrivals(Path(self._folder.name, SERVER)),
            lambda: self._chance["backend"].random() < self.backend_doubts,
            name=AGENTS,
            terms=TERMS,
        )
        try:
            runtime = Runtime(
                store,
                scenario.policy(),
                [agents],
                self.clock_ms,
                self._chance["server"].random,
                _no_files,
                self._metrics,
                make_pool=_InTheLoop,
                decided_here=lambda snapshot: False,
                epoch=store.begin_epoch(self.clock_ms() // 1000),
            )
        except StoreError as error:
            self.witness.note(f"{life.name} can't start: {error}")
            self.disk.outlive_process(store.database.close)
            self.loop.call_later(RESTARTS_AFTER_S, self.start_server, context=OUTSIDE)
            return
        agents.on_change = runtime.nodes_changed.set
        self.server = Server(life, store, agents, runtime, [])
        self.loop.create_task(self._serve(self.server), context=context_of(life))

    async def _serve(self, server: Server) -> None:
        try:
            await server.runtime.start()
        except Exception as error:
            self.witness.note(f"{server.life.name} can't start: {error!r}")
            self.loop.call_soon(self._ended_by_itself, server, context=OUTSIDE)
            return
        serve_agents(self._host, server.agents)
        self.loop.create_task(keep_notices(server.agents.notices, server.runtime.transactor))
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
            if power_is_lost:
                self._host.lose_power()
            else:
                self._host.end_process(server.life)
            for answer in server.waiting:
                if not answer.done():
                    answer.set_exception(ConnectionResetError("the server is gone"))
            self.disk.outlive_process(server.store.database.close)
        if power_is_lost:
            self.witness.power_lost(self.disk.lose_power())

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
            server.store.close()
            self._heard()
            self.kill_server()

    def _thread_ended(self) -> None:
        if self.server is not None and LIFE.get() is self.server.life:
            self._heard()

    def _heard(self) -> None:
        """Of what was written until now, by whoever wrote it."""
        self.disk.heard()
        self.witness.heard()

    def states(self) -> list[JobState]:
        return list(self.witness.kept.jobs.values())


async def _no_files(sha256: str, chunks: AsyncIterator[bytes], user: str) -> bool:
    raise FileNotFoundError("simulated jobs have no files")
