"""Why each node refuses a task: the reasons behind the masks, in the order of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rota.engine.placing.board import Board
from rota.engine.placing.place import would_place
from rota.engine.placing.signature import Signature
from rota.engine.placing.topology import DomainRules, even_allowed, near_allowed
from rota.engine.placing.work import Work
from rota.engine.plugin import NodeFilter, RefusalOrder
from rota.model.resources import DISK, UNBOUND, VOLUMES
from rota.model.task import JobAffinity
from rota.model.verdict import Code, Kind, Reason, Refusal, Verdict
from rota.snapshot import rows
from rota.snapshot.rows import is_amount, is_of_volumes, is_port

Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class NodeRefusal:
    """One reason and the nodes for which it is the first."""

    reason: Reason
    nodes: Bools


Judged = tuple[Verdict, list[NodeRefusal]]
"""Why a job can't start, in all and node by node."""

RoomWhenIdle = Callable[[], int]
"""How many tasks of the job could start together if nothing else ran."""


def verdict_of(
    work: Work,
    board: Board,
    filters: Sequence[NodeFilter],
    room_when_idle: RoomWhenIdle,
    order: RefusalOrder = RefusalOrder.LASTING_FIRST,
) -> Judged:
    """Why the job can't start, from the group that has the fewest nodes to go to."""
    if not len(board.nodes):
        return Verdict(Kind.NEVER, (Refusal(Reason(Code.NO_NODES), 0),)), []
    # One trial tells it for all groups: it costs as much as placing the job.
    too_little_room = cache(partial(_too_little_room, work, board))
    groups = {
        group: _group_refusals(work.signatures[group], board, filters, order, too_little_room)
        for group, count in enumerate(work.counts)
        if count
    }
    hopeful = {group for group, refusals in groups.items() if _is_possible(refusals)}
    # Groups that can never start matter only if it needs some of their tasks.
    enough = sum(work.counts[group] for group in hopeful) >= work.needed
    found = min((groups[group] for group in groups if (group in hopeful) is enough), key=_room_for)
    kind = Kind.NOT_NOW if _is_possible(found) else Kind.NEVER
    if kind is Kind.NOT_NOW:
        most = _room_at_best(work, board, found, room_when_idle)
        if most < work.needed:
            kind = Kind.NEVER
            found = _beyond(work, found, most)
    refusals = _merged(found)
    counted = tuple(Refusal(refusal.reason, int(refusal.nodes.sum())) for refusal in refusals)
    return Verdict(kind, counted), refusals


def _is_possible(refusals: list[NodeRefusal]) -> bool:
    return any(refusal.reason.kind is Kind.NOT_NOW for refusal in refusals)


def _room_for(refusals: list[NodeRefusal]) -> int:
    return sum(refusal.reason.available for refusal in refusals if refusal.reason.code is Code.GANG)


def _group_refusals(
    signature: Signature,
    board: Board,
    filters: Sequence[NodeFilter],
    order: RefusalOrder,
    too_little_room: Callable[[], Reason],
) -> list[NodeRefusal]:
    """A reason for every node; those with room for a task of the group lack room for the rest."""
    refusals = node_refusals(signature, board, filters, order)
    left = np.ones(len(board.nodes), dtype=np.bool_)
    for refusal in refusals:
        left &= ~refusal.nodes
    if left.any():
        refusals.append(NodeRefusal(too_little_room(), left))
    return refusals


def _too_little_room(work: Work, board: Board) -> Reason:
    least = Work(work.signatures, work.counts, 1, work.topology, work.placed_at)
    seats = would_place(least, board)
    code = Code.TOPOLOGY if work.topology else Code.GANG
    return Reason(code, _topology_key(work), work.needed, len(seats or ()), _topology_text(work))


def _room_at_best(work: Work, board: Board, refusals: list[NodeRefusal], room_when_idle: RoomWhenIdle) -> int:
    """How many tasks could ever start together. By amounts where only these matter, else by trying
    it on an idle cluster."""
    if work.needed == 1 and not work.topology:
        return 1
    signature = work.signatures[0]
    if len(work.signatures) == 1 and not work.topology and not signature.domain_rules.any:
        return _room_when_empty(signature, board, refusals)
    return room_when_idle() - len(work.placed_at)


def _beyond(work: Work, refusals: list[NodeRefusal], most: int) -> list[NodeRefusal]:
    """The same refusals, with a reason that will not pass for the nodes that have room."""
    code = Code.TOPOLOGY_BEYOND_CAPACITY if work.topology else Code.GANG_BEYOND_CAPACITY
    reason = Reason(code, _topology_key(work), work.needed, max(0, most), _topology_text(work))
    others = [one for one in refusals if one.reason.code not in (Code.GANG, Code.TOPOLOGY)]
    left = ~np.logical_or.reduce([one.nodes for one in others]) if others else refusals[0].nodes
    return [*others, NodeRefusal(reason, left)]


def _merged(refusals: list[NodeRefusal]) -> list[NodeRefusal]:
    """One entry a reason, the most frequent first."""
    nodes: dict[Reason, Bools] = {}
    for refusal in refusals:
        known = nodes.get(refusal.reason)
        nodes[refusal.reason] = refusal.nodes if known is None else known | refusal.nodes
    ordered = sorted(nodes, key=lambda r: (-int(nodes[r].sum()), r.code.value, r.subject, r.detail))
    return [NodeRefusal(reason, nodes[reason]) for reason in ordered]


def _topology_key(work: Work) -> str:
    return work.topology[0].key if work.topology else ""


def _topology_text(work: Work) -> str:
    return ", ".join(f"{rule.key}: {rule.count if rule.count else rule.mode.value}" for rule in work.topology)


def _room_when_empty(signature: Signature, board: Board, refusals: list[NodeRefusal]) -> int:
    """How many such tasks the cluster could hold if nothing else ran."""
    usable = np.ones(len(board.nodes), dtype=np.bool_)
    for refusal in refusals:
        if refusal.reason.kind is Kind.NEVER:
            usable &= ~refusal.nodes
    take = signature.demand.take
    room = np.full(len(board.nodes), rows.NODE_SHARES, dtype=np.int64)
    for row in np.flatnonzero(take > 0).tolist():
        if row not in (rows.GPU_MILLI, rows.GPU_BEST, rows.GPU_IDLE):
            np.minimum(room, board.nodes.capacity[row] // take[row], out=room)
    if signature.demand.gpu.is_fraction:
        per_device = board.nodes.gpu_capacity // signature.demand.gpu.share_milli
        np.minimum(room, per_device.sum(axis=1), out=room)
    elif signature.demand.uses_gpu:
        idle = board.nodes.capacity[rows.GPU_IDLE] // signature.demand.gpu.count
        np.minimum(room, idle, out=room)
    return int(room[usable].sum())


def node_refusals(
    signature: Signature,
    board: Board,
    filters: Sequence[NodeFilter],
    order: RefusalOrder = RefusalOrder.LASTING_FIRST,
) -> list[NodeRefusal]:
    """Each node at most once, under the first reason that refuses it."""
    in_order = _lasting_first if order is RefusalOrder.LASTING_FIRST else _as_asked
    open_nodes = np.ones(len(board.nodes), dtype=np.bool_)
    found: list[NodeRefusal] = []
    for reason, refused in in_order(signature, board, filters):
        first = refused & open_nodes
        if first.any():
            found.append(NodeRefusal(reason, first))
            open_nodes &= ~first
            if not open_nodes.any():
                break
    return [_with_amounts(refusal, signature, board) for refusal in found]


def _as_asked(
    signature: Signature, board: Board, filters: Sequence[NodeFilter]
) -> Iterator[tuple[Reason, Bools]]:
    fixed = _fixed_refusals(signature, board, filters)
    yield from (one for one in fixed if one[0].code not in _AFTER_AMOUNTS)
    short = list(_insufficient(signature, board))
    yield from (one for one in short if one[0].code not in _AFTER_AMOUNTS)
    yield from _lacking_together(signature, board)
    by_rules = list(_affinity_refusals(signature.domain_rules))
    for code in _VOLUMES_AS_ASKED:
        yield from (one for one in (*short, *by_rules, *fixed) if one[0].code is code)
    yield from _spread_refusals(signature.domain_rules)
    yield from (one for one in by_rules if one[0].code is not Code.CLAIM_IN_USE)
    yield from signature.plugin_refusals()


_VOLUMES_AS_ASKED = (
    Code.DISK_TAKEN,
    Code.CLAIM_IN_USE,
    Code.VOLUME_LIMIT,
    Code.VOLUME_AFFINITY,
    Code.VOLUME_UNBOUND,
    Code.VOLUME_SPACE,
    Code.VOLUME_ZONE,
)
_AFTER_AMOUNTS = frozenset({Code.BEYOND_CAPACITY, Code.INSUFFICIENT, *_VOLUMES_AS_ASKED})


def _lasting_first(
    signature: Signature, board: Board, filters: Sequence[NodeFilter]
) -> Iterator[tuple[Reason, Bools]]:
    fixed = _fixed_refusals(signature, board, filters)
    by_rules = list(_domain_refusals(signature.domain_rules))
    by_plugins = list(signature.plugin_refusals())
    yield from (one for one in (*fixed, *by_rules) if one[0].kind is Kind.NEVER)
    yield from (one for one in fixed if one[0].kind is not Kind.NEVER)
    yield from _insufficient(signature, board)
    yield from (one for one in by_rules if one[0].kind is not Kind.NEVER)
    yield from by_plugins


def _fixed_refusals(
    signature: Signature, board: Board, filters: Sequence[NodeFilter]
) -> list[tuple[Reason, Bools]]:
    """What follows from the nodes and the task alone; kept from cycle to cycle."""
    nodes, key = board.nodes, ("refusals", signature.task.spec, tuple(filters))
    kept: list[tuple[Reason, Bools]] | None = nodes.derived.get(key)
    if kept is not None:
        return kept
    every = list(_beyond_capacity(signature, board))
    if not signature.static_mask.all():
        every = [*chain.from_iterable(one.refusals(signature.task, nodes) for one in filters), *every]
    found = [(reason, refused) for reason, refused in every if refused.any()]
    return found if nodes.has_passing_time else nodes.keep(key, found)


def _resource_name(row: int, board: Board) -> str:
    return board.nodes.index.names[row]


def _asked_rows(signature: Signature) -> list[tuple[int, int]]:
    """(row, need), amounts a user knows first; the GPU total says nothing that devices don't."""
    need = signature.demand.need
    order = (rows.CPU, rows.MEMORY, rows.GPU_IDLE, rows.GPU_BEST, rows.STORAGE, rows.SLOTS)
    extended = range(rows.GPU_ROWS, len(need))
    return [(row, int(need[row])) for row in (*order, *extended) if need[row] > 0]


def _beyond_capacity(signature: Signature, board: Board) -> Iterator[tuple[Reason, Bools]]:
    for row, need in _asked_rows(signature):
        if is_amount(_resource_name(row, board)):
            yield _amount_reason(Code.BEYOND_CAPACITY, row, need, board), board.nodes.capacity[row] < need


def _insufficient(signature: Signature, board: Board) -> Iterator[tuple[Reason, Bools]]:
    shares = int(signature.demand.need[rows.SHARES])
    busy = board.free[rows.SHARES] < shares
    code = Code.NODE_IN_USE if shares == rows.NODE_SHARES else Code.NODE_EXCLUSIVE
    yield Reason(code), busy
    for row, need in _asked_rows(signature):
        short = board.free[row] < need
        name = _resource_name(row, board)
        if is_port(name):
            yield Reason(Code.PORT_TAKEN, name.removeprefix("port:")), short
        elif is_of_volumes(name):
            kind, _, subject = name.partition(":")
            yield Reason(_OF_VOLUMES[f"{kind}:"], subject), short
        else:
            yield _amount_reason(Code.INSUFFICIENT, row, need, board), short


_OF_VOLUMES = {
    DISK: Code.DISK_TAKEN,
    VOLUMES: Code.VOLUME_LIMIT,
    UNBOUND: Code.VOLUME_UNBOUND,
}


def _lacking_together(signature: Signature, board: Board) -> Iterator[tuple[Reason, Bools]]:
    """Nodes that lack the same amounts, under one reason: the first is its subject, the others its detail."""
    asked = [(row, need) for row, need in _asked_rows(signature) if is_amount(_resource_name(row, board))]
    if not asked:
        return
    rows_asked, needs = (np.array(column) for column in zip(*asked, strict=True))
    short = board.free[rows_asked] < needs[:, None]
    beyond = (board.nodes.capacity[rows_asked] < needs[:, None]).any(axis=0)
    kinds, kind_of = np.unique(np.vstack([short, beyond]), axis=1, return_inverse=True)
    for kind in range(kinds.shape[1]):
        *lacking, is_beyond = kinds[:, kind].tolist()
        found = [pair for pair, is_short in zip(asked, lacking, strict=True) if is_short]
        if not found:
            continue
        code = Code.BEYOND_CAPACITY if is_beyond else Code.INSUFFICIENT
        others = ",".join(_resource_name(row, board) for row, _ in found[1:])
        yield replace(_amount_reason(code, *found[0], board), detail=others), kind_of.ravel() == kind


def _amount_reason(code: Code, row: int, need: int, board: Board) -> Reason:
    if row == rows.GPU_IDLE:
        return Reason(code, "gpu", need * 1000)
    if row == rows.GPU_BEST:
        return Reason(code, "gpu share", need)
    return Reason(code, _resource_name(row, board), need)


def _with_amounts(refusal: NodeRefusal, signature: Signature, board: Board) -> NodeRefusal:
    """Adds the most that any of the refused nodes has of what is lacking."""
    reason = refusal.reason
    if reason.code not in (Code.BEYOND_CAPACITY, Code.INSUFFICIENT):
        return refusal
    table = board.nodes.capacity if reason.code is Code.BEYOND_CAPACITY else board.free
    if reason.subject == "gpu":
        most = 1000 * int(table[rows.GPU_IDLE][refusal.nodes].max())
    elif reason.subject == "gpu share":
        most = int(table[rows.GPU_BEST][refusal.nodes].max())
    else:
        most = int(table[board.nodes.index.row[reason.subject]][refusal.nodes].max())
    return NodeRefusal(replace(reason, available=max(0, most)), refusal.nodes)


def _domain_refusals(rules: DomainRules) -> Iterator[tuple[Reason, Bools]]:
    yield from _affinity_refusals(rules)
    yield from _spread_refusals(rules)


def _affinity_refusals(rules: DomainRules) -> Iterator[tuple[Reason, Bools]]:
    for near in rules.near:
        yield Reason(Code.TOPOLOGY_LABEL_MISSING, near.term.topology_key), ~near.counter.has_key
        yield Reason(Code.JOB_AFFINITY, term_text(near.term)), ~near_allowed(near)
    for away in rules.away:
        if away.term is not None and away.term.is_for_one_at_a_time:
            what = away.term.selector.requirements[0].key.removeprefix("\0")
            yield Reason(Code.CLAIM_IN_USE, what), ~away.allowed()
        elif away.term is not None:
            yield Reason(Code.JOB_ANTI_AFFINITY, term_text(away.term)), ~away.allowed()
        else:
            yield Reason(Code.RUNNING_ANTI_AFFINITY), ~away.allowed()


def _spread_refusals(rules: DomainRules) -> Iterator[tuple[Reason, Bools]]:
    for even in rules.even:
        if even.required:
            yield Reason(Code.TOPOLOGY_LABEL_MISSING, even.key), ~even.counter.has_key
            yield Reason(Code.SPREAD, even.key, asked=even.max_skew), ~even_allowed(even)


def term_text(term: JobAffinity) -> str:
    conditions = []
    for requirement in term.selector.requirements:
        values = ",".join(requirement.values)
        conditions.append(f"{requirement.key} {requirement.operator.value} {values}".strip())
    return f"{term.topology_key}: {' and '.join(conditions) or 'any job'}"
