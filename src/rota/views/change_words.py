"""Words for changes that would let a job start, by their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rota.model.changes import (
    AskForLess,
    DropJobAffinity,
    DropSpread,
    DropTopology,
    PayMore,
    RaisePriority,
    ShareNodes,
    ShortenTimeLimit,
    StartWithFewer,
)
from rota.model.explanation import Change
from rota.model.quantities import format_duration
from rota.plugins.gpu_model import AllowGpuModel
from rota.plugins.node_affinity import DropNodeAffinity
from rota.plugins.node_selector import DropNodeSelector, LabelNode
from rota.plugins.pool import AllowPool
from rota.plugins.taints import Tolerate
from rota.views.amounts import (
    amount_text,
    asked_amount_text,
    count_text,
    noun_text,
    price_text,
    priority_text,
)
from rota.views.conditions import requirements_text

C = TypeVar("C", bound=Change)


def _said(kind: type[C], words: Callable[[C], str]) -> tuple[type[Change], Callable[[Any], str]]:
    return kind, words


def _less(change: AskForLess) -> str:
    noun = noun_text(change.resource, of_one_device=change.of_one_device)
    asks = asked_amount_text(change.resource, change.asked)
    if not change.most:
        return f"ask for no {noun} (asks {asks})"
    return f"ask for at most {amount_text(change.resource, change.most)} {noun} (asks {asks})"


def _shorter(change: ShortenTimeLimit) -> str:
    has = format_duration(change.asked_ms) if change.asked_ms else "none"
    return f"set a time limit of at most {format_duration(change.most_ms)} (has {has})"


def _priority(change: RaisePriority) -> str:
    return f"raise the priority to {priority_text(change.priority)} (is {priority_text(change.asked)})"


def _pay(change: PayMore) -> str:
    return f"pay up to {price_text(change.price_micro)} a task (allows {price_text(change.limit_micro)})"


def _without_affinity(change: DropJobAffinity) -> str:
    return f"drop the affinity over {change.topology_key} with {requirements_text(change.requirements)}"


CHANGES: dict[type[Change], Callable[[Any], str]] = dict(
    (
        _said(AskForLess, _less),
        _said(StartWithFewer, lambda c: f"start with {count_text(c.count, 'task')} (needs {c.needed})"),
        _said(Tolerate, lambda c: f"tolerate {', '.join(taint.notation for taint in c.taints)}"),
        _said(DropNodeSelector, lambda c: f"drop the node selector {c.key}={c.value}"),
        _said(LabelNode, lambda c: f"give node {c.node} the label {c.key}={c.value}"),
        _said(DropNodeAffinity, lambda c: "drop the node affinity"),
        _said(AllowPool, lambda c: f"allow the pool {c.pool}"),
        _said(AllowGpuModel, lambda c: f"allow the GPU model {c.model}"),
        _said(DropJobAffinity, _without_affinity),
        _said(DropSpread, lambda c: f"drop the spread over {c.topology_key}"),
        _said(ShareNodes, lambda c: "share nodes: drop exclusive"),
        _said(PayMore, _pay),
        _said(DropTopology, lambda c: f"drop the topology rule over {c.key}"),
        _said(ShortenTimeLimit, _shorter),
        _said(RaisePriority, _priority),
    )
)
