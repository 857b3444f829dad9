"""Decisions so small that the way to another thread takes longer than they do.

An idle server that is given a job decides within a millisecond; on a busy machine a thread that is woken
waits several for its turn. What is decided in the event loop has a bound: few nodes, tasks and jobs, no rules
about others, nothing from outside. The largest that is small takes some 5 ms.
"""

from __future__ import annotations

from rota.model.job import JobTemplate
from rota.model.policy import Policy
from rota.snapshot.state import Snapshot

MOST_NODES = 16
MOST_RUNNING = 64
MOST_LANES = 4
MOST_WAITING = 16
"""Tasks; and so jobs, and groups."""


def has_plugins(policy: Policy) -> bool:
    return any(one.plugins or one.selection.plugin for one in policy.schedulers)


def is_small(snapshot: Snapshot) -> bool:
    """Of a policy without plugins."""
    waiting, running = snapshot.waiting, snapshot.running
    return (
        len(snapshot.nodes) <= MOST_NODES
        and len(running) <= MOST_RUNNING
        and len(waiting.all) <= MOST_LANES
        and waiting.task_count <= MOST_WAITING
        and all(_is_plain(lane.key.template) for lane in waiting.all)
        and all(_is_plain(template) for template, _ in running.kinds)
    )


def _is_plain(template: JobTemplate) -> bool:
    if template.topology:
        return False
    return not any(group.spec.minds_others for group in template.groups)
