"""Who reaches whom: a headless Service for the tasks of a job, and NetworkPolicies. Pure."""

from __future__ import annotations

from typing import Any

from rota.backends.kubernetes import names
from rota.backends.kubernetes.options import TOOL_CACHE_CLAIM, PodOptions, ToolCache
from rota.backends.kubernetes.resources import binary
from rota.model.ids import JobId

PROXY_LABEL = f"{names.LABELS}proxy"
"""Pods of the namespace with this label, whatever its value, may reach all jobs."""
DEFAULT_POLICY = "act-jobs"


def service_of(job: JobId, options: PodOptions) -> dict[str, Any]:
    """Each pod's host name resolves as soon as it has an address, also before it is ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": names.service_name(job), "labels": _labels(options, job)},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": _labels(options, job),
        },
    }


def job_policy(job: JobId, options: PodOptions) -> dict[str, Any]:
    """The tasks of a job reach each other."""
    selector = {"matchLabels": _labels(options, job)}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": names.service_name(job), "labels": _labels(options, job)},
        "spec": {
            "podSelector": selector,
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": selector}]}],
        },
    }


def default_policy(options: PodOptions) -> dict[str, Any]:
    """Nobody gets in but the proxy. One for all jobs of the namespace."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": names.of_instance(DEFAULT_POLICY, options.instance),
            "labels": _labels(options),
        },
        "spec": {
            "podSelector": {"matchLabels": _labels(options)},
            "policyTypes": ["Ingress"],
            "ingress": [
                {
                    "from": [
                        {"podSelector": {"matchExpressions": [{"key": PROXY_LABEL, "operator": "Exists"}]}}
                    ]
                }
            ],
        },
    }


def tool_cache_claim(cache: ToolCache) -> dict[str, Any]:
    storage_class = {"storageClassName": cache.storage_class} if cache.storage_class else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": TOOL_CACHE_CLAIM},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": binary(cache.size_bytes)}},
            **storage_class,
        },
    }


def _labels(options: PodOptions, job: JobId | None = None) -> dict[str, str]:
    labels = {names.BACKEND: names.KIND, names.INSTANCE: names.label_value(options.instance)}
    return labels if job is None else {names.JOB: names.label_value(job), **labels}
