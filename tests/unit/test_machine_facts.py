"""Which nodes have a folder: by the machine, or by the file system that it is on."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.machine_facts import MOST_MOUNTS, SHARED, folder_label, machine_id, node_labels, read_mounts
from rota.model.node import MACHINE, MOUNT

DISK = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"
HOME = "40 21 0:50 / /home rw shared:7 - nfs4 nas:/export/home rw,vers=4.2"
SCRATCH = "41 21 0:51 / /scratch rw - lustre 10.0.0.1@tcp:/scratch rw"
ON_DEMAND = "50 21 0:60 / /net rw - autofs /etc/auto.net rw,fd=6"
MOUNTED = "51 50 0:61 / /net/ada rw - nfs4 nas:/export/ada rw"
PLAIN = "52 21 0:62 / /proc rw - proc proc rw"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    return tmp_path


def mounted(root: Path, *lines: str) -> Path:
    (root / "proc" / "self").mkdir(parents=True, exist_ok=True)
    (root / "proc" / "self" / "mountinfo").write_text("".join(f"{line}\n" for line in lines))
    return root


def test_a_folder_on_a_disk_is_on_this_machine_alone(root: Path) -> None:
    mounted(root, DISK, HOME, PLAIN)
    assert folder_label("/var/tmp/x", root) == (MACHINE, machine_id(root))
    assert node_labels(root)[MACHINE] == machine_id(root)


@pytest.mark.covers("first-1")
def test_a_folder_of_the_network_is_on_all_that_have_it_mounted(root: Path, tmp_path: Path) -> None:
    key, value = folder_label("/home/ada/project", mounted(root, DISK, HOME, SCRATCH))
    assert (key.startswith(MOUNT), value) == (True, SHARED)
    other = tmp_path / "other"
    other.mkdir()
    assert key in node_labels(mounted(other, DISK, HOME))
    assert key not in node_labels(mounted(other, DISK, SCRATCH))
    elsewhere = HOME.replace(" /home ", " /users ")
    assert key not in node_labels(mounted(other, DISK, elsewhere))
    assert folder_label("/homestead", root)[0] == MACHINE


def test_what_is_mounted_on_demand_is_known_by_where_that_happens(root: Path) -> None:
    without = node_labels(mounted(root, DISK, ON_DEMAND))
    while_mounted = node_labels(mounted(root, DISK, ON_DEMAND, MOUNTED))
    assert without == while_mounted
    assert folder_label("/net/ada/x", root)[0] in without


def test_the_last_of_several_mounts_on_a_folder_counts(root: Path) -> None:
    hidden = "60 21 0:70 / /home rw - tmpfs tmpfs rw"
    assert folder_label("/home/ada", mounted(root, DISK, HOME, hidden))[0] == MACHINE


def test_names_with_spaces(root: Path) -> None:
    [mount] = read_mounts(mounted(root, r"40 21 0:50 / /my\040home rw - cifs //nas/my\040home rw"))
    assert (mount.folder, mount.source) == ("/my home", "//nas/my home")
    assert folder_label("/my home/x", root)[0].startswith(MOUNT)


def test_a_machine_is_told_by_its_id_and_its_root(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "container"
    (other / "etc").mkdir(parents=True)
    (other / "etc" / "machine-id").write_text((root / "etc" / "machine-id").read_text())
    assert machine_id(root) == machine_id(root)
    assert machine_id(other) != machine_id(root), "a container of the same image isn't the machine"
    assert "0123456789abcdef" not in machine_id(root)


def test_without_an_id_it_is_the_machine_until_it_is_booted_again(tmp_path: Path) -> None:
    boot = tmp_path / "proc" / "sys" / "kernel" / "random" / "boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("one\n")
    before = machine_id(tmp_path)
    boot.write_text("two\n")
    assert machine_id(tmp_path) != before


def test_labels_of_very_many_mounts_are_few(root: Path) -> None:
    lines = [f"{100 + n} 21 0:{n} / /d{n} rw - nfs nas:/d{n} rw" for n in range(3 * MOST_MOUNTS)]
    assert len(node_labels(mounted(root, DISK, *lines))) == 1 + MOST_MOUNTS


def test_where_the_system_says_nothing_of_mounts(tmp_path: Path) -> None:
    assert folder_label("/home/ada", tmp_path) == (MACHINE, machine_id(tmp_path))
