"""What a job can't do: to Rota, and to jobs of others. Each is tried from inside of a job, in each way that
jobs are kept apart, by a server under root and under an account without rights."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from rota.lifecycle.state import Phase
from rota.sdk.client import Client
from tests.real.hostile.accounts import (
    RIGHTS,
    ServerAs,
    folder_for_others,
    need_root,
    new_account,
    under_keeper_unit,
    unique,
)
from tests.real.process.host import is_alive, keeper_of
from tests.real.server.rota_server import eventually

pytestmark = pytest.mark.slow

SECRET = "alice-keeps-this-for-herself"
ATTACKS = r"""
import ctypes, json, os, signal, socket, sys
data, worker, keeper, server, victim, room, rooms = json.loads(sys.argv[1])
own = os.getcwd()
SECRET = "-".join(["alice", "keeps", "this", "for", "herself"])
def reading(path):
    return lambda: open(path, "rb").read(4096)
def writing(path):
    return lambda: os.write(os.open(path, os.O_WRONLY | os.O_APPEND), b"x")
def connecting():
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(f"{worker}/keeper.sock")
        line.settimeout(5)
        assert line.recv(100), "it said nothing"
def searching():
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            found = open(f"/proc/{pid}/environ", "rb").read()
        except OSError:
            continue
        if SECRET.encode() in found:
            return
    raise OSError("not found")
def finding():
    for folder, _, names in os.walk(rooms):
        if f"{folder}/".startswith(f"{own}/"):
            continue
        for name in names:
            return open(os.path.join(folder, name), "rb").read()
    raise OSError("not found")
def becoming():
    os.setuid(0)
def tracing():
    if ctypes.CDLL(None, use_errno=True).ptrace(16, keeper, 0, 0) != 0:
        raise OSError("refused")
attacks = {
    "read the token": reading(f"{data}/token"),
    "read the database": reading(f"{data}/rota.db"),
    "read the settings of the server": reading(f"{data}/server.json"),
    "list the data folder": lambda: os.listdir(data) and os.listdir(worker).index("journal"),
    "read the keeper's journal": reading(f"{worker}/journal"),
    "write to the keeper's log": writing(f"{worker}/keeper.log"),
    "speak to the keeper": connecting,
    "read the keeper's memory": lambda: open(f"/proc/{keeper}/mem", "rb"),
    "see what the keeper has open": lambda: os.listdir(f"/proc/{keeper}/fd"),
    "trace the keeper": tracing,
    "read another job's environment": searching,
    "read another job's file": reading(f"{room}/secret"),
    "write another job's file": writing(f"{room}/result.pkl"),
    "find other jobs' files": finding,
    "list all rooms": lambda: os.listdir(rooms).index(room.split("/")[-2]),
    "become root": becoming,
    "end another job": lambda: os.kill(victim, signal.SIGKILL),
    "freeze the keeper": lambda: os.kill(keeper, signal.SIGSTOP),
    "end the keeper": lambda: os.kill(keeper, signal.SIGKILL),
    "end the server": lambda: os.kill(server, signal.SIGKILL),
}
done = []
for name, attack in attacks.items():
    try:
        attack()
        done.append(name)
    except (OSError, AssertionError, ValueError):
        pass
print(json.dumps({"done": done, "tried": len(attacks), "uid": os.getuid()}))
"""
WAIT = "while [ ! -e go ]; do sleep 0.05; done"
VICTIM = f"umask 0; echo $KEY > secret; echo mine > result.pkl; pwd; echo $$; {WAIT}"


class Place:
    def __init__(self, server: ServerAs, rooms: Path, users: tuple[str, str], own_uid: int) -> None:
        self.server = server
        self.rooms = rooms
        self.users = users
        self.own_uid = own_uid
        self.clients: list[Client] = []

    def client(self, user: str, project: str) -> Client:
        status, made, _ = self.server.rest("PUT", f"/v1/projects/{project}", {"members": {user: "submitter"}})
        assert status in (200, 201), made
        form = {"user": user, "role": "submitter", "projects": [project]}
        status, made, _ = self.server.rest("POST", "/v1/tokens", form)
        assert status == 201, made
        self.clients.append(Client(self.server.url, made["secret"]))
        return self.clients[-1]


def by_project(folder: Path, stack: ExitStack) -> Place:
    """The server is root's."""
    need_root()
    rooms = folder / "rooms"
    settings = {"ROTA_WORKER_ISOLATION": "project", "ROTA_WORKER_ROOMS": str(rooms)}
    return Place(ServerAs(folder / "home", 0, settings), rooms, ("alice", "bob"), 0)


def by_user(folder: Path, stack: ExitStack) -> Place:
    """The server is root's, and its users have accounts."""
    need_root()
    users = unique("alice"), unique("bob")
    for user in users:
        stack.enter_context(new_account(user))
    rooms = folder / "rooms"
    settings = {"ROTA_WORKER_ISOLATION": "user", "ROTA_WORKER_ROOMS": str(rooms)}
    return Place(ServerAs(folder / "home", 0, settings), rooms, users, 0)


def by_keeper(folder: Path, stack: ExitStack) -> Place:
    """The server has no rights, and its keeper has the few that it needs."""
    uid = stack.enter_context(new_account(unique("server")))
    rooms = folder / "rooms"
    rooms.mkdir()
    os.chown(rooms, uid, uid)
    settings = {"ROTA_WORKER_ISOLATION": "project", "ROTA_WORKER_ROOMS": str(rooms)}
    return Place(ServerAs(folder / "home", uid, settings, rights=RIGHTS), rooms, ("alice", "bob"), uid)


def by_unit(folder: Path, stack: ExitStack) -> Place:
    """As `by_keeper`, with all that the keeper's unit refuses of system calls."""
    uid = stack.enter_context(new_account(unique("server")))
    rooms = folder / "rooms"
    rooms.mkdir()
    os.chown(rooms, uid, uid)
    settings = {"ROTA_WORKER_ISOLATION": "project", "ROTA_WORKER_ROOMS": str(rooms)}
    server = ServerAs(folder / "home", uid, settings, rights=RIGHTS, before_keeper=under_keeper_unit())
    return Place(server, rooms, ("alice", "bob"), uid)


def by_sandbox(folder: Path, stack: ExitStack) -> Place:
    """Nobody has any rights."""
    uid = stack.enter_context(new_account(unique("server")))
    server = ServerAs(folder / "home", uid, {"ROTA_WORKER_ISOLATION": "sandbox"})
    return Place(server, server.data / "worker" / "rooms", ("alice", "bob"), uid)


PLACES = [by_project, by_user, by_keeper, by_unit, by_sandbox]


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    make: Callable[[Path, ExitStack], Place] = request.param
    with ExitStack() as stack:
        found = make(stack.enter_context(folder_for_others()), stack)
        stack.callback(found.server.remove)
        found.server.start()
        yield found
        for client in found.clients:
            client.close()


def job(script: str, **fields: Any) -> dict[str, Any]:
    return {"command": ["/bin/sh", "-c", script], "time_limit": "2m", "grace": "2s", **fields}


@pytest.mark.covers("trust-2")
def test_a_job_can_harm_neither_rota_nor_jobs_of_others(place: Place) -> None:
    server, (alice, bob) = place.server, place.users
    hers, his = place.client(alice, "red"), place.client(bob, "blue")
    outputs = {"outputs": ["secret", "result.pkl"]}
    [victim] = hers.submit(job(VICTIM, project="red", environment={"KEY": SECRET}, **outputs)).jobs
    written = eventually(lambda: _lines(server, victim.id, 2), "the first job to run")
    room, worker = written[0], server.data / "worker"
    keeper = keeper_of(worker)
    known = [str(server.data), str(worker), keeper, server.pid, _pid_of(SECRET), room, str(place.rooms)]
    command = ["python3", "-c", ATTACKS, json.dumps(known)]
    [attacker] = his.submit({"command": command, "project": "blue", "time_limit": "2m"}).jobs
    ended = his.wait(attacker.id, timeout_s=60)
    said = json.loads(server.output(attacker.id))
    assert ended.phase is Phase.SUCCEEDED
    assert said["done"] == []
    assert said["tried"] == 20
    is_sandbox = place.rooms.parent == worker
    assert (said["uid"] == place.own_uid) is is_sandbox
    assert said["uid"] >= 1000

    # All goes on as if nothing had happened, and what it left is its owner's.
    assert is_alive(keeper)
    assert is_alive(server.pid)
    assert (Path(room) / "secret").read_text() == f"{SECRET}\n"
    (Path(room) / "go").touch()
    assert hers.wait(victim.id, timeout_s=60).phase is Phase.SUCCEEDED
    assert hers.output(victim.id, "result.pkl") == b"mine\n"
    assert hers.output(victim.id, "secret") == f"{SECRET}\n".encode()
    assert server.output(victim.id).splitlines()[0] == room
    eventually(lambda: not Path(room).exists() or not os.listdir(room), "the room to be cleared")


def _lines(server: ServerAs, job_id: str, count: int) -> list[str]:
    lines = server.output(job_id).splitlines()
    return lines if len(lines) >= count else []


def _pid_of(secret: str) -> int:
    """Of the process that has it in its environment, as root sees it."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"KEY={secret}".encode() in path.read_bytes():
                return int(path.parent.name)
        except OSError:
            continue
    raise AssertionError("it doesn't run")


@pytest.mark.covers("trust-2")
def test_signals_ends_and_restarts_are_as_ever(place: Place) -> None:
    """With whatever stands between keeper and task."""
    server, (alice, _) = place.server, place.users
    client = place.client(alice, "red")

    def ends(script: str, **fields: Any) -> tuple[str, str]:
        [one] = client.submit(job(script, project="red", **fields)).jobs
        over = client.wait(one.id, timeout_s=60)
        return over.phase.value, server.output(one.id)

    assert ends("exit 3")[0] == "failed"
    assert ends("kill -9 $$")[0] == "failed"
    assert ends("echo to stderr > /dev/stderr; echo $HOME; cd ~; touch $TMPDIR/x")[0] == "succeeded"
    assert ends("no-such-program")[0] == "failed"
    assert ends("true", directory="/no/such/folder")[0] == "failed"
    phase, text = ends("trap 'echo asked; exit 0' TERM; sleep 60 & wait", time_limit="1s")
    assert (phase, text) == ("timed-out", "asked\n")
    # A daemon without environment, in a session of its own, is gone with its task.
    [one] = client.submit(job("env -i setsid sleep 98765 & sleep 0.2", project="red")).jobs
    client.wait(one.id, timeout_s=60)
    eventually(lambda: not _sleeper("98765"), "all processes to be gone")

    [one] = client.submit(job(f"echo a; {WAIT}; echo b; exit 7", project="red")).jobs
    eventually(lambda: _lines(server, one.id, 1), "it to run")
    if server._keeper is None:
        os.kill(keeper_of(server.data / "worker"), signal.SIGKILL)
        eventually(lambda: _keeper(server), "another keeper")
    [work] = place.rooms.glob("*/work" if place.rooms == _own(server) else "*/*/work")
    (work / "go").touch()
    over = client.wait(one.id, timeout_s=60)
    assert server.output(one.id) == "a\nb\n"
    assert over.phase is Phase.FAILED


def _own(server: ServerAs) -> Path:
    return server.data / "worker" / "rooms"


def _keeper(server: ServerAs) -> int:
    try:
        return keeper_of(server.data / "worker")
    except OSError:
        return 0


def _sleeper(seconds: str) -> bool:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if seconds.encode() in path.read_bytes():
                return True
    return False
