from __future__ import annotations

import base64
from typing import Any

import pytest
from msgspec.structs import replace

from rota.backends.kubernetes.options import PodOptions, Sidecar, ToolCache
from rota.backends.kubernetes.pods import labels_of, pod_of, secret_of
from rota.backends.kubernetes.record import RECORD, TaskRecord, read
from rota.backends.kubernetes.scripts import script
from rota.model.ids import NodeName
from rota.model.resources import Resources
from rota.model.run import InputFile, Run, Service
from tests.unit.backends.kubernetes.starts import OPTIONS, RUN, ref, start

pytestmark = pytest.mark.covers("pod-1", "pod-2", "pod-3", "pod-5")


def container(pod: dict[str, Any], name: str) -> dict[str, Any]:
    spec = pod["spec"]
    [found] = [one for one in (*spec["initContainers"], *spec["containers"]) if one["name"] == name]
    return found  # type: ignore[no-any-return]


def test_the_whole_pod_of_a_plain_task() -> None:
    assert pod_of(start(environment=(("ROTA_JOB_NAME", "train"), ("ROTA_RANK", "0"))), OPTIONS, "n1") == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "act-job-12",
            "labels": {
                "act.nektos.com/workflow": "train",
                "act.nektos.com/job": "12",
                "act.nektos.com/run-id": "12",
                "act.nektos.com/backend": "kubernetes",
                "act.nektos.com/instance": "rota",
            },
            "annotations": {RECORD: '{"ref":["12",0,1],"node":"n1","image":"python:3.12","grace_ms":10000}'},
        },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 10,
            "nodeName": "n1",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "tolerations": [{"operator": "Exists"}],
            "initContainers": [
                {
                    "name": "setup",
                    "image": "rota/support:1",
                    "imagePullPolicy": "IfNotPresent",
                    "command": [
                        "/bin/sh",
                        "-c",
                        script("setup").replace("$", "$$"),
                        "setup",
                        "/runner/temp/.rota",
                        script("shim").replace("$", "$$"),
                        "",
                        "",
                    ],
                    "resources": {"requests": {"cpu": "0", "memory": "0"}, "limits": {"memory": "128Mi"}},
                    "volumeMounts": SHARED,
                    "securityContext": SUPPORT,
                }
            ],
            "containers": [
                {
                    "name": "runner",
                    "image": "python:3.12",
                    "imagePullPolicy": "IfNotPresent",
                    "command": [
                        "/bin/sh",
                        "/runner/temp/.rota/shim",
                        "/runner/temp/.rota",
                        "-",
                        "-",
                        "1000",
                        "TERM",
                        "0",
                        "/github/workspace",
                        "/runner/temp/.rota/out",
                        "/runner/temp/.rota/err",
                        "",
                        "train",
                        "--fast",
                    ],
                    "env": [
                        {"name": "GITHUB_WORKSPACE", "value": "/github/workspace"},
                        {"name": "HOME", "value": "/github/workspace"},
                        {"name": "ROTA_HOSTFILE", "value": "/runner/temp/.rota/hosts"},
                        {"name": "ROTA_JOB_NAME", "value": "train"},
                        {"name": "ROTA_RANK", "value": "0"},
                        {"name": "RUNNER_TEMP", "value": "/runner/temp"},
                        {"name": "RUNNER_TOOL_CACHE", "value": "/opt/hostedtoolcache"},
                    ],
                    "resources": {
                        "requests": {"cpu": "250m", "memory": "512Mi"},
                        "limits": {"cpu": "1000m", "memory": "2Gi"},
                    },
                    "volumeMounts": [
                        *SHARED,
                        {"name": "tool-cache", "mountPath": "/opt/hostedtoolcache"},
                        {"name": "dshm", "mountPath": "/dev/shm"},
                    ],
                    "securityContext": RUNNER,
                },
                {
                    "name": "log-collector",
                    "image": "rota/support:1",
                    "imagePullPolicy": "IfNotPresent",
                    "command": [
                        "/bin/sh",
                        "-c",
                        "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $$!; done",
                    ],
                    "resources": {"requests": {"cpu": "0", "memory": "0"}, "limits": {"memory": "128Mi"}},
                    "volumeMounts": SHARED,
                    "securityContext": SUPPORT,
                },
            ],
            "volumes": [
                {"name": "workspace", "emptyDir": {}},
                {"name": "runner-temp", "emptyDir": {}},
                {"name": "tool-cache", "emptyDir": {}},
                {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
            ],
        },
    }


SHARED = [
    {"name": "workspace", "mountPath": "/github/workspace"},
    {"name": "runner-temp", "mountPath": "/runner/temp"},
]
RUNNER = {"allowPrivilegeEscalation": False, "privileged": False, "capabilities": {"drop": ["ALL"]}}
SUPPORT = {
    "allowPrivilegeEscalation": False,
    "privileged": False,
    "capabilities": {"drop": ["ALL"], "add": ["DAC_OVERRIDE"]},
    "readOnlyRootFilesystem": True,
    "runAsUser": 0,
}


def test_variables_are_not_put_in_place_by_kubernetes() -> None:
    run = replace(RUN, command=("echo", "$(HOME) $$ $x"), environment=(("A", "$(B)"),))
    runner = container(pod_of(start(run), OPTIONS, "n1"), "runner")
    assert runner["command"][-1] == "$$(HOME) $$$$ $$x"
    assert {"name": "A", "value": "$$(B)"} in runner["env"]


def test_scripts_and_secrets_are_in_a_secret() -> None:
    task = start(Run(script="echo hi", command=("a",), image="i"), secrets=(("TOKEN", "s3cret"),))
    secret = secret_of(task, OPTIONS)
    assert secret == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "act-job-12-f1", "labels": labels_of(task, OPTIONS)},
        "type": "Opaque",
        "data": {
            "env.TOKEN": base64.b64encode(b"s3cret").decode(),
            "script": base64.b64encode(b"echo hi").decode(),
        },
    }
    pod = pod_of(task, OPTIONS, "n1")
    assert "s3cret" not in str(pod)
    runner = container(pod, "runner")
    assert runner["command"][-3:] == ["/bin/sh", "/runner/temp/.rota/script", "a"]
    assert runner["env"][-1] == {
        "name": "TOKEN",
        "valueFrom": {"secretKeyRef": {"name": "act-job-12-f1", "key": "env.TOKEN"}},
    }
    assert pod["spec"]["volumes"][-1] == {
        "name": "payload",
        "secret": {"secretName": "act-job-12-f1", "items": [{"key": "script", "path": "script"}]},
    }
    assert container(pod, "setup")["volumeMounts"][-1]["mountPath"] == "/rota/payload"
    assert secret_of(start(), OPTIONS) is None


def test_a_script_with_an_interpreter_is_executed() -> None:
    pod = pod_of(start(Run(script="#!/usr/bin/python3\n", image="i")), OPTIONS, "n1")
    assert container(pod, "runner")["command"][-1] == "/runner/temp/.rota/script"


def test_setup_waits_for_files() -> None:
    run = replace(RUN, files=(InputFile("a", "0" * 64, 1),))
    assert container(pod_of(start(run), OPTIONS, "n1"), "setup")["command"][-1] == "files"


@pytest.mark.covers("pod-7")
def test_tasks_of_a_job_find_each_other_by_name() -> None:
    hosts = (NodeName("n1"), NodeName("n2"))
    pod = pod_of(start(ref=ref(rank=1), hosts=hosts), OPTIONS, "n2")
    assert pod["metadata"]["name"] == "act-job-12-r1"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("act-job-12-r1", "act-job-12")
    peers = {"name": "ROTA_PEERS", "value": "act-job-12-r0.act-job-12,act-job-12-r1.act-job-12"}
    assert peers in container(pod, "runner")["env"]
    assert container(pod, "setup")["command"][-2] == "n1\nn2\n"


def test_one_on_standby_waits_at_a_gate_that_only_rota_opens() -> None:
    spec = pod_of(start(standby=True, lane="l"), OPTIONS, "n1")["spec"]
    assert "nodeName" not in spec
    assert spec["schedulerName"] == "rota"
    assert spec["schedulingGates"] == [{"name": "act.nektos.com/standby"}]


def test_limits_signals_and_files_of_the_run() -> None:
    run = replace(
        RUN,
        directory="/data",
        stdout="out.txt",
        stderr="/tmp/err",
        grace_ms=1500,
        warn_signal="SIGUSR1",
        warn_before_ms=60_000,
    )
    pod = pod_of(start(run, time_limit_ms=3_600_001, end_before_ms=5), OPTIONS, "n1")
    assert pod["spec"]["terminationGracePeriodSeconds"] == 2
    assert container(pod, "runner")["command"][3:12] == [
        "360001",
        "1",
        "150",
        "USR1",
        "6000",
        "/data",
        "/data/out.txt",
        "/tmp/err",
        "fresh",
    ]


@pytest.mark.covers("pod-6")
def test_what_the_administrator_says() -> None:
    options = PodOptions(
        "support",
        default_image="default",
        run_as_user=1000,
        capabilities=("SYS_PTRACE", "NET_BIND_SERVICE"),
        shm_bytes=1 << 30,
        tool_cache=ToolCache(),
        priority_class="act-high-priority",
        runtime_class="kata",
        pull_secrets=("registry",),
        sidecars=(Sidecar("metrics", "exporter:1", ("export",)),),
    )
    pod = pod_of(start(Run(command=("true",))), options, "n1")
    spec = pod["spec"]
    assert container(pod, "runner")["image"] == "default"
    assert spec["priorityClassName"] == "act-high-priority"
    assert spec["runtimeClassName"] == "kata"
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["securityContext"] == {
        "seccompProfile": {"type": "RuntimeDefault"},
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "fsGroup": 1000,
        "runAsNonRoot": True,
    }
    assert container(pod, "runner")["securityContext"]["capabilities"] == {
        "drop": ["ALL"],
        "add": ["NET_BIND_SERVICE", "SYS_PTRACE"],
    }
    for name in ("setup", "log-collector", "metrics"):
        assert container(pod, name)["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert {"name": "tool-cache", "persistentVolumeClaim": {"claimName": "act-tool-cache"}} in spec["volumes"]
    assert {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}} in spec["volumes"]


def test_whoever_finds_the_pod_knows_its_task() -> None:
    run = replace(RUN, outputs=("a",), directory="/d")
    task = start(run, log_bytes=5, lane="l", secrets=(("A", "b"),))
    assert read(pod_of(task, OPTIONS, "n1")["metadata"]["annotations"]) == TaskRecord(
        ref(), NodeName("n1"), "python:3.12", 5, ("a",), 10_000, "l", directory="/d", has_secrets=True
    )
    assert read({}) is None
    assert read({RECORD: "{"}) is None
    assert read({RECORD: 1}) is None


def test_services_start_before_it_and_are_found_by_name() -> None:
    service = Service(
        "db", "postgres:17", ("serve", "$(A)"), (("PASSWORD", "x"),), ("pg_isready",), Resources(100, 1 << 20)
    )
    run = replace(RUN, services=(service, Service("mq", "nats:2")))
    pod = pod_of(start(run), OPTIONS, "n1")
    first, second, last = pod["spec"]["initContainers"]
    step_down = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"]
    assert first == {
        "name": "db",
        "image": "postgres:17",
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",
        "command": ["serve", "$$(A)"],
        "env": [{"name": "PASSWORD", "value": "x"}],
        "resources": {"requests": {"cpu": "100m", "memory": "1Mi"}},
        "startupProbe": {
            "exec": {"command": ["pg_isready"]},
            "periodSeconds": 1,
            "failureThreshold": 300,
            "timeoutSeconds": 10,
        },
        "securityContext": {**RUNNER, "capabilities": {"drop": ["ALL"], "add": step_down}},
    }
    assert "startupProbe" not in second
    assert second["resources"] == {"requests": {"cpu": "250m", "memory": "512Mi"}}
    assert last["name"] == "setup"
    assert pod["spec"]["hostAliases"] == [{"ip": "127.0.0.1", "hostnames": ["db", "mq"]}]


def test_devices_are_those_of_the_device_plugin() -> None:
    pod = pod_of(start(environment=(("CUDA_VISIBLE_DEVICES", "3"),), gpus=1), OPTIONS, "n1")
    assert "CUDA_VISIBLE_DEVICES" not in str(container(pod, "runner")["env"])
