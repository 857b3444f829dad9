"""A cluster that doesn't answer is left out, and what ran there is neither lost nor started again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec import json

from rota.backends.backend import InputPiece, LogQuery, TaskEnded
from rota.backends.kubernetes.backend import KubernetesBackend
from rota.backends.kubernetes.pod_calls import PodCalls
from rota.backends.kubernetes.terms import Terms
from rota.backends.process.folders import Folders
from rota.kube.api.access import ClusterAccess
from rota.kube.api.client import Client
from rota.kube.api.credentials import Credentials, FixedCredentials
from rota.lifecycle.state import EndReason
from rota.model.ids import JobId, NodeName
from tests.unit.backends.kubernetes.starts import OPTIONS, ref, start

pytestmark = pytest.mark.covers("back-3", "job-3", "job-6")

NOBODY = "http://127.0.0.1:1"


def backend_of(folder: Path) -> KubernetesBackend:
    client = Client(ClusterAccess(NOBODY, FixedCredentials(Credentials("t"))))
    terms = Terms(sync_within_ms=50)
    return KubernetesBackend(
        PodCalls(client, "jobs", OPTIONS), Folders(folder), Folders(folder / "in"), terms=terms
    )


async def test_it_opens_all_the_same_and_says_what_is_wrong(tmp_path: Path) -> None:
    backend = backend_of(tmp_path)
    await backend.open()
    try:
        assert await backend.nodes() == []
        assert await backend.node(NodeName("n1")) is None
        health = await backend.health()
        assert not health.healthy
        assert "doesn't answer" in health.message
    finally:
        await backend.close()


async def test_what_may_run_on_its_nodes_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_bytes(json.encode(["n1"]))
    backend = backend_of(tmp_path)
    await backend.open()
    try:
        here, elsewhere = ref("1"), ref("2")
        taken = await backend.take_up([(here, NodeName("n1")), (elsewhere, NodeName("n2"))])
        assert taken == [here]
        assert await backend.running() == [here]
        assert await backend.take_up([(here, NodeName("n1"))]) == [here]
        await backend.settle([here])
        assert await backend.running() == [here], "it hasn't ended, as far as anybody knows"
    finally:
        await backend.close()


async def test_what_nobody_knows_is_lost_and_never_started(tmp_path: Path) -> None:
    backend = backend_of(tmp_path)
    await backend.open()
    try:
        await backend.take_up([])
        await backend.stop([ref()])
        async with asyncio.timeout(10):
            [report] = await anext(backend.reports())
        assert isinstance(report, TaskEnded)
        assert report.end.reason is EndReason.LOST
        await backend.start([start()])
        assert not (await backend.feed(ref(), InputPiece(0))).is_open
        await backend.settle([ref()])
        assert await backend.running() == []
        assert [chunk async for chunk in backend.logs(LogQuery(JobId("12"), follow=True))] == []
    finally:
        await backend.close()
