"""Services of a job: there before it, reached by name, and gone with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.backends.backend import TaskStart
from rota.backends.kubernetes.backend import KubernetesBackend
from rota.backends.kubernetes.options import PodOptions
from rota.backends.kubernetes.pod_calls import PodCalls
from rota.backends.kubernetes.terms import Terms
from rota.backends.process.folders import Folders
from rota.kube.api.client import Client
from rota.lifecycle.state import EndReason
from rota.model.ids import NodeName
from rota.model.run import Run, Service
from tests.backends.witness import Witness, collecting, ref
from tests.real.kube_node.api import NodesAccess
from tests.real.kube_node.images import BUSYBOX

pytestmark = [pytest.mark.slow, pytest.mark.covers("pod-1")]

SLOW_TO_START = (
    'sleep 2; mkdir /tmp/www; echo "$WORD" > /tmp/www/index.html; touch /tmp/up; httpd -f -p 8080 -h /tmp/www'
)


def witness_of(nodes: NodesAccess, folder: Path, terms: Terms) -> Witness:
    namespace = nodes.api.new_namespace()
    calls = PodCalls(Client(nodes.cluster.access(namespace=namespace)), namespace, PodOptions(BUSYBOX))
    return Witness(KubernetesBackend(calls, Folders(folder / "k"), Folders(folder / "i"), terms=terms))


async def test_the_task_starts_when_its_service_is_ready(nodes: NodesAccess, tmp_path: Path) -> None:
    service = Service(
        "web", BUSYBOX, ("sh", "-c", SLOW_TO_START), (("WORD", "hello"),), ("test", "-f", "/tmp/up")
    )
    fetch = "for _ in 1 2 3 4 5; do wget -q -O - http://web:8080/ && exit 0; sleep 1; done; exit 1"
    run = Run(command=("sh", "-c", fetch), image=BUSYBOX, services=(service,))
    witness = witness_of(nodes, tmp_path, Terms())
    async with collecting(witness):
        await witness.backend.take_up([])
        await witness.backend.start([TaskStart(ref("1"), NodeName(nodes.nodes[0]), run)])
        report = await witness.end_of(ref("1"))
        assert report.end.succeeded, (report, await witness.output_text("1"))
        assert await witness.output_text("1") == "hello\n"
        await witness.backend.settle([ref("1")])


async def test_one_that_never_stays_is_told(nodes: NodesAccess, tmp_path: Path) -> None:
    service = Service("web", BUSYBOX, ("sh", "-c", "exit 3"), ready=("false",))
    run = Run(command=("true",), image=BUSYBOX, services=(service,))
    witness = witness_of(nodes, tmp_path, Terms(pull_within_ms=1))
    async with collecting(witness):
        await witness.backend.take_up([])
        await witness.backend.start([TaskStart(ref("1"), NodeName(nodes.nodes[0]), run)])
        end = (await witness.end_of(ref("1"))).end
        assert end.reason is EndReason.NOT_STARTED
        assert f"service web ({BUSYBOX}) ends again and again" in end.message
        await witness.backend.settle([ref("1")])
