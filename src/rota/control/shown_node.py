"""A node as the engine is shown it: what its backend reports, with what operators did."""

from __future__ import annotations

from msgspec.structs import replace

from rota.model.node import Node, NodeSpec
from rota.store.writing.batch import Agent, AgentNode, NodeSettings


def shown_node(node: Node, agent: Agent | None, settings: NodeSettings | None) -> Node:
    if agent is not None:
        node = replace(node, spec=_as_invited(node.spec, agent.node))
    if settings is None:
        return node
    spec = replace(node.spec, taints=tuple(dict.fromkeys((*node.spec.taints, *settings.taints))))
    cordoned = node.cordoned or settings.cordoned or settings.draining
    return replace(node, spec=spec, cordoned=cordoned)


def _as_invited(spec: NodeSpec, said: AgentNode) -> NodeSpec:
    """What operators said when they invited an agent goes before what it says itself."""
    return replace(
        spec,
        pool=said.pool or spec.pool,
        labels=tuple(sorted({**dict(spec.labels), **dict(said.labels)}.items())),
        taints=tuple(dict.fromkeys((*spec.taints, *said.taints))),
        price_micro_per_hour=said.price_micro_per_hour or spec.price_micro_per_hour,
    )
