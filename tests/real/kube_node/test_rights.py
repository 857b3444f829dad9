"""With no more rights than deploy/kubernetes-backend.yaml gives, jobs run, and nothing of them is left."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rota.backends.backend import TaskStart
from rota.backends.kubernetes.backend import KubernetesBackend
from rota.backends.kubernetes.options import PodOptions
from rota.backends.kubernetes.pod_calls import PodCalls
from rota.backends.process.folders import Folders
from rota.kube.api.client import Client
from rota.kube.api.credentials import Credentials
from rota.model.ids import NodeName
from rota.model.run import Run
from tests.backends.witness import Witness, collecting, ref
from tests.real.kube_node.api import Api, NodesAccess
from tests.real.kube_node.images import BUSYBOX

pytestmark = [pytest.mark.slow, pytest.mark.covers("back-3", "pod-5", "pod-8")]

DEPLOY = Path(__file__).parents[3] / "deploy" / "kubernetes-backend.yaml"
NAMESPACE = "rota-jobs"
KINDS = "pods,secrets,services,networkpolicies"


@pytest.fixture(scope="module")
def token(nodes: NodesAccess) -> str:
    applied = nodes.api.kubectl("apply", "-f", str(DEPLOY))
    assert applied.returncode == 0, applied.stderr
    made = nodes.api.kubectl("create", "token", "rota-backend", "-n", NAMESPACE)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def backend_of(nodes: NodesAccess, token: str, folder: Path, **options: object) -> KubernetesBackend:
    client = Client(nodes.cluster.access_with(Credentials(token), NAMESPACE))
    stated = PodOptions(BUSYBOX, default_image=BUSYBOX, **options)  # type: ignore[arg-type]
    return KubernetesBackend(
        PodCalls(client, NAMESPACE, stated), Folders(folder / "k"), Folders(folder / "i")
    )


def left(api: Api) -> list[str]:
    found = api.kubectl("get", KINDS, "-n", NAMESPACE, "-l", "act.nektos.com/job", "-o", "name")
    assert found.returncode == 0, found.stderr
    return found.stdout.split()


@pytest.mark.parametrize("user", [None, 1234])
async def test_all_that_a_backend_does(
    nodes: NodesAccess, token: str, tmp_path: Path, user: int | None
) -> None:
    node = NodeName(nodes.nodes[0])
    witness = Witness(backend_of(nodes, token, tmp_path, run_as_user=user))
    async with collecting(witness):
        backend = witness.backend
        await backend.take_up([])
        plain = Run(script="id -u; echo $TOKEN; echo kept > a", outputs=("a",))
        tasks = [
            TaskStart(ref("1"), node, plain, secrets=(("TOKEN", "very-secret"),)),
            TaskStart(ref("2", 0), node, Run(command=("hostname",)), hosts=(node, node), lane="l"),
            TaskStart(ref("2", 1), node, Run(command=("hostname",)), hosts=(node, node)),
            TaskStart(ref("3"), node, Run(command=("true",)), lane="l", standby=True),
        ]
        await backend.start(tasks)
        for task in tasks:
            report = await witness.end_of(task.ref)
            assert report.end.succeeded, report
        assert await witness.output_text("1") == f"{user or 0}\n***\n"
        assert await witness.left("1", "a") == b"kept\n"
        assert await witness.output_text("2", ranks=(1,)) == "act-job-2-r1\n"
        assert (await backend.health()).healthy
        await backend.settle([task.ref for task in tasks])
        async with asyncio.timeout(60):
            while await asyncio.to_thread(left, nodes.api):
                await asyncio.sleep(0.2)


async def test_what_a_server_that_crashed_left_is_removed(
    nodes: NodesAccess, token: str, tmp_path: Path
) -> None:
    node = NodeName(nodes.nodes[0])
    before = Witness(backend_of(nodes, token, tmp_path))
    script = Run(script="echo up; sleep 600", grace_ms=0)
    async with collecting(before):
        await before.backend.take_up([])
        await before.backend.start(
            [TaskStart(ref("9", rank), node, script, hosts=(node, node)) for rank in (0, 1)]
        )
        await before.says("9", "up")
    after = Witness(backend_of(nodes, token, tmp_path))
    async with collecting(after):
        assert await after.backend.take_up([]) == []
        for rank in (0, 1):
            await after.end_of(ref("9", rank))
        await after.backend.settle(await after.running())
        async with asyncio.timeout(60):
            while await asyncio.to_thread(left, nodes.api):
                await asyncio.sleep(0.2)
