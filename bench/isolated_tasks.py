"""One `/bin/true` after the other, as the keeper starts them: `python -m bench.isolated_tasks WAY FOLDER`.

In a process of its own that imports no more than a keeper does: what a fork costs depends on its size.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from rota.backends.backend import TaskRef, TaskStart
from rota.backends.process.keeper.files.rooms import Rooms
from rota.backends.process.keeper.processes.kernel import Linux
from rota.launch.account import Account
from rota.launch.sandbox import Sandbox
from rota.model.ids import JobId, NodeName
from rota.model.run import Run

TASKS = 100
ROUNDS = 5
SOMEBODY = 1_900_000_000
NO_RIGHTS = SOMEBODY - 1
START = TaskStart(TaskRef(JobId("1"), 0, 1), NodeName("here"), Run(command=("/bin/true",)))
ACCOUNTS = {
    "project": Account(SOMEBODY, SOMEBODY, name="somebody"),
    "user": Account(SOMEBODY, SOMEBODY, (SOMEBODY + 1, SOMEBODY + 2), "somebody", "/"),
}


def as_keeper(folder: Path, account: Account | None, sandbox: Sandbox | None) -> float:
    kernel, rooms = Linux(sandbox), Rooms(folder)

    def one() -> None:
        room = rooms.take(account)
        spawned = kernel.spawn(START, room, None, "bench/1/0/1")
        os.waitpid(spawned.pid, 0)
        for fd in (spawned.out, spawned.err, spawned.word):
            if fd is not None:
                os.close(fd)
        if not rooms.give_back(room):
            raise SystemExit("a room isn't as it was made")

    return best(one)


def best(one: Callable[[], object]) -> float:
    """Milliseconds of processor time, ours and the task's, of the best round: noise only ever adds."""
    found = float("inf")
    for _ in range(ROUNDS):
        before = sum(os.times()[:4])
        for _ in range(TASKS):
            one()
        found = min(found, (sum(os.times()[:4]) - before) * 1000 / TASKS)
    return found


def main(way: str, folder: str) -> float:
    if way == "bare":
        return best(lambda: os.waitpid(os.posix_spawn("/bin/true", ["true"], {}, setsid=True), 0))
    if way != "sandbox":
        return as_keeper(Path(folder), ACCOUNTS.get(way), None)
    if os.geteuid() == 0:
        os.setgroups(())
        os.setresgid(NO_RIGHTS, NO_RIGHTS, NO_RIGHTS)
        os.setresuid(NO_RIGHTS, NO_RIGHTS, NO_RIGHTS)
    return as_keeper(Path(folder), None, Sandbox((folder, "/root", "/home"), ()))


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
