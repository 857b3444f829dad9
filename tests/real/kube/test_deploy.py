"""The manifest and the chart as they are given away, on a real API server: what they allow is enough, and not
too much."""

from __future__ import annotations

import asyncio
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

from rota import __version__
from rota.kube.api.client import Client
from rota.kube.api.credentials import Credentials
from rota.kube.api.errors import Forbidden
from rota.kube.api.resources import (
    CLAIMS,
    CONFIG_MAPS,
    CSI_NODES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    VOLUMES,
)
from rota.kube.scheduling.run import default_policy, running
from rota.kube.volumes.matching import BIND_COMPLETED
from tests.real.conftest import missing
from tests.real.kube.cluster import Cluster
from tests.real.kube.control_plane import ControlPlane, Missing, free_ports
from tests.real.kube.expecting import bound_are
from tests.real.kube.helm import CHART, Helm, Refused
from tests.real.kube.local_volumes import add_claim, add_class, add_volume, using
from tests.real.kube.manifests import DEPLOY, NAME, NAMESPACE, Manifest, apply, new_token, read, read_manifest
from tests.real.kube.pods import PATIENCE_S, eventually, place_in
from tests.real.kube.processes import Schedulers

pytestmark = [pytest.mark.slow, pytest.mark.covers("kube-8")]


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    try:
        return Helm(tmp_path)
    except Missing as error:
        missing(str(error))


def by_name(documents: list[Manifest]) -> dict[tuple[str, str, str], Manifest]:
    return {
        (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in documents
    }


def only(documents: list[Manifest], kind: str) -> Manifest:
    (found,) = (one for one in documents if one["kind"] == kind)
    return found


def pod_of(documents: list[Manifest]) -> dict[str, Any]:
    spec: dict[str, Any] = only(documents, "Deployment")["spec"]["template"]["spec"]
    return spec


def arguments_of(documents: list[Manifest]) -> list[str]:
    arguments: list[str] = pod_of(documents)["containers"][0]["args"]
    return arguments


@contextmanager
def installed(how: str, helm: Helm, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """The name of everything, and its namespace; by the chart other ones, so that both can be there."""
    if how == "manifest":

        async def install() -> None:
            async with Client(cluster.access()) as client:
                await apply(client, read_manifest())

        asyncio.run(install())
        yield NAME, NAMESPACE
    else:
        name = f"chart-{uuid.uuid4().hex[:8]}"
        namespace = f"{name}-system"
        helm.install(cluster, name, {"schedulerName": name, "namespace": {"name": namespace}})
        yield name, namespace
        helm.uninstall(cluster, name)


# -- the chart


def test_the_chart_makes_what_the_manifest_has(helm: Helm) -> None:
    made, manifest = by_name(helm.render()), by_name(read_manifest())
    assert made.keys() == manifest.keys()
    for name, document in manifest.items():
        assert made[name] == document


def test_the_chart_is_of_this_version(helm: Helm) -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert about["version"] == about["appVersion"] == __version__
    assert "0 chart(s) failed" in helm.lint()


def test_what_can_be_chosen_in_the_chart(helm: Helm) -> None:
    values = {
        "schedulerName": "nightly",
        "image": {"repository": "registry.example/rota", "tag": "1", "pullPolicy": "Always"},
        "namespace": {"create": False},
        "replicas": 1,
        "leaseSeconds": 30,
        "gang": {"label": "example.com/gang", "minAvailableAnnotation": "example.com/least"},
        "policy": {"schedulers": [{"name": "nightly", "strategy": "bin-packing"}]},
        "metrics": {"port": 9000, "scrape": False},
        "extraArgs": ["--log-format", "json"],
        "resources": {"requests": {"cpu": "2"}},
        "nodeSelector": {"pool": "system"},
        "tolerations": [{"key": "system", "operator": "Exists"}],
    }
    made = helm.render(values, "--namespace", "of-the-release")
    assert {one["kind"] for one in made}.isdisjoint({"Namespace", "PodDisruptionBudget"})
    assert {one["metadata"].get("namespace") for one in made} == {None, "of-the-release"}
    assert {one["metadata"]["name"] for one in made} == {"nightly"}
    assert only(made, "Role")["rules"][1]["resourceNames"] == ["nightly"]
    assert only(made, "Deployment")["spec"]["replicas"] == 1
    pod = pod_of(made)
    assert (pod["nodeSelector"], pod["tolerations"]) == (values["nodeSelector"], values["tolerations"])
    (container,) = pod["containers"]
    assert (container["image"], container["imagePullPolicy"]) == ("registry.example/rota:1", "Always")
    assert container["ports"] == [{"name": "metrics", "containerPort": 9000}]
    requests, limits = (container["resources"].get(kind) for kind in ("requests", "limits"))
    assert (requests, limits) == ({"cpu": "2", "memory": "256Mi"}, {"memory": "2Gi"})
    policy = only(made, "ConfigMap")
    assert {"name": "policy", "configMap": {"name": policy["metadata"]["name"]}} in pod["volumes"]
    (mount,) = (one for one in container["volumeMounts"] if one["name"] == "policy")
    assert f"{mount['mountPath']}/{next(iter(policy['data']))}" == "/etc/rota/policy.yaml"


def test_only_whoever_scrapes_metrics_may_reach_it(helm: Helm) -> None:
    (rule,) = only(helm.render(), "NetworkPolicy")["spec"]["ingress"]
    assert rule["ports"] == [{"port": 8429, "protocol": "TCP"}]
    assert rule["from"] == [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    ]
    made = helm.render({"networkPolicy": {"create": False}})
    assert "NetworkPolicy" not in {one["kind"] for one in made}


def test_an_image_can_be_named_by_its_digest(helm: Helm) -> None:
    digest = f"sha256:{'0' * 64}"
    (container,) = pod_of(helm.render({"image": {"tag": "1", "digest": digest}}))["containers"]
    assert container["image"] == f"batch-scheduler@{digest}"


def test_replicas_are_replaced_for_another_policy(helm: Helm) -> None:
    def annotations(strategy: str) -> Any:
        made = helm.render({"policy": {"strategy": strategy}})
        return only(made, "Deployment")["spec"]["template"]["metadata"]["annotations"]

    assert annotations("balanced") != annotations("bin-packing")


@pytest.mark.parametrize(
    "values, field",
    [
        ({"schedulerName": "Not_A_Name"}, "/schedulerName"),
        ({"replicas": "two"}, "/replicas"),
        ({"leaseSeconds": 1}, "/leaseSeconds"),
        ({"gang": {"label": "two words"}}, "/gang/label"),
        ({"metrics": {"port": 99_999}}, "/metrics/port"),
        ({"polcy": {}}, "'polcy'"),
    ],
)
def test_a_value_that_cant_be_used_is_named(helm: Helm, values: Manifest, field: str) -> None:
    with pytest.raises(Refused, match=field):
        helm.render(values)


@pytest.mark.covers("kube-1", "kube-2")
async def test_the_scheduler_takes_what_the_chart_gives_it(
    helm: Helm, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """Its arguments and its policy, with the account of the chart."""
    name = f"chart-{uuid.uuid4().hex[:8]}"
    values: Manifest = {
        "schedulerName": name,
        "namespace": {"name": name},
        "leaseSeconds": 30,
        "gang": {"label": "example.com/gang", "minAvailableAnnotation": "example.com/least"},
        "policy": {"queues": [{"name": "default", "strategy": "fair"}]},
    }
    helm.install(cluster, name, values)
    made = helm.render(values)
    policy = tmp_path / "policy.yaml"
    policy.write_text(only(made, "ConfigMap")["data"]["policy.yaml"])
    arguments = [one.replace("/etc/rota/policy.yaml", str(policy)) for one in arguments_of(made)]

    async with place_in(cluster, namespace) as place:
        token = await new_token(place.client, name, name)
        command = Schedulers(tmp_path, cluster).command(*arguments, "--dry-run", token=token, namespace=name)
        place.scheduler_name = name
        (node,) = await place.add_nodes("a", cpu="4")
        await place.add_pod("alone")
        for pod, cpu in (("fits", "1"), ("too-large", "8")):
            await place.add_pod(pod, cpu, labels={"example.com/gang": "g"})
        ended = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True)
        assert ended.returncode == 2, ended.stderr  # The gang waits.
        lines = ended.stdout.splitlines()
        assert f"bind {namespace}/alone to {node}" in lines
        # It is one gang, by the label that was chosen.
        assert not any(line.startswith(f"bind {namespace}/fits") for line in lines)
    helm.upgrade(cluster, name, values | {"policy": {}, "replicas": 3})
    helm.uninstall(cluster, name)


@pytest.mark.covers("kube-11")
async def test_the_charts_own_example_of_a_policy_starts(
    helm: Helm, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    """As it stands in its values, with the account of the chart: it leads, binds, and keeps what was used."""
    lines = (CHART / "values.yaml").read_text().partition("For example:\n")[2].splitlines()
    example = yaml.safe_load("\n".join(line[1:] for line in takewhile(lambda line: line[0] == "#", lines)))
    assert example["queues"][0]["tenant_key"] == "namespace"
    name = f"chart-{uuid.uuid4().hex[:8]}"
    values: Manifest = {"schedulerName": name, "namespace": {"name": name}, "policy": example}
    helm.install(cluster, name, values)
    made = helm.render(values)
    policy = tmp_path / "policy.yaml"
    policy.write_text(only(made, "ConfigMap")["data"]["policy.yaml"])
    [port] = free_ports(1)
    arguments = [
        one.replace("/etc/rota/policy.yaml", str(policy)).replace("0.0.0.0:8429", f"127.0.0.1:{port}")
        for one in arguments_of(made)
    ]
    schedulers = Schedulers(tmp_path, cluster)
    async with place_in(cluster, namespace) as place:
        token = await new_token(place.client, name, name)
        place.scheduler_name = name
        await place.add_nodes("a", cpu="4")
        process = schedulers.start(*arguments, token=token, namespace=name)
        try:
            await place.add_pod("p", terminationGracePeriodSeconds=0)
            await eventually(bound_are(place, "p"))
            await asyncio.sleep(1.5)
            await place.client.delete(PODS, "p", namespace, grace_s=0)
            await eventually(bound_are(place))
            await asyncio.sleep(0.5)
            process.terminate()
            assert await asyncio.to_thread(process.wait) == 0
        finally:
            schedulers.end()
        kept = await place.client.get(CONFIG_MAPS, f"{name}-usage", name)
        assert f"namespace {namespace}" in (kept.data or {})["usage.json"], schedulers.logs()
    helm.uninstall(cluster, name)


# -- the account


@pytest.mark.parametrize("how", ["manifest", "chart"])
def test_the_scheduler_needs_no_more_than_its_role(
    helm: Helm, cluster: Cluster, namespace: str, how: str
) -> None:
    """It leads, binds, preempts, undoes and tells with the account that was made for it alone."""

    async def main(name: str, home: str) -> None:
        async with place_in(cluster, namespace) as place:
            token = await new_token(place.client, name, home)
            access = cluster.access_with(Credentials(token), home)
            place.scheduler_name = name
            (node,) = await place.add_nodes("a", cpu="2")
            for pod in ("torn0", "torn1"):
                await place.add_pod(pod, cpu="3", gang="torn", least="2", terminationGracePeriodSeconds=0)
            await place.client.bind(namespace, "torn0", node)
            options = place.options(leader_elect=True, undone_after_s=0.5)
            async with running(access, options, default_policy(name)) as scheduler:
                await asyncio.wait_for(scheduler.synced(), PATIENCE_S)

                async def is_undone() -> bool:
                    return bool(await place.notes("GangUndone", "torn0"))

                await eventually(is_undone)
                await place.add_pod("low", cpu="2", terminationGracePeriodSeconds=0)

                async def low_runs() -> bool:
                    return "low" in await place.bound()

                await eventually(low_runs)
                await place.add_pod("high", cpu="2", priorityClassName="system-node-critical")

                async def high_runs() -> bool:
                    return "high" in await place.bound()

                await eventually(high_runs)

                async def is_told() -> bool:
                    return bool(await place.notes("FailedScheduling", "torn1"))

                await eventually(is_told)
                assert scheduler.recorder.dropped_events == 0

    with installed(how, helm, cluster) as (name, home):
        asyncio.run(main(name, home))


@pytest.mark.covers("kube-3")
@pytest.mark.parametrize("how", ["manifest", "chart"])
def test_its_role_lets_it_give_volumes_to_claims(
    helm: Helm, cluster: Cluster, namespace: str, how: str
) -> None:
    """The test is the controller that makes volumes available, and binds them."""

    async def main(name: str, home: str) -> None:
        async with place_in(cluster, namespace) as place:
            client = place.client
            access = cluster.access_with(Credentials(await new_token(client, name, home)), home)
            place.scheduler_name = name
            (node,) = await place.add_nodes("a")
            await add_class(place)
            volume = await add_volume(place, "v", node)
            await client.patch_status(VOLUMES, volume, {"status": {"phase": "Available"}})
            await add_claim(place, "data")
            async with running(access, place.options(leader_elect=True), default_policy(name)) as scheduler:
                await asyncio.wait_for(scheduler.synced(), PATIENCE_S)
                await place.add_pod("p", volumes=using("data"))

                async def is_given() -> bool:
                    found = await client.get(VOLUMES, volume)
                    claim = found.spec.claim_ref if found.spec is not None else None
                    return claim is not None and (claim.namespace, claim.name) == (namespace, "data")

                await eventually(is_given)
                agreed = {"annotations": {BIND_COMPLETED: "yes"}}
                change = {"metadata": agreed, "spec": {"volumeName": volume}}
                await client.patch(CLAIMS, "data", change, namespace)

                async def is_bound() -> bool:
                    return await place.bound() == {"p": node}

                await eventually(is_bound)

    with installed(how, helm, cluster) as (name, home):
        asyncio.run(main(name, home))


@pytest.mark.parametrize("how", ["manifest", "chart"])
def test_the_account_may_do_nothing_else(helm: Helm, cluster: Cluster, namespace: str, how: str) -> None:
    async def main(name: str, home: str) -> None:
        async with Client(cluster.access()) as admin:
            access = cluster.access_with(Credentials(await new_token(admin, name, home)), home)
        async with Client(access) as client:
            forbidden: list[Any] = [
                client.create(PODS, {"metadata": {"name": "p"}}, namespace),
                client.delete(NODES, "n"),
                client.patch(NODES, "n", {"spec": {"unschedulable": True}}),
                client.create(NAMESPACES, {"metadata": {"name": "n"}}),
                client.delete(VOLUMES, "v"),
                client.patch_status(VOLUMES, "v", {"status": {"phase": "Available"}}),
                client.patch(CSI_NODES, "n", {"spec": {"drivers": []}}),
                client.list_all(EVENTS),
                client.get(CONFIG_MAPS, "another's", home),
                client.list_all(CONFIG_MAPS),
            ]
            for call in forbidden:
                with pytest.raises(Forbidden):
                    await call

    with installed(how, helm, cluster) as (name, home):
        asyncio.run(main(name, home))


async def test_the_example_is_bound_as_one(breakable: ControlPlane) -> None:
    cluster = breakable.cluster
    breakable.start_controller_manager("--controllers=job")

    async with place_in(cluster, "default") as place:
        example = read((DEPLOY / "examples" / "gang-demo.yaml").read_text())
        await apply(place.client, example, "default")
        place.scheduler_name = NAME
        await place.add_nodes("a", cpu="4")
        async with place.scheduler(cluster):

            async def all_three() -> bool:
                return len(await place.bound()) == 3

            await eventually(all_three)
