"""How much of the disk running tasks take: their rooms are walked through, one at a time, aside.

It finds accidents, and it finds them late: between two looks a task can write what it likes. Against somebody
who means it, only a quota of the file system helps: what can't be read, lies very deep, or is deleted and
still open isn't seen. See docs/process-backend.md.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import monotonic

from rota.backends.process.keeper.files.rooms import Room
from rota.backends.process.keeper.processes.kernel import Aside
from rota.backends.process.keeper.processes.side_work import SideWork
from rota.backends.process.keeper.task import KeptTask, Stage
from rota.launch.account import acting_as
from rota.model.quantities import format_bytes

PAUSE_MS = 10_000
"""Between two looks at a task, at least."""
_PAUSE_BY_COST = 20
"""And this many times as long as the last look took: whatever a task has made, looking at it takes a
twentieth of one cpu at most."""
_BREATH_MS = 100
"""Between looks at any two: each is a process of its own."""
_MOST_S = 60.0
"""Then what was found by then counts."""
_MOST_DEPTH = 256
"""Each folder on the way down is open meanwhile."""
_MOST_LINKED = 1_000_000
_BLOCK_BYTES = 512
"""As stat(2) counts."""
_LOWEST_PRIORITY = 19
_DOWN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Measuring:
    def __init__(self, side_work: SideWork, most_bytes: int, ends: Callable[[KeptTask, str], None]) -> None:
        """`most_bytes`: of tasks that have no limit of their own; 0: no limit. `ends`: is told of tasks that
        take more, and why."""
        self._side_work = side_work
        self._most_bytes = most_bytes
        self._ends = ends
        self._is_looking = False
        self._pauses_ms: dict[KeptTask, int] = {}
        """When each may be looked at again, on the clock since boot. Those that are gone are forgotten."""
        self._not_before_ms = 0

    def due_ms(self, running: Iterable[KeptTask]) -> int | None:
        """When somebody is to be looked at next, on the clock since boot; None: nobody has a limit, or it is
        being done."""
        if self._is_looking:
            return None
        dues = [self._due_of(task) for task in running if self._limit_of(task)]
        return max(min(dues), self._not_before_ms) if dues else None

    def look(self, running: Iterable[KeptTask], now_ms: int) -> None:
        """At whoever is due first."""
        if self._is_looking:
            return
        held = [task for task in running if self._limit_of(task)]
        self._pauses_ms = {task: self._due_of(task) for task in held}
        task = min(held, key=self._pauses_ms.__getitem__, default=None)
        if task is None or max(self._pauses_ms[task], self._not_before_ms) > now_ms:
            return
        assert task.room is not None
        self._is_looking = True
        self._side_work.begin(
            partial(_measured, task.room, self._limit_of(task)), partial(self._looked, task, now_ms)
        )

    def _due_of(self, task: KeptTask) -> int:
        first_ms = PAUSE_MS + (0 if task.began is None else task.began.since_boot_ms)
        return self._pauses_ms.get(task, first_ms)

    def _limit_of(self, task: KeptTask) -> int:
        """0: it has none, or doesn't run."""
        if task.stage is not Stage.RUNNING or task.told_to is not None or task.room is None:
            return 0
        return task.start.limits.storage_bytes or self._most_bytes

    def _looked(self, task: KeptTask, began_ms: int, aside: Aside) -> None:
        self._is_looking = False
        limit_bytes = self._limit_of(task)
        # A look that failed is taken for one that found nothing: the next one may do better.
        taken_bytes, took_ms = map(int, aside.text.split()) if aside.text else (0, PAUSE_MS)
        self._not_before_ms = began_ms + took_ms + _BREATH_MS
        self._pauses_ms[task] = began_ms + took_ms + max(PAUSE_MS, _PAUSE_BY_COST * took_ms)
        if limit_bytes and taken_bytes > limit_bytes:
            self._ends(
                task,
                f"its files took more than {format_bytes(limit_bytes)}; a job that needs more says so with "
                "resources.storage",
            )


def _measured(room: Room, enough_bytes: int) -> str:
    os.nice(_LOWEST_PRIORITY)
    began = monotonic()
    with acting_as(room.account):
        taken_bytes = taken_by((str(room.work), str(room.tmp)), enough_bytes, began + _MOST_S)
    return f"{taken_bytes} {int((monotonic() - began) * 1000)}"


def taken_by(folders: Iterable[str], enough_bytes: int, until: float) -> int:
    """On the disk, with holes left out and each file counted once. No more is counted than is enough, nor for
    longer. Follows no links, and stays on the disk that it began on."""
    taken_bytes, linked = 0, set[tuple[int, int]]()
    for look in _all_below(folders):
        if not stat.S_ISDIR(look.st_mode) and look.st_nlink > 1:
            which = (look.st_dev, look.st_ino)
            if which in linked:
                continue
            if len(linked) < _MOST_LINKED:
                linked.add(which)
        taken_bytes += look.st_blocks * _BLOCK_BYTES
        if taken_bytes > enough_bytes or monotonic() > until:
            break
    return taken_bytes


def _all_below(folders: Iterable[str]) -> Iterator[os.stat_result]:
    for folder in folders:
        try:
            root = os.open(folder, _DOWN)
        except OSError:
            continue
        open_folders = [(root, _names(root))]
        disk = os.fstat(root).st_dev
        try:
            while open_folders:
                current, names = open_folders[-1]
                name = next(names, None)
                if name is None:
                    os.close(open_folders.pop()[0])
                    continue
                try:
                    look = os.stat(name, dir_fd=current, follow_symlinks=False)
                except OSError:
                    continue  # It is gone meanwhile.
                if look.st_dev != disk:
                    continue
                yield look
                if stat.S_ISDIR(look.st_mode) and len(open_folders) < _MOST_DEPTH:
                    try:
                        below = os.open(name, _DOWN, dir_fd=current)
                    except OSError:
                        continue
                    open_folders.append((below, _names(below)))
        finally:
            for opened, _ in open_folders:
                os.close(opened)


def _names(folder: int) -> Iterator[str]:
    """As they are read: a folder may have millions."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                yield entry.name
    except OSError:
        return
