"""Processes that may be hit at any moment: servers, schedulers, controllers, agents, a database."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psycopg
import urllib3
from msgspec import json

from rota.backends.process.keeper.processes.proc_files import marked
from rota.sdk.client import Client
from tests.as_ourselves import AS_OURSELVES
from tests.crash.ledger import LedgerReader
from tests.real.agents.stand import AgentProcess
from tests.real.postgres import Postgres
from tests.real.process.host import is_alive
from tests.real.scheduler.ledger import token_of
from tests.real.scheduler.stand import SchedulerStand
from tests.real.server.rota_server import NO_RETRIES, RotaServer, eventually

ROTA = (sys.executable, "-m", "rota")
KEEPER = b"rota.backends.process.keeper"
_ASK_S = 2.0
_DATABASE_BACK_S = 30.0


class Server(RotaServer):
    secret = ""
    """Of the cluster's first token."""
    _ca: str | None = None

    @property
    def ca(self) -> str | None:
        """Also while it is away."""
        return self._ca

    def start(self) -> None:
        super().start()
        self._ca = super().ca

    def signal(self, number: signal.Signals) -> None:
        if self.is_there:
            assert self._process is not None
            self._process.send_signal(number)

    @property
    def is_there(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """One that has ended by itself, too."""
        if self.is_there:
            super().kill()
        self._process = None

    def stage(self) -> str:
        """ "ready": it leads; "standby"; empty: it doesn't answer."""
        if not self.is_there:
            return ""
        try:
            with urllib3.PoolManager(ca_certs=self.ca) as pool:
                answer = pool.request("GET", f"{self.url}/readyz", retries=False, timeout=_ASK_S)
            return str(json.decode(answer.data).get("status")) if answer.status == 200 else ""
        except (urllib3.exceptions.HTTPError, OSError):
            return ""

    def asking(self) -> Client:
        """A client that takes the first answer. Whoever asks for it closes it."""
        return Client(self.url, self.secret, ca=self.ca, retries=NO_RETRIES, stream_retries=NO_RETRIES)


class Scheduler(SchedulerStand):
    @property
    def is_there(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        if self.is_there:
            hit([self.pid], number)

    def kill(self) -> None:
        """One that has ended by itself, too."""
        if self.is_there:
            super().kill()

    def until_ready(self) -> None:
        eventually(lambda: self.get("/readyz")[0] == 200, "the scheduler to be ready")


class Controller:
    """All that it keeps is below `folder`."""

    def __init__(self, folder: Path, name: str, target: str, ground: Path, seed: int) -> None:
        folder.mkdir()
        self.ledger = LedgerReader(folder / "ledger.db")
        self._enough = folder / "enough"
        self._log = folder / "controller.log"
        self._words = (target, name, token_of(name), str(folder), str(ground), str(seed))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.crash.controller", *self._words],
                cwd=Path(__file__).parents[2],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    @property
    def is_there(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        if self.is_there:
            assert self._process is not None
            self._process.send_signal(number)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def submits_no_more(self) -> None:
        """From now on; what would never end is cancelled."""
        self._enough.touch()


class Agent(AgentProcess):
    def __init__(self, folder: Path, name: str, inside: Sequence[str]) -> None:
        """`inside`: what goes before its command."""
        super().__init__(folder, name, "")
        self._inside = inside

    def start(self, *flags: str) -> None:
        if self._process is not None:
            self.wait()
        self._flags = flags or self._flags
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._inside, *ROTA, "agent", "--data", str(self.folder), *self._flags],
                env={**os.environ, **AS_OURSELVES},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def signal(self, number: signal.Signals) -> None:
        if self.is_there:
            self.send(number)

    def keepers(self) -> list[int]:
        """None at all, for a moment, or one; also one that is frozen."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                words = path.read_bytes().split(b"\0")
                if KEEPER in words and os.fsencode(self.folder) in words and is_alive(int(path.parent.name)):
                    found.append(int(path.parent.name))
        return found

    def tasks(self) -> Iterator[int]:
        """All processes of its tasks."""
        keeper = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:12]
        return (pid for pid, mark in marked() if mark.startswith(f"{keeper}/"))


class Database(Postgres):
    """One that may be hit anywhere."""

    def begin_anew(self) -> None:
        """Once what is left of the one before is gone, too."""
        deadline_s = time.monotonic() + _DATABASE_BACK_S
        while True:
            try:
                return self.start()
            except AssertionError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.1)

    def remove(self) -> None:
        hit(self.processes(), signal.SIGCONT)
        super().remove()

    def processes(self) -> list[int]:
        """The first is the one that started the others."""
        if self._server is None:
            return []
        pid = self._server.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [pid, *map(int, children)]

    def sessions(self) -> list[int]:
        """Of servers."""
        with psycopg.connect(self._address("postgres")) as connection:
            found = connection.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'rota'")
            return sorted(pid for (pid,) in found)

    def cut_sessions(self) -> None:
        with psycopg.connect(self._address("postgres")) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rota'"
            )


def hit(pids: Iterable[int], number: signal.Signals) -> None:
    """Those that are still there."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
