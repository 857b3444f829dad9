"""Nodes and pods as kubectl prints them, and how wide a text is."""

from __future__ import annotations


def widest(text: str) -> int:
    return max(len(line.rstrip()) for line in text.splitlines())


def pod(name: str, node: str = "", gang: str = "", cpu: str = "1", priority: int = 0) -> str:
    labels = f"batch.scheduling.k8s.io/gang: {gang}" if gang else ""
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: team, labels: {{{labels}}}}}
spec:
  {f"nodeName: {node}" if node else ""}
  priority: {priority}
  containers: [{{name: main, resources: {{requests: {{cpu: "{cpu}"}}}}}}]
status: {{phase: {"Running" if node else "Pending"}}}
---"""


def kube_node(name: str, cpu: int) -> str:
    return f"""
apiVersion: v1
kind: Node
metadata: {{name: {name}}}
status:
  allocatable: {{cpu: "{cpu}", memory: 8Gi, pods: "110"}}
  conditions: [{{type: Ready, status: "True"}}]
---"""
