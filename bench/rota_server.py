"""`rota server` in a process and a folder of its own, as its users run it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from bench.wire import Wire
from rota.backends.process.folders import Folders
from rota.backends.process.frames import Hello, Inbox, read_answer

CACHE = Path(__file__).parents[1] / ".cache" / "bench-server"
PROFILE = os.environ.get("ROTA_PROFILE", "")
"""A folder: servers write there what their time went to. They are slower then, so results aren't kept."""
PATIENCE_S = 120.0
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")

SETTINGS = """\
[server]
port = 0
{server}
[server.limits]
requests_per_second = 1_000_000
{limits}
[server.history]
ttl = 0
most_jobs = 0
logs = 0
logs_size = 0
[logs]
level = "warning"
format = "json"
"""
"""No limit on requests, and nothing of the history is removed."""


def clean_environment() -> dict[str, str]:
    """Nothing of Rota's is in it, but that jobs run as we do, root or not."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ROTA_")}
    return environment | {"ROTA_WORKER_ALLOW_ROOT": "true", "ROTA_WORKER_ISOLATION": "none"}


class MoreSettings(Struct, frozen=True):
    """Lines of a `rota.toml`: of two sections that are there anyway, and others."""

    server: str = ""
    limits: str = ""
    others: str = ""


NO_MORE = MoreSettings()


class RotaServer:
    def __init__(self, folder: Path, more: MoreSettings = NO_MORE) -> None:
        self.folder = folder
        self._settings = SETTINGS.format(server=more.server, limits=more.limits) + more.others
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.token = ""

    def start(self) -> float:
        """Seconds from its start until it says that it is ready."""
        data = self.folder / "rota"
        data.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "rota.toml"
        settings.write_text(self._settings)
        (data / "server.json").unlink(missing_ok=True)
        began = time.perf_counter()
        environment = clean_environment()
        environment |= {"XDG_CONFIG_HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)}
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._program(), "server", "--config", str(settings)],
                env=environment,
                stdout=log,
                stderr=log,
            )
        while time.perf_counter() - began < PATIENCE_S:
            if self._process.poll() is not None:
                raise SystemExit(f"the server ended: see {self.folder / 'server.log'}")
            if (data / "server.json").exists():
                self.port = urlsplit(json.loads((data / "server.json").read_text())["url"]).port or 0
                self.token = (data / "token").read_text().strip()
                with self.wire() as wire:
                    if wire.ask("GET", "/readyz")[0] == 200:
                        return time.perf_counter() - began
            time.sleep(0.005)
        raise SystemExit(f"the server wasn't ready within {PATIENCE_S:.0f} s")

    def _program(self) -> list[str]:
        if not PROFILE:
            return [str(Path(sys.executable).with_name("rota"))]
        return [sys.executable, "-m", "bench.profiled", str(Path(PROFILE) / self.folder.name)]

    def wire(self) -> Wire:
        return Wire(self.port, self.token)

    def cpu_s(self) -> float:
        """That the server has used, without the keeper and its tasks."""
        assert self._process is not None
        return cpu_s(self._process.pid)

    def memory_bytes(self) -> int:
        assert self._process is not None
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def written_bytes(self) -> int:
        """By its calls of write, to files: while a task writes much, that is what came of its output."""
        assert self._process is not None
        lines = Path(f"/proc/{self._process.pid}/io").read_text().splitlines()
        [written] = [int(line.split()[1]) for line in lines if line.startswith("wchar:")]
        return written

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)
            self._process = None

    def end_tasks(self) -> None:
        end_keeper(self.folder / "rota" / "worker")


@contextmanager
def running(name: str, database: Path | None = None, more: MoreSettings = NO_MORE) -> Iterator[RotaServer]:
    """On an empty folder, or on a copy of that database."""
    folder = CACHE / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "rota").mkdir(parents=True)
    if database is not None:
        shutil.copyfile(database, folder / "rota" / "rota.db")
    server = RotaServer(folder, more)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        server.end_tasks()
    shutil.rmtree(folder, ignore_errors=True)


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND


def end_keeper(folder: Path) -> None:
    """It ends with all that it keeps."""
    try:
        pid = keeper_of(folder)
    except OSError:
        return
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.02)


def keeper_of(folder: Path) -> int:
    """Raises OSError if there is none."""
    # By a short name: a socket's path has 107 bytes at most.
    root = os.open(folder, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(f"/proc/self/fd/{root}/{Folders(folder).socket.name}")
            inbox = Inbox()
            while data := line.recv(1 << 16):
                for body in inbox.feed(data):
                    hello = read_answer(body)
                    assert isinstance(hello, Hello)
                    return hello.pid
    finally:
        os.close(root)
    raise ConnectionResetError("the keeper said nothing")
