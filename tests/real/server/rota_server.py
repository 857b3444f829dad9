"""A real `rota server`: a process with a data folder of its own, and what tests ask of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import urllib3
from msgspec import json

from rota.api.jobs import JobDetail, JobDocument
from rota.lifecycle.state import Phase
from rota.sdk.client import Client
from rota.sdk.patience import Retries
from tests.as_ourselves import AS_OURSELVES
from tests.real.process.host import is_alive, keeper_of

PATIENCE_S = 60.0
UNFINISHED = (Phase.CREATED, Phase.PENDING, Phase.SCHEDULED, Phase.RUNNING)
NO_RETRIES = Retries(attempts=1)
T = TypeVar("T")


def eventually(find: Callable[[], T | None], what: str = "it") -> T:
    """What `find` gives, once it gives something."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := find()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


def shell(script: str, **fields: Any) -> dict[str, Any]:
    """A job of a short time limit, so that nobody has to wait behind it for ever."""
    return {"command": ["/bin/sh", "-c", script], "time_limit": "1m", "grace": "2s", **fields}


def rota_in(
    folder: Path, server: RotaServer, *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`rota …` by somebody who stands in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "rota", *words],
        env={**server.environment, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )


class RotaServer:
    """Everything of it is below `home`, as everything of a user's is below theirs."""

    def __init__(self, home: Path, *flags: str, environment: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.data = home / "data" / "rota"
        self.log = home / "server.log"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("ROTA_")},
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "COLUMNS": "200",
            **AS_OURSELVES,
            **(environment or {}),
        }
        self.url = ""
        self._flags = flags
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._client: Client | None = None

    # -- its life

    def start(self) -> None:
        """Again on the same port, as a server of some lasting would be."""
        announced = self.data / "server.json"
        announced.unlink(missing_ok=True)
        self._process = self.launch(*self._flags, "--port", str(self._port))
        eventually(lambda: announced.exists() or self._process_ended(), "the server to be ready")
        self.url = json.decode(announced.read_bytes())["url"]
        self._port = int(self.url.rpartition(":")[2])

    def launch(self, *flags: str) -> subprocess.Popen[bytes]:
        self.home.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "rota", "server", *flags],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def _process_ended(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()
        return False

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Its exit status. What runs goes on."""
        assert self._process is not None
        self._process.send_signal(how)
        status = self._process.wait(PATIENCE_S)
        self._process = None
        return status

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def remove(self) -> None:
        """With all that runs."""
        if self._client is not None:
            self._client.close()
        if self._process is not None and self._process.poll() is None:
            self.stop()
        with suppress(OSError):
            keeper = keeper_of(self.data / "worker")
            os.kill(keeper, signal.SIGTERM)
            eventually(lambda: not is_alive(keeper), "the keeper to end")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    # -- asking it

    @property
    def token(self) -> str:
        return (self.data / "token").read_text().strip()

    @property
    def ca(self) -> str | None:
        """Whom to trust that it is this server."""
        name = json.decode((self.data / "server.json").read_bytes())["ca"]
        return str(self.data / name) if name else None

    @property
    def client(self) -> Client:
        if self._client is None:
            self._client = Client(self.url, self.token, ca=self.ca)
        return self._client

    def impatient(self, token: str | None = None) -> Client:
        """A client that takes the first answer. Whoever asks for it closes it."""
        return Client(self.url, token or self.token, retries=NO_RETRIES, stream_retries=NO_RETRIES)

    def rest(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, Any, urllib3.HTTPHeaderDict]:
        """Status, body and headers, whatever they are."""
        asked = {
            "authorization": f"Bearer {self.token}",
            **{name.replace("_", "-").lower(): value for name, value in headers.items()},
        }
        with urllib3.PoolManager() as pool:
            answer = pool.request(
                method,
                f"{self.url}{path}",
                body=None if body is None else json.encode(body),
                headers=asked,
                retries=False,
            )
        is_json = "json" in answer.headers.get("content-type", "")
        return answer.status, json.decode(answer.data) if is_json else answer.data, answer.headers

    def cli(self, *words: str, status: int = 0, stdin: str = "") -> str:
        """What `rota …` prints to standard output, when it exits with `status`."""
        done = self.rota(*words, stdin=stdin)
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def rota(
        self, *words: str, stdin: str = "", environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rota", *words],
            env={**self.environment, **(environment or {})},
            cwd=self.home,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )

    def submit(self, *jobs: Mapping[str, Any]) -> list[str]:
        return [job.id for job in self.client.submit(*jobs).jobs]

    def submit_one(self, job: Mapping[str, Any]) -> str:
        [job_id] = self.submit(job)
        return job_id

    def run(self, job: Mapping[str, Any]) -> JobDocument:
        """Submitted, and over."""
        return self.over(self.submit_one(job))

    def over(self, job_id: str) -> JobDocument:
        return self.client.wait(job_id, timeout_s=PATIENCE_S)

    def until(self, job_id: str, *phases: Phase) -> JobDetail:
        def find() -> JobDetail | None:
            detail = self.client.job(job_id)
            return detail if detail.job.phase in phases else None

        return eventually(find, f"job {job_id} to be {' or '.join(phase.value for phase in phases)}")

    def started(self, *job_ids: str) -> None:
        for job_id in job_ids:
            self.until(job_id, Phase.RUNNING)

    def output(self, job_id: str, ranks: Sequence[int] = ()) -> str:
        """What it has written so far, bytes of all its tasks as they came."""
        return b"".join(chunk.data for chunk in self.client.logs(job_id, ranks=ranks)).decode()

    def says(self, job_id: str, text: str) -> str:
        """All that it has written, once `text` is in it."""

        def find() -> str | None:
            written = self.output(job_id)
            return written if text in written else None

        return eventually(find, f"job {job_id} to write {text!r}")

    def unfinished(self) -> Iterator[JobDocument]:
        return self.client.jobs(phases=UNFINISHED)

    @property
    def node(self) -> str:
        [node] = self.client.nodes()
        return node.name

    @property
    def cpus(self) -> int:
        """All that this machine has for jobs."""
        [node] = self.client.nodes()
        return int(node.capacity["cpu"])
