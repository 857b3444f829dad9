from __future__ import annotations

import pytest
from msgspec.structs import replace

from rota.backends.kubernetes.network import default_policy, job_policy, service_of, tool_cache_claim
from rota.backends.kubernetes.options import ToolCache
from rota.model.ids import JobId
from tests.unit.backends.kubernetes.starts import OPTIONS

pytestmark = pytest.mark.covers("pod-7")

OURS = {"act.nektos.com/backend": "kubernetes", "act.nektos.com/instance": "rota"}
OF_JOB = {"act.nektos.com/job": "12", **OURS}


def test_the_tasks_of_a_job_have_a_service() -> None:
    assert service_of(JobId("12"), OPTIONS) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "act-job-12", "labels": OF_JOB},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": OF_JOB},
    }


def test_they_reach_each_other() -> None:
    assert job_policy(JobId("12"), OPTIONS) == {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "act-job-12", "labels": OF_JOB},
        "spec": {
            "podSelector": {"matchLabels": OF_JOB},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": {"matchLabels": OF_JOB}}]}],
        },
    }


def test_nobody_else_gets_in_but_the_proxy() -> None:
    proxy = {"matchExpressions": [{"key": "act.nektos.com/proxy", "operator": "Exists"}]}
    assert default_policy(OPTIONS) == {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "act-jobs-rota", "labels": OURS},
        "spec": {
            "podSelector": {"matchLabels": OURS},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": proxy}]}],
        },
    }
    other = default_policy(replace(OPTIONS, instance="Team A"))
    assert other["metadata"]["name"].startswith("act-jobs-team-a-x")


@pytest.mark.covers("pod-3")
def test_the_tool_cache() -> None:
    assert tool_cache_claim(ToolCache("fast")) == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "act-tool-cache"},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "10Gi"}},
            "storageClassName": "fast",
        },
    }
    assert "storageClassName" not in tool_cache_claim(ToolCache())["spec"]
