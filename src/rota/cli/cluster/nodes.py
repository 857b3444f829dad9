"""`rota nodes`: their state, and what operators do with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import typer

from rota.api.cluster import AgentDocument, NodeDocument
from rota.cli.client.connection import connect
from rota.cli.output import ListFormat, talk, talk_of_change
from rota.cli.showing import show_list
from rota.cli.tables import BAD, GOOD, PASSING, QUIET, Shown, Table, new_table
from rota.cli.text import Text
from rota.model.node import FACTS
from rota.views.amounts import asked_text, count_text
from rota.views.folding import fold_names
from rota.views.quoting import one_line

_BYTES = ("memory", "storage")
_WIDE = ("backend", "pool", "labels", "taints", "note")


def nodes(output: ListFormat) -> None:
    with connect() as server:
        found = list(server.nodes())
    show_list(found, output, lambda node: node.name, lambda some: node_tables(some, wide=output.is_wide))
    if not found and output in (ListFormat.TABLE, ListFormat.WIDE):
        talk("there are no nodes")


def cordon(names: Sequence[str], *, cordoned: bool, message: str | None, dry_run: bool) -> None:
    with connect() as server:
        for name in names:
            # Uncordoning ends a drain, too.
            draining = None if cordoned else False
            server.set_node(name, cordoned=cordoned, draining=draining, message=message, dry_run=dry_run)
    is_one = len(names) == 1
    if cordoned:
        done = f"{'is' if is_one else 'are'} cordoned: no new task starts there"
        talk_of_change(fold_names(names), done, "be cordoned", dry_run=dry_run)
    else:
        done = f"{'takes' if is_one else 'take'} new tasks again"
        talk_of_change(fold_names(names), done, "take new tasks again", dry_run=dry_run)


def drain(names: Sequence[str], *, message: str | None, dry_run: bool) -> None:
    with connect() as server:
        running = 0
        for name in names:
            running += server.set_node(name, draining=True, message=message, dry_run=dry_run).tasks
    done = f"{'is' if len(names) == 1 else 'are'} draining: {count_text(running, 'task')} may finish there"
    talk_of_change(fold_names(names), done, "be drained", dry_run=dry_run)


def taint(name: str, given: Sequence[str], *, dry_run: bool) -> None:
    """`KEY[=VALUE]:EFFECT` adds or replaces one, `KEY-` and `KEY:EFFECT-` remove."""
    with connect() as server:
        before = server.node(name)
        taints = {_key(text): text for text in before.taints}
        for text in given:
            if text.endswith("-"):
                taints = _without(taints, text[:-1])
            else:
                taints[_key(text)] = text
        after = server.set_node(
            name, taints=list(taints.values()), version=before.version or None, dry_run=dry_run
        )
    taints_text = f"the taints {', '.join(after.taints)}" if after.taints else "no taints"
    talk_of_change(name, f"has {taints_text}", f"have {taints_text}", dry_run=dry_run)


def _key(taint: str) -> tuple[str, str]:
    """Two taints with the same key and effect are one."""
    named, colon, effect = taint.rpartition(":")
    if not colon:
        raise typer.BadParameter(f'"{taint}" is not KEY[=VALUE]:EFFECT or KEY-', param_hint="TAINT")
    return named.partition("=")[0], effect


def _without(taints: Mapping[tuple[str, str], str], text: str) -> dict[tuple[str, str], str]:
    key, _, effect = text.partition(":")
    left = {one: full for one, full in taints.items() if one[0] != key or (effect and one[1] != effect)}
    if len(left) == len(taints):
        raise typer.BadParameter(f'there is no taint "{text}" to remove', param_hint="TAINT")
    return left


def node_tables(some: Sequence[NodeDocument], *, wide: bool) -> Iterable[Shown]:
    if not some:
        return
    yield nodes_table(some, wide=wide)


def nodes_table(some: Sequence[NodeDocument], *, wide: bool) -> Table:
    columns = ["node", "state", "cpu", "memory", "gpus", "tasks"]
    columns += ["shares"] if any(map(shares_text, some)) else []
    columns += ["load", "price/h", "memory in use", *_WIDE] if wide else ["note"]
    dropped = (
        "labels",
        "backend",
        "price/h",
        "memory in use",
        "load",
        "taints",
        "pool",
        "note",
        "shares",
        "gpus",
        "tasks",
    )
    right = ("tasks", "load", "memory in use", "price/h")
    table = new_table(*columns, right=right, whole=("state", "cpu", "memory", "gpus"), dropped=dropped)
    for one in some:
        cells: dict[str, str | Text] = {
            "node": one.name,
            "state": _state(one),
            "cpu": used_of(one, "cpu"),
            "memory": used_of(one, "memory"),
            "gpus": f"{one.gpus_used:g} of {one.gpus} {one.gpu_model}".rstrip() if one.gpus else "",
            "shares": shares_text(one),
            "tasks": str(one.tasks),
            "load": f"{one.load:.2f}",
            "memory in use": "" if one.memory_used is None else _amount("memory", one.memory_used),
            "price/h": one.price_per_hour or "",
            "backend": one.backend,
            "pool": one.pool,
            "labels": ", ".join(
                f"{key}={value}" for key, value in one.labels.items() if not key.startswith(FACTS)
            ),
            "taints": ", ".join(one.taints),
            "note": Text(one_line(one.message), style=QUIET),
        }
        table.add_row(*(cells[column] for column in columns))
    return table


def used_of(node: NodeDocument | AgentDocument, resource: str) -> str:
    """`3 of 8`, `1.5Gi of 16Gi`."""
    if resource not in node.capacity:
        return ""
    used, capacity = node.used.get(resource, 0), node.capacity[resource]
    return f"{_amount(resource, used)} of {_amount(resource, capacity)}"


def shares_text(node: NodeDocument) -> str:
    """`0.3 of GPU 1`: devices of which a part is taken, and a part is free."""
    shares = ((device, share) for device, share in enumerate(node.gpu_shares) if 0 < share < 1)
    return ", ".join(f"{share:g} of GPU {device}" for device, share in shares)


def _amount(resource: str, amount: float) -> str:
    if resource in _BYTES:
        return asked_text(resource, round(amount)).partition(" ")[0]
    return f"{amount:g}"


def _state(node: NodeDocument) -> Text:
    if not node.ready:
        return Text("away", style=BAD)
    if node.draining:
        return Text("draining", style=PASSING)
    if node.cordoned:
        return Text("cordoned", style=PASSING)
    return Text("ready", style=GOOD)
