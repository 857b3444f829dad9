"""A server side for agents without the rest of a server, and real agent processes to connect to it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from rota.backends.agents.arrivals import FolderArrivals
from rota.backends.agents.backend import AgentsBackend
from rota.backends.agents.door import Door
from rota.backends.agents.notices import Notice
from rota.backends.agents.service import AgentsService, Standing
from rota.backends.agents.terms import Terms
from rota.backends.backend import TaskStart
from rota.backends.process.client.files import FileStore
from rota.backends.process.folders import Folders
from rota.model.ids import NodeName
from rota.model.run import Run
from rota.server.agents import AgentCalls
from rota.server.http.app import make_app
from rota.server.http.serve import RestServer
from rota.trust.local_socket import LocalSocket
from tests.as_ourselves import AS_OURSELVES
from tests.backends.witness import PATIENCE_S, Witness, collecting, ref
from tests.real.process.host import end
from tests.unit.server.fake_desk import FakeDesk, as_desks

TERMS = Terms(lost_after_ms=12_000)


class Stand(AgentsBackend):
    """Agents can dial from `let_in` on."""

    def __init__(self, folder: Path, terms: Terms = TERMS) -> None:
        super().__init__(FolderArrivals(folder), terms=terms)
        self._socket = folder.with_suffix(".door") / "a.sock"
        self.leads = True
        self.refusal = ""
        """Why agents that have connected count no more."""
        uploads = Folders(folder / "uploads")
        uploads.make()
        self.uploads = FileStore(uploads)
        app = make_app(as_desks(FakeDesk()), agents=AgentCalls(self, self.uploads))
        self._rest = RestServer(app, "127.0.0.1", 0)
        self._door: Door | None = None

    @property
    def target(self) -> str:
        return f"unix:{self._socket}"

    @property
    def rest_url(self) -> str:
        return self._rest.url

    async def let_in(self) -> None:
        await self._rest.start()
        service = AgentsService(
            self,
            self._rest.on_this_machine,
            identify=lambda _: Standing(None, lambda: self.refusal),
            leads=lambda: self.leads,
        )
        self._door = Door(service, LocalSocket(self._socket, serves=True))
        await self._door.open()

    async def close(self) -> None:
        if self._door is not None:
            await self._door.close()
            await self._rest.stop()
        await super().close()

    async def has_ready(self, name: NodeName) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not ((node := await self.node(name)) and node.ready and not node.cordoned):
                await asyncio.sleep(0.02)


class AgentProcess:
    def __init__(
        self, folder: Path, name: str, target: str, environment: Mapping[str, str] = AS_OURSELVES
    ) -> None:
        self.folder = folder
        self._environment = environment
        self._name = name
        self._target = target
        self._flags: tuple[str, ...] = ()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        return self.folder.with_suffix(".log")

    def start(self, *flags: str) -> None:
        """Again with the same flags, if none are given, once the one before has ended."""
        if self._process is not None:
            self.wait()
        self._flags = flags or self._flags
        said = ("--server", self._target, "--name", self._name, "--data", str(self.folder))
        self.begin("agent", *said, *self._flags)

    def begin(self, *words: str) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rota", *words],
                env={**os.environ, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.wait()

    @property
    def is_there(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def remove(self) -> None:
        """With its keeper, and all tasks."""
        if self._process is not None and self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGCONT)
            self.kill()
        await end(self.folder)


class Watched(Witness):
    backend: Stand

    async def notice(self, kind: str) -> Notice:
        async with asyncio.timeout(PATIENCE_S):
            async for notice in self.backend.notices:
                if notice.kind == kind:
                    return notice
        raise AssertionError


@asynccontextmanager
async def stand(folder: Path, terms: Terms | None = None) -> AsyncIterator[Watched]:
    here = Watched(Stand(folder / "server", terms=terms or Terms(60_000)))
    async with collecting(here):
        await here.backend.take_up([])
        await here.backend.let_in()
        yield here


PLAIN = Run(command=("true",))


def task(job: str, agent: str, run: Run = PLAIN) -> TaskStart:
    return TaskStart(ref(job), NodeName(agent), run)
