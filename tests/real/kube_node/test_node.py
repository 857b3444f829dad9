"""The node itself is a real one: what it does with pods is what any cluster would do."""

from __future__ import annotations

import pytest

from tests.real.kube_node.api import Api, NodesAccess, Object
from tests.real.kube_node.images import BUSYBOX

pytestmark = pytest.mark.slow


def container(name: str, script: str, **more: object) -> Object:
    return {"name": name, "image": BUSYBOX, "command": ["sh", "-c", script], **more}


def reason(pod: Object, name: str = "main") -> Object:
    """Why that container ended."""
    status = next(one for one in pod["status"]["containerStatuses"] if one["name"] == name)
    ended: Object = status["state"]["terminated"]
    return ended


def test_containers_of_a_pod_share_volumes_and_network(api: Api, namespace: str) -> None:
    volume = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    serve = "nc -l -p 7000 < /shared/from-setup"
    ask = "until nc 127.0.0.1 7000; do sleep 0.1; done"
    api.create_pod(
        namespace,
        "two",
        volumes=[{"name": "shared", "emptyDir": {}}],
        initContainers=[container("setup", "echo made before > /shared/from-setup", **volume)],
        containers=[container("server", serve, **volume), container("main", ask)],
    )
    pod = api.ended(namespace, "two")
    assert pod["status"]["phase"] == "Succeeded"
    assert api.log(namespace, "two") == "made before\n"


def test_every_node_runs_pods(api: Api, namespace: str, nodes: NodesAccess) -> None:
    for number, node in enumerate(nodes.nodes):
        api.create_pod(namespace, f"on-{number}", "hostname", nodeName=node)
    for number, node in enumerate(nodes.nodes):
        pod = api.ended(namespace, f"on-{number}")
        assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == (node, "Succeeded")
        assert api.log(namespace, f"on-{number}") == f"on-{number}\n"


def test_a_command_can_be_run_in_a_pod(api: Api, namespace: str) -> None:
    api.create_pod(namespace, "waits", "echo here; sleep 600", terminationGracePeriodSeconds=0)
    api.running(namespace, "waits")
    done = api.kubectl("-n", namespace, "exec", "waits", "--", "sh", "-c", "hostname; exit 7")
    assert (done.stdout, done.returncode) == ("waits\n", 7)
    api.delete_pod(namespace, "waits")


def test_too_much_memory_is_told(api: Api, namespace: str) -> None:
    fill = container("main", "tail -c 300m /dev/zero", resources={"limits": {"memory": "32Mi"}})
    api.create_pod(namespace, "hungry", containers=[fill])
    ended = reason(api.ended(namespace, "hungry"))
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)


def test_a_missing_image_is_told(api: Api, namespace: str) -> None:
    # Nobody listens there.
    image = "127.0.0.1:1/nobody/nothing:1"
    api.create_pod(namespace, "imageless", containers=[{"name": "main", "image": image}])

    def is_told(pod: Object) -> bool:
        states = [one["state"].get("waiting", {}) for one in pod["status"].get("containerStatuses", [])]
        return any(state.get("reason") in ("ErrImagePull", "ImagePullBackOff") for state in states)

    api.pod_when(namespace, "imageless", is_told)
    assert any(image in event and event.startswith("Failed:") for event in api.events(namespace, "imageless"))
    api.delete_pod(namespace, "imageless", 0)


def test_a_pod_that_is_deleted_has_time_to_say_goodbye(api: Api, namespace: str) -> None:
    script = "trap 'echo goodbye; exit 3' TERM; echo hello; while :; do sleep 0.1; done"
    api.create_pod(namespace, "polite", script, terminationGracePeriodSeconds=60)
    api.pod_when(namespace, "polite", lambda _: api.log_or_nothing(namespace, "polite") == "hello\n")
    # With a finalizer it can still be seen afterwards.
    finalizer = {"metadata": {"finalizers": ["rota.test/seen"]}}
    path = f"/api/v1/namespaces/{namespace}/pods/polite"
    api.ask("PATCH", path, finalizer, "application/merge-patch+json")
    api.delete_pod(namespace, "polite")
    assert reason(api.ended(namespace, "polite"))["exitCode"] == 3
    api.ask("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    api.wait_until(lambda: not api.exists(path))


def test_pods_find_each_other_by_name_across_nodes(api: Api, namespace: str, nodes: NodesAccess) -> None:
    service = {
        "metadata": {"name": "gang"},
        "spec": {"clusterIP": "None", "selector": {"gang": "1"}, "publishNotReadyAddresses": True},
    }
    api.ask("POST", f"/api/v1/namespaces/{namespace}/services", service)
    scripts = {
        "rank-0": "nc -l -p 7000 > /tmp/heard; cat /tmp/heard",
        "rank-1": "until echo hello from rank-1 | nc rank-0.gang 7000; do sleep 0.2; done",
    }
    for node, (name, script) in zip(nodes.nodes, scripts.items(), strict=True):
        body = {
            "metadata": {"name": name, "labels": {"gang": "1"}},
            "spec": {
                "restartPolicy": "Never",
                "nodeName": node,
                "hostname": name,
                "subdomain": "gang",
                "containers": [container("main", script)],
            },
        }
        api.ask("POST", f"/api/v1/namespaces/{namespace}/pods", body)
    for name in scripts:
        assert api.ended(namespace, name)["status"]["phase"] == "Succeeded"
    assert api.log(namespace, "rank-0") == "hello from rank-1\n"
