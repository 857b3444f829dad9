"""Starts a task's process: what it executes, with which environment, and where its output goes."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import NamedTuple

from rota.backends.backend import TaskStart
from rota.backends.process.environment import DEFAULT_PATH
from rota.backends.process.keeper.cgroups.groups import Group
from rota.backends.process.keeper.files.rooms import Room, hand_over
from rota.backends.process.keeper.processes.proc_files import MARK, kill_group
from rota.backends.process.keeper.streams.ends import open_ends
from rota.clock import now_ms, since_boot_ms
from rota.launch.account import Account
from rota.launch.sandbox import Sandbox
from rota.launch.starting import Program, Streams
from rota.launch.starting import start as launch
from rota.model.run import Run, Stdin

_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
"""To be as they are by default in a task, whatever the keeper does about them or was started with. All of
them, though only those that are ignored would outlive the execution: of one that isn't named, glibc asks
first what is done about it and mostly sets that, too, which is two calls instead of one."""


class Spawned(NamedTuple):
    pid: int
    at_ms: int
    since_boot_ms: int
    """Right before."""
    within_ms: int
    out: int
    err: int | None
    """The ends to read from. Without `err`, all that it writes comes out of `out`."""
    word: int | None = None
    """Where the child says why it can't execute its program, or closes once it does. None: it has."""
    stdin: int | None = None
    """The end to write to, of one that reads what its user sends."""
    terminal: int | None = None
    """The task's side of its terminal, if it has one."""


def environment_of(base: Mapping[str, str], account: Account | None, room: Room) -> dict[str, str]:
    """For a task that isn't to run as we do, or to see our home."""
    name = base["USER"] if account is None else account.name
    home = str(room.work) if account is None or not account.home else account.home
    return {"PATH": DEFAULT_PATH, "HOME": home, "LANG": base["LANG"], "USER": name, "LOGNAME": name}


def prepare(start: TaskStart, room: Room) -> None:
    """Writes what is small; raises OSError, or ValueError if it could never run as asked."""
    if start.run.warn_signal not in signal.Signals.__members__:
        raise ValueError(f"run.warn_signal: there is no signal {start.run.warn_signal!r}")
    if start.run.script:
        _write(room.script, start.run.script, 0o700)
        hand_over(room.script, room.account)
    if len(start.hosts) > 1:
        _write(room.hosts, "".join(f"{host}\n" for host in start.hosts), 0o600)
        hand_over(room.hosts, room.account)


def spawn(
    start: TaskStart,
    room: Room,
    group: Group | None,
    base: dict[str, str],
    mark: str,
    sandbox: Sandbox | None = None,
) -> Spawned:
    """As the account that the room is of, in a session of its own. Raises OSError or ValueError. Touches
    nothing but Rota's own folders and those of the system, so that it can't hang."""
    run = start.run
    at_ms, before_ms = now_ms(), since_boot_ms()
    program = Program(
        _arguments(start, room),
        _environment(start, room, base, mark),
        start.run.directory or str(room.work),
        group.paths if group is not None else (),
        room.account,
        sandbox,
        str(room.end) if sandbox is not None else "",
        start.run.stdout,
        start.run.stderr,
        start.run.append,
    )
    is_plain = not (start.run.directory or room.account or sandbox or _has_streams_of_its_own(run))
    with open_ends(run, room.account) as ends:
        executable = _known(program, start.run.script, base["PATH"]) if is_plain else None
        if executable is None:
            pid, word = launch(program, ends.of_task)
        else:
            pid, word = _spawn(executable, program, ends.of_task), None
            if group is not None:
                _take_in(group, pid)
        return Spawned(
            pid,
            at_ms,
            before_ms,
            since_boot_ms() - before_ms,
            ends.out,
            ends.err,
            word,
            ends.stdin,
            ends.terminal,
        )


def _has_streams_of_its_own(run: Run) -> bool:
    return bool(run.stdin is Stdin.TERMINAL or run.stdout or run.stderr)


def _spawn(executable: str, program: Program, streams: Streams) -> int:
    """Half as costly as a fork, and until the program is executed nothing else goes on. Changes the working
    directory of this process for the moment: posix_spawn knows no other way to choose that of the new one."""
    os.chdir(program.directory)
    try:
        return os.posix_spawn(
            executable,
            program.arguments,
            program.environment,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
                if streams.stdin is None
                else (os.POSIX_SPAWN_DUP2, streams.stdin, 0),
                (os.POSIX_SPAWN_DUP2, streams.out, 1),
                (os.POSIX_SPAWN_DUP2, streams.err, 2),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=_SIGNALS,
        )
    finally:
        os.chdir("/")


def _take_in(group: Group, pid: int) -> None:
    """Afterwards: whoever runs under our own account could leave it anyway."""
    try:
        group.take_in(pid)
    except OSError:
        kill_group(pid, signal.SIGKILL)
        raise


def _arguments(start: TaskStart, room: Room) -> list[str]:
    run = start.run
    if not run.script:
        if not run.command:
            raise ValueError("run: neither a command nor a script is given")
        return list(run.command)
    if run.script.startswith("#!"):
        return [str(room.script), *run.command]
    return ["/bin/sh", str(room.script), *run.command]


def _folders_of_programs(path: str) -> frozenset[str]:
    """Those of the machine, and those that whoever started Rota looks for programs in. Were they on a disk
    that doesn't answer, Rota itself would wait for it."""
    return frozenset(folder for folder in f"{path}:{DEFAULT_PATH}".split(":") if folder.startswith("/"))


def _known(program: Program, script: str, own_path: str) -> str | None:
    """The program's file, if no other folder than ours has to be looked at to execute it."""
    folders = _folders_of_programs(own_path)
    name = program.arguments[0]
    if script.startswith("#!"):
        interpreter = script[2:].partition("\n")[0].split()
        return name if interpreter and os.path.dirname(interpreter[0]) in folders else None
    if "/" in name:
        return name if os.path.dirname(name) in folders else None
    for folder in program.environment["PATH"].split(":"):
        if folder not in folders:
            return None
        candidate = f"{folder}/{name}"
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):
            return candidate
    return None


def _environment(start: TaskStart, room: Room, base: dict[str, str], mark: str) -> dict[str, str]:
    environment = base | {"TMPDIR": str(room.tmp)}
    if len(start.hosts) > 1:
        environment["ROTA_HOSTFILE"] = str(room.hosts)
    environment.update(start.run.environment)
    environment.update(start.secrets)
    environment.update(start.environment)
    environment[MARK] = mark
    return environment


def _write(path: os.PathLike[str], text: str, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "w") as file:
        file.write(text)
