"""Objects that make pods, as YAML."""

from textwrap import dedent, indent

from tests.unit.kube_objects.reading import pod

TEMPLATE = (
    "{metadata: {labels: {app: web}}, spec: {containers: [{name: main, resources: {requests: {cpu: 2}}}]}}"
)


def workload(api: str, kind: str, spec: str, *, name: str = "web", owner: str = "", status: str = "") -> str:
    return "\n".join(
        [
            f"apiVersion: {api}",
            f"kind: {kind}",
            f"metadata: {{name: {name}, namespace: ml, {_owned(owner)}}}",
            "spec:",
            indent(dedent(spec), "  "),
            *([f"status: {status}"] if status else []),
        ]
    )


def made_by(owner: str, name: str, *, phase: str = "Running", node: str = "") -> str:
    spec = f"nodeName: {node}" if node else ""
    return pod(name, spec, namespace="ml", metadata=_owned(owner), status=f"phase: {phase}")


def _owned(owner: str) -> str:
    """By kind and name."""
    if not owner:
        return ""
    kind, name = owner.split()
    return f"ownerReferences: [{{kind: {kind}, name: {name}}}]"
