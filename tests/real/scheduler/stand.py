"""A real `rota scheduler`, and real agents of this machine that work for it."""

from __future__ import annotations

import asyncio
import os
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from tests.real.agents.fleet import free_port
from tests.real.agents.stand import AgentProcess
from tests.real.scheduler.ledger import token_of
from tests.real.server.rota_server import PATIENCE_S, eventually

CONTROLLERS = ("ci", "nightly")
PATIENT_S = 120.0
"""When agents count as lost: later than a scheduler takes to start again, on a busy machine."""
IMPATIENT_S = 6.0


class SchedulerStand:
    """Everything of it is below `folder`; the scheduler itself may write nowhere."""

    def __init__(self, folder: Path, lost_after_s: float = PATIENT_S, *flags: str) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self.tokens = folder / "tokens"
        self.tokens.write_text("".join(f"{name} {token_of(name)}\n" for name in CONTROLLERS))
        self.tokens.chmod(0o600)
        is_joined = any(flag in flags for flag in ("--authority", "--agents-ca"))
        door = folder / "door" / "agents.sock"
        self.target = f"127.0.0.1:{free_port()}" if is_joined else f"unix:{door}"
        self.controllers = f"127.0.0.1:{free_port()}"
        self.rest = f"127.0.0.1:{free_port()}"
        self.log = folder / "scheduler.log"
        self.agents: dict[str, AgentProcess] = {}
        self._flags = ("--lost-after", f"{lost_after_s:g}s", *flags)
        self._scheme = "http"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, is_tls: bool = False) -> None:
        self._scheme = "https" if is_tls else "http"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "rota", "scheduler", "--tokens", str(self.tokens)),
                    *("--agents", self.target, "--controllers", self.controllers, "--rest", self.rest),
                    *self._flags,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            )
        eventually(self._is_alive, "the scheduler to be ready")

    def _is_alive(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()
        return self.get("/healthz")[0] == 200

    def get(self, path: str, token: str = "") -> tuple[int, bytes]:
        request = urllib.request.Request(f"{self._scheme}://{self.rest}{path}")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            # Whether it is the right one is for agents and controllers to see.
            context = ssl._create_unverified_context()
            with urllib.request.urlopen(request, timeout=10, context=context) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()
        except OSError:
            return 0, b""

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        assert self._process is not None
        self._process.send_signal(how)
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def agent(self, name: str, *flags: str) -> AgentProcess:
        agent = self.agents[name] = AgentProcess(self._folder / name, name, self.target)
        agent.start(*flags)
        return agent

    def remove(self) -> None:
        for agent in self.agents.values():
            asyncio.run(agent.remove())
        if self._process is not None and self._process.poll() is None:
            self.stop()
