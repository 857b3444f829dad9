"""Both versions of cgroups, on trees of plain files."""

from pathlib import Path

import pytest

from rota.backends.process.cgroups import Cgroups, Group, find_cgroups
from rota.model.resources import Resources

LIMITS = Resources(cpu_milli=1500, memory_bytes=1 << 30)


def settings_of(cgroups: Cgroups, *names: str) -> dict[str, str]:
    """What is written for a task, where the kernel has these files."""
    (base,) = {Path(path).parent for path in cgroups.make("probe", LIMITS).paths}  # type: ignore[union-attr]
    group = base / "task"
    group.mkdir()
    for name in names:
        (group / name).touch()
    cgroups.make("task", LIMITS)
    return {name: (group / name).read_text() for name in names}


def mountinfo(*mounts: tuple[Path, str, str]) -> str:
    return "\n".join(f"31 23 0:28 / {path} rw - {kind} {kind} {options}" for path, kind, options in mounts)


def unified(tmp_path: Path, group: str) -> str:
    (tmp_path / group / "inner").mkdir(parents=True)
    return mountinfo((tmp_path, "cgroup2", "rw"))


def test_one_hierarchy_for_each(tmp_path: Path) -> None:
    for name in ("cpu", "memory/mine"):
        (tmp_path / name).mkdir(parents=True)
    mounts = mountinfo((tmp_path / "cpu", "cgroup", "rw,cpu"), (tmp_path / "memory", "cgroup", "rw,memory"))
    cgroups = find_cgroups("rota", mountinfo=mounts, own="2:memory:/mine\n1:cpu:/\n")
    group = cgroups.make("task", LIMITS)
    assert group is not None
    assert group.paths == (f"{tmp_path}/cpu/rota/task", f"{tmp_path}/memory/mine/rota/task")
    assert cgroups.lacking == ()


def test_limits_of_version_1(tmp_path: Path) -> None:
    mounts = mountinfo((tmp_path, "cgroup", "rw,cpu,memory"))
    cgroups = find_cgroups("rota", mountinfo=mounts, own="1:cpu,memory:/\n")
    assert settings_of(
        cgroups,
        "cpu.cfs_period_us",
        "cpu.cfs_quota_us",
        "memory.limit_in_bytes",
        "memory.memsw.limit_in_bytes",
    ) == {
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "150000",
        "memory.limit_in_bytes": str(1 << 30),
        "memory.memsw.limit_in_bytes": str(1 << 30),
    }


def test_limits_of_version_2(tmp_path: Path) -> None:
    cgroups = Cgroups([tmp_path], 2, ())
    assert settings_of(cgroups, "cpu.max", "memory.max", "memory.swap.max") == {
        "cpu.max": "150000 100000",
        "memory.max": str(1 << 30),
        "memory.swap.max": "0",
    }


def test_a_host_that_hands_no_controllers_on_says_so(tmp_path: Path) -> None:
    cgroups = find_cgroups("rota", mountinfo=unified(tmp_path, "own"), own="0::/own\n")
    assert cgroups.make("task", LIMITS) is None
    assert "Delegate=yes" in cgroups.lacking[0]


def test_no_cgroups_at_all() -> None:
    cgroups = find_cgroups("rota", mountinfo="", own="")
    assert cgroups.make("task", LIMITS) is None
    assert cgroups.lacking == ("no cpu and memory limits: cgroups aren't mounted",)


def test_tasks_without_limits_need_no_group(tmp_path: Path) -> None:
    assert Cgroups([tmp_path], 1, ()).make("task", Resources()) is None


@pytest.mark.parametrize("file", ["memory.oom_control", "memory.events"])
def test_running_out_of_memory_is_seen_in_the_counters(tmp_path: Path, file: str) -> None:
    group = Group([str(tmp_path)])
    assert not group.ran_out_of_memory()
    (tmp_path / file).write_text("under_oom 0\noom_kill 0\n")
    assert not group.ran_out_of_memory()
    (tmp_path / file).write_text("under_oom 0\noom_kill 2\n")
    assert group.ran_out_of_memory()
