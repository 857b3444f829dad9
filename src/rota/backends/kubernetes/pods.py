"""The pod of a task, from what is to be started and what the administrator says. Pure."""

from __future__ import annotations

import base64
from typing import Any

from rota.backends.backend import TaskStart
from rota.backends.kubernetes import names
from rota.backends.kubernetes.options import TOOL_CACHE_CLAIM, PodOptions
from rota.backends.kubernetes.record import RECORD, STANDBY, TaskRecord, written
from rota.backends.kubernetes.resources import SUPPORT_RESOURCES, binary, quantities, runner_resources
from rota.backends.kubernetes.scripts import (
    FOLDER,
    KEEP_OPEN,
    PAYLOAD,
    TEMP,
    TOOLS,
    WORKSPACE,
    runner_command,
    setup_command,
)
from rota.backends.kubernetes.security import hardened
from rota.model.containers import service_requests

SCHEDULER = "rota"
"""Of pods on standby: nobody but Rota binds them."""
_DEVICES = "CUDA_VISIBLE_DEVICES"
"""Numbers of the node's devices: the device plugin gives the container its own."""


def pod_of(
    start: TaskStart, options: PodOptions, node: str, name: str = "", secret: str = ""
) -> dict[str, Any]:
    """`node`: as the cluster calls it. `name`: where the usual one is taken; `secret`: likewise."""
    record = record_of(start, options)
    name = name or names.pod_name(start.ref)
    secret = secret or names.pod_name_of_start(start.ref)
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": max(1, -(-start.run.grace_ms // 1000)),
        "initContainers": [*services_of(start, options), _setup(start, options)],
        "containers": [_runner(start, options, secret), _collector(options), *_sidecars(options)],
        "volumes": _volumes(start, options, secret),
        # Taints of the node were looked at when it was chosen; one that comes later is Rota's to decide on.
        "tolerations": [{"operator": "Exists"}],
    }
    if start.standby:
        spec |= {"schedulerName": SCHEDULER, "schedulingGates": [{"name": STANDBY}]}
    else:
        spec["nodeName"] = node
    if record.tasks > 1:
        spec |= {"hostname": names.host_name(start.ref), "subdomain": names.service_name(start.ref.job)}
    if start.run.services:
        # They are in the same pod: a task reaches each by its name, at its own address.
        hosts = [service.name for service in start.run.services]
        spec["hostAliases"] = [{"ip": "127.0.0.1", "hostnames": hosts}]
    if options.priority_class:
        spec["priorityClassName"] = options.priority_class
    if options.runtime_class:
        spec["runtimeClassName"] = options.runtime_class
    if options.pull_secrets:
        spec["imagePullSecrets"] = [{"name": secret} for secret in options.pull_secrets]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": labels_of(start, options),
            "annotations": {RECORD: written(record)},
        },
        "spec": spec,
    }
    return hardened(pod, options)


def record_of(start: TaskStart, options: PodOptions) -> TaskRecord:
    run = start.run
    return TaskRecord(
        start.ref,
        start.node,
        run.image or options.default_image,
        start.log_bytes,
        run.outputs,
        run.grace_ms,
        start.lane,
        start.standby,
        max(1, len(start.hosts)),
        directory=run.directory,
        has_secrets=bool(start.secrets),
    )


def secret_of(start: TaskStart, options: PodOptions, name: str = "") -> dict[str, Any] | None:
    """What isn't to stand in the pod itself; None: there is nothing."""
    data = {f"env.{variable}": value for variable, value in start.secrets}
    if start.run.script:
        data["script"] = start.run.script
    if not data:
        return None
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name or names.pod_name_of_start(start.ref), "labels": labels_of(start, options)},
        "type": "Opaque",
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }


def labels_of(start: TaskStart, options: PodOptions) -> dict[str, str]:
    known = dict(start.environment)
    array, _, _ = start.ref.job.partition(".")
    return {
        names.WORKFLOW: names.label_value(known.get("ROTA_JOB_NAME") or array),
        names.JOB: names.label_value(start.ref.job),
        names.RUN_ID: names.label_value(array),
        names.BACKEND: names.KIND,
        names.INSTANCE: names.label_value(options.instance),
    }


def _setup(start: TaskStart, options: PodOptions) -> dict[str, Any]:
    payload = [{"name": "payload", "mountPath": PAYLOAD, "readOnly": True}] if start.run.script else []
    return {
        "name": "setup",
        "image": options.support_image,
        "imagePullPolicy": options.pull_policy,
        "command": [_literal(word) for word in setup_command(start)],
        "resources": SUPPORT_RESOURCES,
        "volumeMounts": [*_SHARED, *payload],
    }


def _runner(start: TaskStart, options: PodOptions, secret: str) -> dict[str, Any]:
    return {
        "name": "runner",
        "image": start.run.image or options.default_image,
        "imagePullPolicy": options.pull_policy,
        "command": [_literal(word) for word in runner_command(start)],
        "env": _environment(start, secret),
        "resources": runner_resources(start, options),
        "volumeMounts": [
            *_SHARED,
            {"name": "tool-cache", "mountPath": TOOLS},
            {"name": "dshm", "mountPath": "/dev/shm"},
        ],
    }


def _collector(options: PodOptions) -> dict[str, Any]:
    return {
        "name": "log-collector",
        "image": options.support_image,
        "imagePullPolicy": options.pull_policy,
        "command": [_literal(word) for word in KEEP_OPEN],
        "resources": SUPPORT_RESOURCES,
        "volumeMounts": list(_SHARED),
    }


def services_of(start: TaskStart, options: PodOptions) -> list[dict[str, Any]]:
    """Init containers that go on running: the kubelet starts the next when this one has started, as its probe
    says. They end with the pod."""
    return [
        {
            "name": service.name,
            "image": service.image,
            "imagePullPolicy": options.pull_policy,
            "restartPolicy": "Always",
            **({"command": [_literal(word) for word in service.command]} if service.command else {}),
            "env": [{"name": name, "value": _literal(value)} for name, value in service.environment],
            "resources": {"requests": quantities(service_requests(service))},
            **({"startupProbe": _probe(service.ready)} if service.ready else {}),
        }
        for service in start.run.services
    ]


def _probe(command: tuple[str, ...]) -> dict[str, Any]:
    """Five minutes: large databases take their time."""
    times = {"periodSeconds": 1, "failureThreshold": 300, "timeoutSeconds": 10}
    return {"exec": {"command": list(command)}, **times}


def _sidecars(options: PodOptions) -> list[dict[str, Any]]:
    return [
        {
            "name": sidecar.name,
            "image": sidecar.image,
            "imagePullPolicy": options.pull_policy,
            **({"command": [_literal(word) for word in sidecar.command]} if sidecar.command else {}),
            "resources": SUPPORT_RESOURCES,
        }
        for sidecar in options.sidecars
    ]


_SHARED = (
    {"name": "workspace", "mountPath": WORKSPACE},
    {"name": "runner-temp", "mountPath": TEMP},
)


def _volumes(start: TaskStart, options: PodOptions, secret: str) -> list[dict[str, Any]]:
    cache = (
        {"persistentVolumeClaim": {"claimName": TOOL_CACHE_CLAIM}}
        if options.tool_cache is not None
        else {"emptyDir": {}}
    )
    volumes: list[dict[str, Any]] = [
        {"name": "workspace", "emptyDir": {}},
        {"name": "runner-temp", "emptyDir": {}},
        {"name": "tool-cache", **cache},
        {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": binary(options.shm_bytes)}},
    ]
    if start.run.script:
        items = [{"key": "script", "path": "script"}]
        volumes.append({"name": "payload", "secret": {"secretName": secret, "items": items}})
    return volumes


def _environment(start: TaskStart, secret_name: str) -> list[dict[str, Any]]:
    """What Rota says goes before what the user says. Secrets go before both, by reference."""
    values = {
        "GITHUB_WORKSPACE": WORKSPACE,
        "RUNNER_TEMP": TEMP,
        "RUNNER_TOOL_CACHE": TOOLS,
        "HOME": WORKSPACE,
        **dict(start.run.environment),
        **dict(start.environment),
        "ROTA_HOSTFILE": f"{FOLDER}/hosts",
    }
    values.pop(_DEVICES, None)
    if len(start.hosts) > 1:
        values["ROTA_PEERS"] = ",".join(peer_addresses(start))
    secret = [variable for variable, _ in start.secrets]
    return [
        *(
            {"name": variable, "value": _literal(value)}
            for variable, value in sorted(values.items())
            if variable not in secret
        ),
        *(
            {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret_name, "key": f"env.{variable}"}}}
            for variable in sorted(secret)
        ),
    ]


def peer_addresses(start: TaskStart) -> list[str]:
    """Of all tasks of the job, by rank, as they are found within the namespace."""
    service = names.service_name(start.ref.job)
    refs = (type(start.ref)(start.ref.job, rank, start.ref.fence) for rank in range(len(start.hosts)))
    return [f"{names.host_name(ref)}.{service}" for ref in refs]


def _literal(text: str) -> str:
    """Kubernetes would put variables in place of $(NAME)."""
    return text.replace("$", "$$")
