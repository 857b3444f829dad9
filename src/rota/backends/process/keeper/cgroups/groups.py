"""Puts each task into a group of its own, where the host allows it.

A group holds a task to its limits of memory, cpu and processes, and knows all processes of the task, whatever
became of their parents and environments. Groups are made inside of the group that the keeper is in, so that
whatever limits the keeper limits them as well. Both versions are spoken: one unified hierarchy (2), or one
for each controller (1).

A task that runs under another account than the keeper can't leave its group, nor change it: the files are the
keeper's. One that runs under the same account can.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from rota.backends.process.keeper.cgroups.kernel_files import read_all, read_file, write_file, write_to
from rota.backends.process.options import MOST_PROCESSES
from rota.model.resources import Resources

_PERIOD_US = 100_000
_LEAST_QUOTA_US = 1_000
_MOST_FREE = 32
_MOST_OPEN = 32
"""Groups whose files stay open: each has six, and a process may have a thousand or so."""
_CLEAN_BYTES = 2 << 20
"""A group with more than that in its books still pays for files that its last task wrote."""

_PROCESSES = ("pids.current",)
_KILLS = ("memory.oom_control", "memory.events")
_PEAK = ("memory.max_usage_in_bytes", "memory.peak")
_USAGE = ("memory.usage_in_bytes",)
_WAYS = {"cgroup.procs": os.O_WRONLY, "memory.max_usage_in_bytes": os.O_RDWR}

_Settings = tuple[tuple[str, str], ...]


class Wanted(Struct, frozen=True):
    """What the group of a task is to hold it to."""

    limits: Resources = Resources()
    """Of cpu and memory; 0: none."""
    cpu_share_milli: int = 0
    """Its share where the cpus are too few for all; 0: as if it had asked for one cpu."""


class Group:
    """Of one task: a folder in each hierarchy."""

    def __init__(
        self, paths: Sequence[str], settings: _Settings | None = None, *, keeps_open: bool = False
    ) -> None:
        """`settings`: None if another keeper made it. `keeps_open`: its files are opened once; to open one
        takes longer than to read it."""
        self.paths = tuple(paths)
        self.settings = settings
        self.keeps_open = keeps_open
        self.is_closed = False
        """No process can be started in it any more."""
        self._files: dict[str, int] = {}
        self._places: dict[Sequence[str], str] = {}

    def pids(self) -> set[int]:
        if self._read_first(_PROCESSES).strip() == "0":
            return set()
        found: set[int] = set()
        for path in self.paths:
            # Opened anew each time: version 1 says the same again to who has it open.
            with suppress(OSError):
                found.update(map(int, read_file(f"{path}/cgroup.procs").split()))
        return found

    def take_in(self, pid: int) -> None:
        """A child of ours, and what it has started meanwhile. Raises OSError."""
        waiting, seen = [pid], {pid}
        while waiting:
            one = waiting.pop()
            # One that is gone needs no group.
            with suppress(ProcessLookupError):
                for path in self.paths:
                    self._write(f"{path}/cgroup.procs", str(one))
            # What it starts from now on is in the group. What it has started before isn't.
            with suppress(OSError):
                new = set(map(int, read_file(f"/proc/{one}/task/{one}/children").split())) - seen
                seen |= new
                waiting += new

    def close(self) -> None:
        """Kills all of it in one go where the kernel can. Elsewhere nothing new starts in it, so that whoever
        kills its processes one by one comes to an end."""
        self.is_closed = True
        for path in self.paths:
            for name, value in (("cgroup.kill", "1"), ("pids.max", "0")):
                with suppress(OSError):
                    write_file(f"{path}/{name}", value)

    def ran_out_of_memory(self) -> bool:
        for line in self._read_first(_KILLS).splitlines():
            key, _, value = line.partition(" ")
            if key == "oom_kill":
                return int(value) > 0
        return False

    def max_memory_bytes(self) -> int | None:
        """None: the host doesn't count it."""
        counted = self._read_first(_PEAK)
        return int(counted) if counted else None

    def can_be_used_again(self) -> bool:
        """As if nobody had been in it. Only version 1 can forget how much memory was used."""
        used = self._read_first(_USAGE)
        if self.is_closed or not used or int(used) > _CLEAN_BYTES or self.pids():
            return False
        try:
            self._write(self._places[_PEAK], "0")
        except (OSError, KeyError):
            return False
        return True

    def remove(self) -> None:
        """Once all its processes are gone."""
        self._let_go()
        for path in self.paths:
            with suppress(OSError):
                os.rmdir(path)

    def _read_first(self, names: Sequence[str]) -> str:
        """The one of these files that there is, in whichever hierarchy. Empty: there is none."""
        if (place := self._places.get(names)) is not None:
            try:
                return self._read(place)
            except OSError:
                return ""
        for path in self.paths:
            for name in names:
                with suppress(OSError):
                    text = self._read(f"{path}/{name}")
                    self._places[names] = f"{path}/{name}"
                    return text
        return ""

    def _read(self, path: str) -> str:
        try:
            return read_all(self._open(path))
        finally:
            if not self.keeps_open:
                self._let_go()

    def _write(self, path: str, value: str) -> None:
        try:
            write_to(self._open(path), path, value)
        finally:
            if not self.keeps_open:
                self._let_go()

    def _open(self, path: str) -> int:
        file = self._files.get(path)
        if file is None:
            how = _WAYS.get(path.rpartition("/")[2], os.O_RDONLY)
            file = self._files[path] = os.open(path, how | os.O_CLOEXEC)
        return file

    def _let_go(self) -> None:
        for file in self._files.values():
            os.close(file)
        self._files.clear()


class Cgroups:
    def __init__(
        self,
        bases: Sequence[Path],
        version: int,
        lacking: Sequence[str],
        most_processes: int = MOST_PROCESSES,
    ) -> None:
        """`most_processes`: of one task, threads counted; 0: no limit."""
        self._bases = tuple(map(str, bases))
        self._version = version
        self.lacking = tuple(lacking)
        """What this host can't do, and why."""
        self._most_processes = most_processes
        self._free: list[Group] = []
        self._open = 0
        self._latest = 0

    def take(self, wanted: Wanted) -> Group | None:
        """None: the host has none. Raises OSError."""
        if not self._bases:
            return None
        settings = _settings(self._version, wanted, self._most_processes)
        for at in reversed(range(len(self._free))):
            if self._free[at].settings == settings:
                return self._free.pop(at)
        group = self._new(settings)
        try:
            for path in group.paths:
                for file, value in settings:
                    with suppress(FileNotFoundError):
                        write_file(f"{path}/{file}", value)
        except OSError:
            self._remove(group)
            raise
        return group

    def _new(self, settings: _Settings) -> Group:
        while True:
            self._latest += 1
            paths = [f"{base}/{self._latest}" for base in self._bases]
            group = Group(paths, settings, keeps_open=self._open < _MOST_OPEN)
            made = []
            try:
                for path in group.paths:
                    os.mkdir(path)
                    made.append(path)
            except FileExistsError:
                # Another keeper made it, and its task still runs.
                Group(made).remove()
            except OSError:
                Group(made).remove()
                raise
            else:
                self._open += group.keeps_open
                return group

    def give_back(self, group: Group, *, ran_out_of_memory: bool = False) -> None:
        """Once all its processes are gone."""
        if ran_out_of_memory or group.settings is None or not group.can_be_used_again():
            self._remove(group)
            return
        self._free.append(group)
        if len(self._free) > _MOST_FREE:
            self._remove(self._free.pop(0))

    def _remove(self, group: Group) -> None:
        self._open -= group.keeps_open
        group.remove()

    def remove_empty(self) -> None:
        """Groups that another keeper left behind; those with processes in them stay."""
        for base in self._bases:
            for group in Path(base).iterdir():
                if group.is_dir():
                    Group([str(group)]).remove()

    def remove(self) -> None:
        for group in self._free:
            self._remove(group)
        self._free.clear()
        for base in self._bases:
            with suppress(OSError):
                os.rmdir(base)


def _settings(version: int, wanted: Wanted, most_processes: int) -> _Settings:
    """Files that a hierarchy doesn't have are left out by the caller."""
    settings: list[tuple[str, str]] = []
    limits = wanted.limits
    if most_processes:
        settings += [("pids.max", str(most_processes))]
    if wanted.cpu_share_milli:
        # One cpu: what the kernel gives a group of which nothing is said.
        if version == 1:
            settings += [("cpu.shares", str(max(2, wanted.cpu_share_milli * 1024 // 1000)))]
        else:
            settings += [("cpu.weight", str(min(10_000, max(1, wanted.cpu_share_milli // 10))))]
    if limits.cpu_milli:
        quota_us = max(_LEAST_QUOTA_US, limits.cpu_milli * _PERIOD_US // 1000)
        if version == 1:
            settings += [("cpu.cfs_period_us", str(_PERIOD_US)), ("cpu.cfs_quota_us", str(quota_us))]
        else:
            settings += [("cpu.max", f"{quota_us} {_PERIOD_US}")]
    if limits.memory_bytes:
        memory = str(limits.memory_bytes)
        if version == 1:
            settings += [("memory.limit_in_bytes", memory), ("memory.memsw.limit_in_bytes", memory)]
        else:
            settings += [("memory.max", memory), ("memory.swap.max", "0")]
    return tuple(settings)
