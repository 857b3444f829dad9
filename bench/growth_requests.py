"""What comes in, with many of something: submissions, pods, manifests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from bench.growth_clusters import (
    ASKED,
    NOW_MS,
    ONE,
    PLUGINS,
    Action,
    busy,
    deciding,
    explaining,
    nodes,
    template,
)
from rota.api.people import Role
from rota.control.access import Who
from rota.control.draft import Draft
from rota.control.memory import Memory
from rota.control.submission import submit
from rota.engine import decide
from rota.intake.documents.document import document_of
from rota.intake.kubernetes import records_from_manifests
from rota.intake.submissions import expand, read_submission
from rota.kube.mirror.gangs import read_gang
from rota.kube_objects.pods import DEFAULT_GANG_KEYS, PodState, PodTask
from rota.model.cluster import ClusterRecords
from rota.model.ids import NodeName, TaskName
from rota.model.job import (
    JobRecord,
    TaskGroup,
)
from rota.model.policy import (
    Policy,
)
from rota.model.task import TaskSpec
from rota.snapshot import snapshot_of


def _submitting(jobs: list[dict[str, Any]]) -> Action:
    body = json.dumps({"jobs": [{"command": ["true"], **job} for job in jobs]}).encode()

    def call() -> object:
        submission = read_submission(body, "p", "u")
        draft, jobs = Draft(Memory(Policy()), 0, lambda: 0.5), expand(submission, 1)
        return list(submit(draft, submission, jobs, {}, Who("u", Role.ADMIN)))

    return call


def of_a_request() -> dict[str, Callable[[int], Action]]:
    return {
        "jobs": lambda n: _submitting([{"name": f"j{at}"} for at in range(n)]),
        "jobs that all differ": lambda n: _submitting(
            [{"resources": {"cpu": f"{at + 1}m"}} for at in range(n)]
        ),
        "elements of an array": lambda n: _submitting([{"array": n}]),
        "elements that wait for 4": lambda n: _submitting(
            [
                *({"name": f"f{at}"} for at in range(4)),
                {"array": n, "depends_on": [f"f{at}" for at in range(4)]},
            ]
        ),
        "jobs, each waiting for the one before": lambda n: _submitting(
            [{"name": f"j{at}", **({"depends_on": [f"j{at - 1}"]} if at else {})} for at in range(n)]
        ),
    }


def _pod(at: int, is_running: bool = False) -> PodTask:
    spec = TaskSpec(ONE, labels=(("batch.kubernetes.io/job-completion-index", str(at)),))
    return PodTask(
        TaskName(f"ns/pod-{at:05}"),
        PodState.RUNNING if is_running else PodState.WAITING,
        template(TaskGroup(spec), namespace="ns"),
        NOW_MS,
        NodeName(f"n{at // 64:05}") if is_running else NodeName(""),
        NOW_MS if is_running else 0,
        "gang",
    )


def _gang(count: int, is_running: bool = False) -> JobRecord:
    record = read_gang(ASKED, [_pod(at, is_running) for at in range(count)], DEFAULT_GANG_KEYS).record
    assert record is not None
    return record


def _manifest(at: int) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    labels = {DEFAULT_GANG_KEYS.label: "g", "batch.kubernetes.io/job-completion-index": str(at)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{at:05}", "namespace": "ns", "labels": labels},
        "spec": {"containers": [container]},
    }


def of_kubernetes() -> dict[str, Callable[[int], Action]]:
    def reading(count: int) -> Action:
        documents = [document_of(_manifest(at)) for at in range(count)]
        return lambda: records_from_manifests(documents)

    def gathering(count: int) -> Action:
        pods = [_pod(at) for at in range(count)]
        return lambda: read_gang(ASKED, pods, DEFAULT_GANG_KEYS)

    def in_vain(count: int) -> ClusterRecords:
        return ClusterRecords(nodes(max(1, count // 64)), jobs=(_gang(count), *busy(16)))

    def going(count: int) -> Action:
        records = ClusterRecords(nodes(count // 64 + 1), jobs=(_gang(count, is_running=True),))

        def call() -> object:
            return decide(snapshot_of(records), Policy(), NOW_MS, PLUGINS)

        return call

    return {
        "manifests of a gang's pods": reading,
        "pods of a gang, read": gathering,
        "pods of a gang, which starts": lambda n: deciding(
            ClusterRecords(nodes(n // 64 + 1), jobs=(_gang(n),))
        ),
        "pods of a gang, which doesn't fit": lambda n: deciding(in_vain(n)),
        "pods of a gang, and why not": lambda n: explaining(in_vain(n)),
        "pods of a gang, which runs": going,
    }
