"""Words for a node that a job waits for and that isn't there: `a node with 64 cpu, label disk=ssd`."""

from __future__ import annotations

from collections.abc import Iterator

from rota.model.job import Job
from rota.model.task import TaskSpec
from rota.views.amounts import count_text, spec_text
from rota.views.conditions import terms_text


def needed_node_text(job: Job) -> str:
    """Of each kind of its tasks, once."""
    wanted: dict[str, int] = {}
    for group in job.template.groups:
        text = _node(group.spec)
        wanted[text] = wanted.get(text, 0) + group.count
    together = job.template.min_count
    parts = [
        text if count == 1 else f"{text}, for each of {count_text(count, 'task')}"
        for text, count in wanted.items()
    ]
    room = f"; {count_text(together, 'task')} start together" if together > 1 else ""
    return "; ".join(parts) + room


def _node(spec: TaskSpec) -> str:
    return ", ".join(("a node with " + spec_text(spec), *_conditions(spec)))


def _conditions(spec: TaskSpec) -> Iterator[str]:
    if spec.node_name:
        yield f"named {spec.node_name}"
    if spec.node_selector:
        yield f"label {', '.join(f'{key}={value}' for key, value in spec.node_selector)}"
    if spec.node_affinity:
        yield f"where {terms_text(spec.node_affinity)}"
    if spec.pools:
        yield f"in pool {' or '.join(spec.pools)}"
    if spec.backends:
        yield f"of backend {' or '.join(spec.backends)}"
    if spec.exclusive:
        yield "for itself"
