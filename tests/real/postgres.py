"""A PostgreSQL of our own: in a temporary folder, on a Unix socket, started and stopped by its pid."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path

import psycopg

READY_WITHIN_S = 60
SCRIPT = Path(__file__).parents[2] / "scripts" / "postgres.sh"


class Missing(Exception):
    """What a test needs isn't on this machine."""


class Postgres:
    def __init__(self) -> None:
        self._programs = _programs()
        self._folder = Path(tempfile.mkdtemp(prefix="rota-pg-"))
        self._as_user: list[str] = []
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            user = pwd.getpwnam("postgres")
            os.chown(self._folder, user.pw_uid, user.pw_gid)
            identity = ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
            self._as_user = ["setpriv", *identity]
        self._data = self._folder / "data"
        self._server: subprocess.Popen[bytes] | None = None
        self._names = count(1)
        options = ["--auth=trust", "--username=rota", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        self._run("initdb", "-D", str(self._data), *options)
        self.start()

    def start(self) -> None:
        # No fsync: these tests stop the server, but no machine loses its power in them.
        log = open(self._folder / "log", "ab")  # noqa: SIM115 – the server writes to it for longer
        with log:
            self._server = subprocess.Popen(
                [
                    *self._as_user,
                    str(self._programs / "postgres"),
                    *("-D", str(self._data), "-k", str(self._folder)),
                    *("-c", "listen_addresses=", "-c", "fsync=off"),
                ],
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )
        self._wait_until_ready()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends all connections and shuts down in order; SIGQUIT is a crash."""
        if self._server is not None:
            self._server.send_signal(how)
            self._server.wait(READY_WITHIN_S)
            self._server = None

    def new_database(self, encoding: str = "UTF8") -> str:
        """Its URL."""
        name = f"test_{next(self._names)}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            words = f"ENCODING '{encoding}' TEMPLATE template0"
            connection.execute(f"CREATE DATABASE {name} {words}")
        return self._url(name)

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)  # Whatever it would still write is removed anyway.
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*self._as_user, str(self._programs / program), *arguments],
            cwd=self._folder,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_S
        while True:
            try:
                psycopg.connect(self._address("postgres")).close()
                return
            except psycopg.OperationalError:
                assert self._server is not None
                if self._server.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError((self._folder / "log").read_text()) from None
                time.sleep(0.05)

    def _address(self, database: str) -> str:
        return f"host={self._folder} user=rota dbname={database}"

    def _url(self, database: str) -> str:
        return f"postgresql://rota@/{database}?host={self._folder}"


def _programs() -> Path:
    found = subprocess.run([SCRIPT], capture_output=True, text=True)
    if found.returncode != 0:
        raise Missing(found.stderr.strip().splitlines()[-1])
    return Path(found.stdout.strip())
