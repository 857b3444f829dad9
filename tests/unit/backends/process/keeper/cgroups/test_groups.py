"""Both versions of cgroups, on trees of plain files."""

import os
from pathlib import Path

import pytest

from rota.backends.process.keeper.cgroups.finding import find_cgroups
from rota.backends.process.keeper.cgroups.groups import Cgroups, Group, Wanted
from rota.model.resources import Resources

WANTED = Wanted(Resources(cpu_milli=1500, memory_bytes=1 << 30), cpu_share_milli=500)


def settings_of(
    monkeypatch: pytest.MonkeyPatch, cgroups: Cgroups, wanted: Wanted, *names: str
) -> dict[str, str]:
    """What is written for a task, where the kernel has these files."""
    mkdir = os.mkdir

    def with_files(path: str) -> None:
        mkdir(path)
        for name in names:
            Path(path, name).touch()

    monkeypatch.setattr(os, "mkdir", with_files)
    group = cgroups.take(wanted)
    assert group is not None
    (path,) = group.paths
    return {name: Path(path, name).read_text() for name in names}


def mountinfo(*mounts: tuple[Path, str, str]) -> str:
    return "\n".join(f"31 23 0:28 / {path} rw - {kind} {kind} {options}" for path, kind, options in mounts)


def unified(tmp_path: Path, group: str, controllers: str) -> str:
    """The kernel's files in a group of version 2, and in the one that is to be made beside it."""
    for folder in (tmp_path, tmp_path / "rota"):
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.controllers").write_text(controllers)
        (folder / "cgroup.subtree_control").touch()
    (tmp_path / group).mkdir()
    return mountinfo((tmp_path, "cgroup2", "rw"))


def test_each_controller_of_version_1_has_its_own_hierarchy(tmp_path: Path) -> None:
    for name in ("cpu", "memory/mine", "pids"):
        (tmp_path / name).mkdir(parents=True)
    mounts = mountinfo(
        (tmp_path / "cpu", "cgroup", "rw,cpu"),
        (tmp_path / "memory", "cgroup", "rw,memory"),
        (tmp_path / "pids", "cgroup", "rw,pids"),
    )
    cgroups = find_cgroups("rota", mountinfo=mounts, own="3:pids:/\n2:memory:/mine\n1:cpu:/\n")
    group = cgroups.take(WANTED)
    assert group is not None
    assert group.paths == (
        f"{tmp_path}/memory/mine/rota/1",
        f"{tmp_path}/pids/rota/1",
        f"{tmp_path}/cpu/rota/1",
    )
    assert cgroups.lacking == ()


def test_limits_of_version_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {
        "cpu.shares": "512",
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "150000",
        "memory.limit_in_bytes": str(1 << 30),
        "memory.memsw.limit_in_bytes": str(1 << 30),
        "pids.max": "77",
    }
    assert settings_of(monkeypatch, Cgroups([tmp_path], 1, (), 77), WANTED, *expected) == expected


def test_limits_of_version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {
        "cpu.weight": "50",
        "cpu.max": "150000 100000",
        "memory.max": str(1 << 30),
        "memory.swap.max": "0",
        "pids.max": "77",
    }
    assert settings_of(monkeypatch, Cgroups([tmp_path], 2, (), 77), WANTED, *expected) == expected


@pytest.mark.parametrize("version", [1, 2])
def test_who_asked_for_nothing_has_no_limit_but_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    names = ("memory.limit_in_bytes", "memory.max", "cpu.cfs_quota_us", "cpu.max", "cpu.shares", "pids.max")
    written = settings_of(monkeypatch, Cgroups([tmp_path], version, (), 77), Wanted(), *names)
    assert {name: value for name, value in written.items() if value} == {"pids.max": "77"}


def test_a_host_without_one_of_the_controllers_says_so(tmp_path: Path) -> None:
    mounts = mountinfo((tmp_path, "cgroup", "rw,cpu,memory"))
    cgroups = find_cgroups("rota", mountinfo=mounts, own="1:cpu,memory:/\n")
    assert cgroups.take(WANTED) is not None
    assert cgroups.lacking == ("no limit of processes: the cgroup controller 'pids' isn't mounted",)


def test_of_version_2_the_controllers_are_used_that_there_are(tmp_path: Path) -> None:
    mounts = unified(tmp_path, "own", "memory pids io\n")
    cgroups = find_cgroups("rota", mountinfo=mounts, own="0::/own\n")
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert (tmp_path / "rota" / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert cgroups.lacking == (f"no cpu limits: {tmp_path} has no cgroup controller 'cpu'",)
    group = cgroups.take(WANTED)
    assert group is not None
    assert group.paths == (f"{tmp_path}/rota/1",)


def test_a_host_that_hands_no_controllers_on_says_so(tmp_path: Path) -> None:
    mounts = unified(tmp_path, "own", "\n")
    cgroups = find_cgroups("rota", mountinfo=mounts, own="0::/own\n")
    assert cgroups.take(WANTED) is None
    assert "Delegate=yes" in cgroups.lacking[0]


def test_no_cgroups_at_all() -> None:
    cgroups = find_cgroups("rota", mountinfo="", own="")
    assert cgroups.take(WANTED) is None
    assert cgroups.lacking == ("no limits of memory, processes and cpu: cgroups aren't mounted",)


def test_a_group_of_another_keepers_task_is_nobody_elses(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    group = Cgroups([tmp_path], 1, ()).take(WANTED)
    assert group is not None
    assert group.paths == (f"{tmp_path}/2",)


def used(group: Group, usage: str = "4096\n", inside: str = "") -> None:
    """The kernel's files, after a task."""
    (path,) = map(Path, group.paths)
    (path / "memory.usage_in_bytes").write_text(usage)
    (path / "memory.max_usage_in_bytes").write_text("4096000\n")
    (path / "cgroup.procs").write_text(inside)
    assert group.max_memory_bytes() == 4096000


def taken(cgroups: Cgroups, wanted: Wanted = WANTED) -> Group:
    group = cgroups.take(wanted)
    assert group is not None
    return group


def test_a_group_is_used_again_for_the_same_limits(tmp_path: Path) -> None:
    cgroups = Cgroups([tmp_path], 1, ())
    first = taken(cgroups)
    used(first)
    cgroups.give_back(first)
    assert taken(cgroups, Wanted()) is not first
    assert taken(cgroups) is first
    assert (Path(first.paths[0]) / "memory.max_usage_in_bytes").read_text().startswith("0")
    assert taken(cgroups) is not first


@pytest.mark.parametrize("why", ["out of memory", "closed", "not empty", "files in memory", "version 2"])
def test_a_group_that_is_not_as_new_is_not_used_again(tmp_path: Path, why: str) -> None:
    cgroups = Cgroups([tmp_path], 1, ())
    first = taken(cgroups)
    if why != "version 2":
        used(first, "50000000\n" if why == "files in memory" else "0\n", "1\n" if why == "not empty" else "")
    if why == "closed":
        first.close()
    cgroups.give_back(first, ran_out_of_memory=why == "out of memory")
    assert taken(cgroups) is not first


@pytest.mark.parametrize(("name", "written"), [("cgroup.kill", "1"), ("pids.max", "0")])
def test_nothing_can_be_started_in_a_closed_group(tmp_path: Path, name: str, written: str) -> None:
    (tmp_path / name).touch()
    Group([str(tmp_path)]).close()
    assert (tmp_path / name).read_text() == written


def test_few_groups_keep_their_files_open(tmp_path: Path) -> None:
    """A keeper has room for about a thousand files, and two of each task are its output."""
    cgroups = Cgroups([tmp_path], 1, ())
    before = len(os.listdir("/proc/self/fd"))
    groups = [taken(cgroups) for _ in range(100)]
    for group in groups:
        used(group)
        assert not group.pids()
    assert len(os.listdir("/proc/self/fd")) - before < 200
    for group in groups:
        cgroups.give_back(group)
    cgroups.remove()
    assert len(os.listdir("/proc/self/fd")) == before


def test_all_processes_are_read_however_many(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in range(100_000, 150_000)))
    assert Group([str(tmp_path)]).pids() == set(range(100_000, 150_000))


@pytest.mark.parametrize("file", ["memory.oom_control", "memory.events"])
def test_running_out_of_memory_is_seen_in_the_counters(tmp_path: Path, file: str) -> None:
    group = Group([str(tmp_path)])
    assert not group.ran_out_of_memory()
    (tmp_path / file).write_text("under_oom 0\noom_kill 0\n")
    assert not group.ran_out_of_memory()
    (tmp_path / file).write_text("under_oom 0\noom_kill 2\n")
    assert group.ran_out_of_memory()
