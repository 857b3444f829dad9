"""Every object of manifests in the shapes of public examples is planned, refused by the field that is wrong,
or named as one of which no pods are known."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from rota.engine.decide import decide
from rota.intake.documents.document import parse_documents
from rota.intake.kubernetes import ClusterObjects, Reading
from rota.model.policy import Policy
from rota.snapshot import snapshot_of
from tests.builders import PLUGINS
from tests.words import NOW_MS

pytestmark = pytest.mark.covers("kube-3")

FOLDER = Path(__file__).parents[3] / "data" / "kubernetes" / "manifests"
FILES = sorted(FOLDER.glob("*.yaml"))
NODES = "\n---\n".join(
    f"""
apiVersion: v1
kind: Node
metadata:
  name: {name}
  labels:
    {{kubernetes.io/hostname: {name}, kubernetes.io/os: linux, topology.kubernetes.io/zone: {zone}, {more}}}
status: {{allocatable: {{cpu: 16, memory: 64Gi, pods: 110, ephemeral-storage: 100Gi, {devices}}}}}
"""
    for name, zone, more, devices in (
        ("n1", "a", "disktype: ssd", "hugepages-2Mi: 1Gi"),
        ("n2", "b", "example.org/accelerator: large", "nvidia.com/gpu: 4"),
        ("n3", "c", "disktype: hdd", "example.org/other: 1"),
    )
)


def expected(file: Path, what: str) -> list[str]:
    return re.findall(rf"^# {what}: (.*)$", file.read_text(), re.MULTILINE)


def read(file: Path) -> Reading:
    documents = [
        *parse_documents(NODES.encode(), "nodes.yaml"),
        *parse_documents(file.read_bytes(), file.name),
    ]
    objects = ClusterObjects(documents)
    return objects.read(objects.nodes)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_becomes_of_each(file: Path) -> None:
    reading = read(file)
    tasks = Counter(
        {record.job.id: record.job.template.task_count for record in reading.records.jobs}
    ).total()
    assert [str(tasks)] == expected(file, "pods")
    faults = [str(fault) for fault in reading.faults]
    for field in expected(file, "refused"):
        assert any(f"{field}:" in fault or f"{field} " in fault for fault in faults), (field, faults)
    assert len(faults) == len(expected(file, "refused")), faults
    told = " ".join(map(str, reading.notes))
    for kind in (kind for line in expected(file, "noted") for kind in line.split(", ")):
        assert kind in told, (kind, told)
    assert not reading.incomplete


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_is_planned_starts_or_says_why_not(file: Path) -> None:
    records = read(file).records
    policy = Policy()
    plan = decide(snapshot_of(records, policy.defaults), policy, NOW_MS, PLUGINS)
    placed = {binding.job for binding in plan.bindings}
    waiting = {job: one.verdict for one in plan.waiting for job in one.jobs}
    for record in records.jobs:
        assert record.job.id in placed or waiting[record.job.id].refusals
