"""Servers that run under accounts of their own, made for a test and removed after it."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import rota
from tests.real.conftest import missing
from tests.real.docker import ROOT
from tests.real.server.rota_server import RotaServer, eventually

RIGHTS = "+setuid,+setgid,+kill,+chown"


@contextmanager
def folder_for_others() -> Iterator[Path]:
    """Whoever is told of it can get in: pytest's own are for one account."""
    path = Path(tempfile.mkdtemp(prefix="rota-test-", dir="/var/tmp"))
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def unique(name: str) -> str:
    """Among all tests that run at the same time."""
    return f"rota-{name}-{os.getpid()}"


@contextmanager
def new_account(name: str) -> Iterator[int]:
    """Its user id."""
    need_root()
    done = subprocess.run(["useradd", "--no-create-home", name], capture_output=True, text=True)
    if done.returncode != 0:
        missing(f"an account can't be made: {done.stderr.strip()}")
    try:
        yield int(subprocess.check_output(["id", "-u", name]))
    finally:
        subprocess.run(["userdel", name], capture_output=True, check=True)


def need_root() -> None:
    if os.geteuid() != 0:
        missing("only root can run Rota under another account")
    for tool in ("setpriv", "useradd"):
        if shutil.which(tool) is None:
            missing(f"{tool} isn't installed")


def as_account(uid: int, *, rights: str = "") -> tuple[str, ...]:
    """In front of a command."""
    given = ("--inh-caps", rights, "--ambient-caps", rights) if rights else ()
    return ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *given)


def python_for(uid: int) -> tuple[str, Mapping[str, str]]:
    """One that this account can execute, and the environment that it needs to find Rota."""
    source = str(Path(rota.__file__).parents[1])
    modules = {"PYTHONPATH": os.pathsep.join([source, *site.getsitepackages()])}
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        tried = [*as_account(uid), "env", python, "-c", "import rota.cli.main, msgspec"]
        if subprocess.run(tried, env={**os.environ, **modules}, capture_output=True).returncode == 0:
            return python, modules
    missing(f"there is no {version} that other accounts can execute")


def under_keeper_unit() -> tuple[str, ...]:
    """In front of a command: what the keeper's unit refuses is refused to it."""
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze isn't there: apt-get install systemd")
    unit = ROOT / "deploy" / "systemd" / "rota-keeper.service"
    return sys.executable, str(ROOT / "tests" / "real" / "deploy" / "under_unit.py"), str(unit)


class ServerAs(RotaServer):
    """A server under some account, with a keeper of its own if it is given rights."""

    def __init__(
        self,
        home: Path,
        uid: int,
        settings: Mapping[str, str],
        *,
        rights: str = "",
        before_keeper: Sequence[str] = (),
    ) -> None:
        """`before_keeper`: stands in front of the keeper's command, as root."""
        self._before = as_account(uid) if uid else ()
        self._python, modules = python_for(uid) if uid else (sys.executable, {})
        super().__init__(home, environment={**settings, **modules})
        if uid:
            self.environment.pop("ROTA_WORKER_ALLOW_ROOT", None)
        home.mkdir()
        os.chown(home, uid, uid)
        self._keeper: subprocess.Popen[bytes] | None = None
        if rights:
            words = [*as_account(uid, rights=rights), "env", self._python, "-m", "rota", "keeper", "--server"]
            self._keeper = self._launched([*before_keeper, *words])
            eventually((self.data / "worker" / "keeper.sock").exists, "the keeper")

    def launch(self, *flags: str) -> subprocess.Popen[bytes]:
        return self._launched([*self._before, "env", self._python, "-m", "rota", "server", *flags])

    def _launched(self, words: Sequence[str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def remove(self) -> None:
        super().remove()
        if self._keeper is not None:
            self._keeper.terminate()
            self._keeper.wait(30)
