"""Nodes, and what operators do to them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from rota.api.cluster import NodeDocument
from rota.api.documents import Page
from rota.api.people import Role
from rota.control.errors import Changed, NotFound
from rota.control.versions import version_of
from rota.loop.desk.nodes import NodesDesk
from rota.model.ids import NodeName
from rota.model.taints import Effect, Taint
from rota.server.http.problems import bad_input, printable
from rota.server.http.reading import read_name
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Form, Query, Route
from rota.store.writing.batch import NodeSettings

TAG = "nodes"


class NodeChange(Form, frozen=True, kw_only=True):
    """What isn't named stays as it is."""

    cordoned: Annotated[bool, Meta(description="No new task starts there.")] | UnsetType = UNSET
    draining: (
        Annotated[bool, Meta(description="Running tasks finish, and no new task starts.")] | UnsetType
    ) = UNSET
    taints: (
        Annotated[list[str], Meta(max_length=100, description="As in dedicated=ml:NoSchedule.")] | UnsetType
    ) = UNSET
    message: Annotated[str, Meta(max_length=1000)] | UnsetType = UNSET


async def list_nodes(call: Call[Query, None], nodes: NodesDesk) -> Reply:
    return json_reply(Page[NodeDocument](items=list(await nodes.nodes())))


async def show_node(call: Call[Query, None], nodes: NodesDesk) -> Reply:
    return json_reply(await _node(call, nodes))


async def change_node(call: Call[ChangeQuery, NodeChange], nodes: NodesDesk) -> Reply:
    """Answers with the node as it then is. Changes of others to what isn't named are never undone."""
    node = await _node(call, nodes)
    while True:
        before = await nodes.node_settings(NodeName(node.name)) or NodeSettings(NodeName(node.name))
        settings = _changed(call, before)
        try:
            await nodes.set_node(settings, call.who, call.query.dry_run, call.if_match or version_of(before))
            break
        except Changed:
            if call.if_match is not None:
                raise
    if not call.query.dry_run:
        return json_reply(await _node(call, nodes))
    ours = {taint.notation for taint in before.taints}
    shown = replace(
        node,
        cordoned=settings.cordoned,
        draining=settings.draining,
        taints=[one for one in node.taints if one not in ours] + [one.notation for one in settings.taints],
        message=settings.message,
    )
    return json_reply(shown)


def _changed(call: Call[ChangeQuery, NodeChange], before: NodeSettings) -> NodeSettings:
    form = call.body
    return NodeSettings(
        before.name,
        cordoned=before.cordoned if form.cordoned is UNSET else form.cordoned,
        draining=before.draining if form.draining is UNSET else form.draining,
        taints=before.taints
        if form.taints is UNSET
        else read_taints(form.taints, call.now_ms, before.taints),
        message=before.message if form.message is UNSET else form.message,
    )


async def _node(call: Call[Any, Any], nodes: NodesDesk) -> NodeDocument:
    name = read_name(call.names["name"].removeprefix("/"))
    node = next((node for node in await nodes.nodes() if node.name == name), None)
    if node is None:
        raise NotFound("node", name)
    return node


def read_taints(texts: list[str], now_ms: int, before: tuple[Taint, ...] = ()) -> tuple[Taint, ...]:
    """One that was there already keeps its time."""
    known = {taint.notation: taint for taint in before}
    taints: dict[tuple[str, Effect], Taint] = {}
    for index, text in enumerate(texts):
        taint = known.get(text) or _taint(text, f"taints[{index}]", now_ms)
        if taints.setdefault((taint.key, taint.effect), taint) is not taint:
            raise bad_input(f"taints[{index}]", "another has the same key and effect", "remove one")
    return tuple(taints.values())


def _taint(text: str, field: str, now_ms: int) -> Taint:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    if not key or effect not in [one.value for one in Effect]:
        raise bad_input(
            field, f"{printable(text, 60)} is not a taint", "write it like dedicated=ml:NoSchedule"
        )
    return Taint(read_name(key, field), Effect(effect), value and read_name(value, field), now_ms)


ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="GET",
        path="/v1/nodes",
        call=list_nodes,
        summary="List nodes",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: Page[NodeDocument]},
    ),
    Route(
        method="GET",
        path="/v1/nodes/{name}",
        call=show_node,
        summary="Show a node",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: NodeDocument},
        deep=True,
    ),
    Route(
        method="PATCH",
        path="/v1/nodes/{name}",
        call=change_node,
        summary="Cordon, drain or taint a node",
        tag=TAG,
        role=Role.OPERATOR,
        query=ChangeQuery,
        body=NodeChange,
        answers={200: NodeDocument},
        deep=True,
        takes_version=True,
        examples={"drain": {"draining": True, "message": "disk replaced at noon"}},
    ),
)
