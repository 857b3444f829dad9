"""`rota why pod/NAME` and `rota eta pod/NAME`, asked of a real API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from rota.kube.api.resources import NODES, PODS, Resource
from rota.kube_objects.objects.metadata import KubeObject
from tests.real.kube.cluster import TOKENS, Cluster
from tests.real.kube.pods import Place, eventually, place_in, pod_for
from tests.unit.cli.calling import Result, rota

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-7")]

ROLE = Path(__file__).parents[3] / "deploy" / "examples" / "asking-role.yaml"


class Asker:
    """Somebody at a terminal, with a kubeconfig."""

    def __init__(self, place: Place, file: Path) -> None:
        self._place = place
        self._file = file

    async def __call__(self, command: str, pod: str, *more: str, columns: int = 80) -> Result:
        options = ("--kubeconfig", str(self._file), "-n", self._place.namespace)
        chosen = ("--scheduler-name", self._place.scheduler_name)
        return await asyncio.to_thread(rota, command, f"pod/{pod}", *options, *chosen, *more, columns=columns)

    async def data(self, command: str, pod: str) -> Any:
        result = await self(command, pod, "-o", "json")
        assert result.code == 0, result.err
        return result.data


def asked(
    cluster: Cluster,
    namespace: str,
    folder: Path,
    question: Callable[[Place, Asker], Awaitable[None]],
    user: str = "admin",
) -> None:
    file = folder / "kubeconfig"
    file.write_text(json.dumps(cluster.kubeconfig({"token": TOKENS[user][0]})))

    async def main() -> None:
        async with place_in(cluster, namespace) as place:
            await question(place, Asker(place, file))

    asyncio.run(main())


def test_a_pod_that_waits(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """Every node's verdict, and what would help."""

    async def question(place: Place, ask: Asker) -> None:
        (small, red) = await place.add_nodes("small", "red", cpu="2")
        taint = {"key": "team", "value": "red", "effect": "NoSchedule"}
        await place.client.patch(NODES, red, {"spec": {"taints": [taint]}})
        await place.add_pod("runs", cpu="1500m")
        await place.client.bind(namespace, "runs", small)
        await place.add_pod("waits")
        found = await ask.data("why", "waits")
        assert (found["pod"], found["situation"]) == (f"{namespace}/waits", "waiting")
        assert "1 Insufficient cpu" in found["message"]
        by_reason = {one["message"]: one["nodes"] for one in found["explanation"]["refusals"]}
        assert small in by_reason["insufficient cpu: asks 1, most free 0.5"]
        assert red in by_reason["untolerated taint team: red"]
        remedies = [one["message"] for one in found["explanation"]["remedies"]]
        assert "tolerate team=red:NoSchedule" in remedies
        assert "ask for at most 0.5 cpu (asks 1)" in remedies
        for columns in (80, 200):
            shown = await ask("why", "waits", columns=columns)
            assert shown.lines[0] == f"{namespace}/waits waits: not now"
            assert max(map(len, shown.lines)) <= columns

    asked(cluster, namespace, tmp_path, question)


@pytest.mark.covers("kube-2")
def test_a_gang_that_isnt_complete(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    async def question(place: Place, ask: Asker) -> None:
        (node,) = await place.add_nodes("a", cpu="2")
        for name in ("p0", "p1"):
            await place.add_pod(name, gang="g", least="3")
        found = await ask.data("why", "p0")
        assert found["situation"] == "held"
        assert found["gang"] == {"name": "g", "present": 2, "needed": 3}
        (remedy,) = found["remedies"]
        assert remedy["starts_on"] == [node, node]
        assert found["explanation"]["outcome"] == "waiting", "three of them have no room"
        shown = await ask("why", "p0")
        assert "gang g: 2 of 3 pods present; they start together" in shown.out.replace("\n", " ")
        assert "If the missing pods were there, and like this one" in shown.lines
        assert (await ask.data("eta", "p0"))["reason"].startswith("gang g: 2 of 3 pods present")
        await place.add_nodes("b", cpu="1")
        again = await ask.data("why", "p0")
        assert again["explanation"]["outcome"] == "placed", "and now they would"

    asked(cluster, namespace, tmp_path, question)


def test_what_holds_a_pod(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    async def question(place: Place, ask: Asker) -> None:
        (node,) = await place.add_nodes("a")
        await place.add_pod("gated", schedulingGates=[{"name": "example.com/licence"}])
        claim = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
        await place.add_pod("claiming", volumes=[claim])
        gated = await ask.data("why", "gated")
        assert gated["message"].startswith("held by its scheduling gate example.com/licence")
        assert gated["explanation"]["nodes"] == [node]
        claiming = await ask.data("why", "claiming")
        assert 'persistentvolumeclaim "data" not found' in claiming["message"]

    asked(cluster, namespace, tmp_path, question)


def test_a_pod_that_is_bound(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """Where, since when, by whom; and how nodes would be rated now, whoever waits."""

    async def question(place: Place, ask: Asker) -> None:
        await place.add_nodes("small", cpu="1")
        async with place.scheduler(cluster):
            (large,) = await place.add_nodes("large", cpu="8")
            await place.add_pod("p", cpu="6")

            async def is_bound() -> bool:
                return "p" in await place.bound()

            await eventually(is_bound)
        await place.add_pod("waits", cpu="6")
        found = await ask.data("why", "p")
        assert (found["situation"], found["node"]) == ("bound", large)
        assert found["scheduler"] == place.scheduler_name
        age = datetime.now(UTC) - datetime.fromisoformat(found["bound"])
        assert timedelta(seconds=-2) < age < timedelta(minutes=5)
        explanation = found["explanation"]
        assert (explanation["outcome"], explanation["scores"][0]["node"]) == ("placed", large)
        refused = [node for one in explanation["refusals"] for node in one["nodes"]]
        assert f"{namespace}-small" in refused
        headline = (await ask("why", "p", columns=200)).lines[0]
        assert headline.startswith(f"{namespace}/p is bound to {large} since ")
        assert headline.endswith(f", by {place.scheduler_name}")
        assert (await ask.data("eta", "p"))["reason"] == f"it is bound to {large} already"

    asked(cluster, namespace, tmp_path, question)


def test_pods_that_nothing_is_decided_about(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    async def question(place: Place, ask: Asker) -> None:
        (node,) = await place.add_nodes("a")
        await place.client.create(PODS, pod_for("somebody-else", "theirs"), namespace)
        await place.client.create(PODS, pod_for("somebody-else", "placed"), namespace)
        await place.client.bind(namespace, "placed", node)
        await place.add_pod("done")
        await place.client.patch_status(PODS, "done", {"status": {"phase": "Succeeded"}}, namespace)
        theirs = await ask.data("why", "theirs")
        assert theirs["situation"] == "of another scheduler"
        assert "it waits for somebody-else" in theirs["message"]
        placed = await ask.data("why", "placed")
        assert placed["message"].startswith("somebody-else has put it there")
        assert (await ask.data("why", "done"))["message"] == "it has ended well"
        assert (await ask.data("eta", "done"))["reason"] == "it has ended well"
        missing = await ask("why", "thiers")
        assert (missing.code, missing.out) == (3, "")
        assert missing.err == (
            f'rota: there is no pod "thiers" in the namespace {namespace}; did you mean "theirs"?\n'
        )

    asked(cluster, namespace, tmp_path, question)


def test_when_it_starts_by_deadlines(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    async def question(place: Place, ask: Asker) -> None:
        nodes = await place.add_nodes("a", "b", cpu="1")
        await place.add_pod("endless")
        await place.client.bind(namespace, "endless", nodes[0])
        await place.add_pod("limited", activeDeadlineSeconds=3600)
        await place.client.bind(namespace, "limited", nodes[1])
        began = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=10)
        status = {"status": {"phase": "Running", "startTime": began.isoformat()}}
        await place.client.patch_status(PODS, "limited", status, namespace)
        await place.add_pod("waits")
        found = await ask.data("eta", "waits")
        assert datetime.fromisoformat(found["latest"]) == began + timedelta(hours=1)
        assert "activeDeadlineSeconds" in found["reason"]
        assert "in 49 min" in (await ask("eta", "waits", columns=200)).out
        await place.client.delete(PODS, "limited", namespace, grace_s=0)
        await place.add_pod("endless-too")
        await place.client.bind(namespace, "endless-too", nodes[1])
        without = await ask.data("eta", "waits")
        assert without["latest"] is None
        assert without["reason"] == (
            "no estimate: only activeDeadlineSeconds says when pods end,"
            " and of the pods in its way 2 that run have none"
        )
        await place.add_pod("huge", cpu="64")
        assert "it can't start on this cluster as it is" in (await ask.data("eta", "huge"))["reason"]

    asked(cluster, namespace, tmp_path, question)


@pytest.mark.covers("kube-8")
def test_lists_are_all_it_takes(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    """Who may not is told which rule is missing; the role that is given away is enough."""
    roles: Resource[KubeObject] = Resource(
        "rbac.authorization.k8s.io", "v1", "clusterroles", KubeObject, is_namespaced=False
    )
    bindings: Resource[KubeObject] = Resource(
        "rbac.authorization.k8s.io", "v1", "clusterrolebindings", KubeObject, is_namespaced=False
    )

    async def question(place: Place, ask: Asker) -> None:
        (node,) = await place.add_nodes("a")
        await place.add_pod("p")
        refused = await ask("why", "p")
        assert refused.code == 4
        assert 'apiGroups: [""], resources: ["nodes"], verbs: ["list"]' in refused.err
        role = yaml.safe_load(ROLE.read_text())
        name = role["metadata"]["name"]
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "visitor"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
        await place.client.create(roles, role)
        await place.client.create(bindings, binding)
        try:

            async def is_answered() -> bool:
                return (await ask("why", "p")).code == 0

            await eventually(is_answered)
            assert (await ask.data("why", "p"))["explanation"]["nodes"] == [node]
        finally:
            await place.client.delete(bindings, name)
            await place.client.delete(roles, name)

    asked(cluster, namespace, tmp_path, question, user="visitor")


def test_a_cluster_that_isnt_there(tmp_path: Path) -> None:
    missing = rota("why", "pod/p", "--kubeconfig", str(tmp_path / "none"))
    assert missing.code == 1
    assert str(tmp_path / "none") in missing.err
