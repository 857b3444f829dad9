"""Manifests in tests: written as YAML, only the part that the test is about."""

from textwrap import dedent, indent

import pytest

from rota.intake.documents.document import parse_documents
from rota.intake.errors import InputError
from rota.intake.kubernetes import GangKeys, Reading, read_cluster
from rota.model.job import JobRecord
from rota.model.node import Node
from rota.model.task import TaskSpec


def read(*manifests: str, gang_keys: GangKeys | None = None) -> Reading:
    """All of them as documents of one file."""
    text = "\n---\n".join(map(dedent, manifests))
    documents = parse_documents(text.encode(), "cluster.yaml")
    return read_cluster(documents, gang_keys) if gang_keys else read_cluster(documents)


def refusal(*manifests: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read(*manifests)
    return caught.value


def jobs(*manifests: str) -> dict[str, JobRecord]:
    return {record.job.id: record for record in read(*manifests).records.jobs}


def pod(
    name: str = "web",
    spec: str = "",
    *,
    namespace: str = "shop",
    metadata: str = "",
    status: str = "",
) -> str:
    """A pod with one container that asks for nothing, unless the spec says which it has."""
    has_containers = any(line.startswith("containers:") for line in dedent(spec).splitlines())
    containers = "" if has_containers else "containers: [{name: main}]"
    return "\n".join(
        [
            "apiVersion: v1",
            "kind: Pod",
            "metadata:",
            f"  name: {name}",
            f"  namespace: {namespace}",
            indent(dedent(metadata).strip("\n"), "  "),
            "spec:",
            f"  {containers}",
            indent(dedent(spec).strip("\n"), "  "),
            *(["status:", indent(dedent(status).strip("\n"), "  ")] if status else []),
        ]
    )


def node(name: str = "n1", status: str = "", spec: str = "") -> str:
    return "\n".join(
        [
            "apiVersion: v1",
            "kind: Node",
            f"metadata: {{name: {name}}}",
            *(["spec:", indent(dedent(spec).strip("\n"), "  ")] if spec else []),
            "status:",
            indent(dedent(status or "allocatable: {cpu: 4, memory: 8Gi, pods: 110}").strip("\n"), "  "),
        ]
    )


def task_spec(spec: str = "", *others: str, metadata: str = "", status: str = "") -> TaskSpec:
    """Of a pod with this spec, in a cluster that has these other objects too."""
    return (
        jobs(pod(spec=spec, metadata=metadata, status=status), *others)["shop/web"]
        .job.template.groups[0]
        .spec
    )


def only_node(status: str = "", spec: str = "") -> Node:
    [read_node] = read(node(status=status, spec=spec)).records.nodes
    return read_node
