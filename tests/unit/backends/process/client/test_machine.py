"""How much of this machine may be used."""

import os
from pathlib import Path

from rota.backends.process.client.machine import (
    load_milli,
    this_machine,
    usable_cpu_milli,
    usable_memory_bytes,
)
from rota.model.ids import NodeName
from rota.model.node import Gpus


def test_the_tightest_quota_counts(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "cpu.max").write_text("max 100000\n")
    (inner.parent / "cpu.max").write_text("50000 100000\n")
    assert usable_cpu_milli(tmp_path, "0::/outer/inner\n") == 500


def test_quotas_of_version_1(tmp_path: Path) -> None:
    group = tmp_path / "cpu" / "mine"
    group.mkdir(parents=True)
    (group / "cpu.cfs_quota_us").write_text("25000\n")
    (group / "cpu.cfs_period_us").write_text("100000\n")
    (group.parent / "cpu.cfs_quota_us").write_text("-1\n")
    assert usable_cpu_milli(tmp_path, "1:cpu:/mine\n") == 250


def test_memory_is_what_the_group_may_use(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "memory.max").write_text("1048576\n")
    assert usable_memory_bytes(tmp_path, "0::/mine\n") == 1 << 20


def test_without_quotas_all_of_it_may_be_used(tmp_path: Path) -> None:
    assert usable_cpu_milli(tmp_path, "") == 1000 * len(os.sched_getaffinity(0))
    assert usable_memory_bytes(tmp_path, "") > 1 << 20


def test_load_is_measured_against_the_cpus() -> None:
    assert load_milli("1.00 0.5 0.5 1/100 1", 2000) == 500
    assert load_milli("9.00 0.5 0.5 1/100 1", 2000) == 1000


def test_this_machine_is_one_node(tmp_path: Path) -> None:
    node = this_machine(NodeName("me"), "local", tmp_path, Gpus(2, "A100"))
    assert (node.name, node.spec.backend, node.spec.gpus) == ("me", "local", Gpus(2, "A100"))
    assert dict(node.spec.labels)["host"] == "me"
    assert node.spec.capacity.storage_bytes > 0
