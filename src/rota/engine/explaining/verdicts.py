"""Why each node refuses a task: the reasons behind the masks, in the order of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain

import numpy as np
from msgspec.structs import replace

from rota.engine.placing.board import Board
from rota.engine.placing.place import would_place
from rota.engine.placing.signature import Signature
from rota.engine.placing.topology import DomainRules, even_allowed, near_allowed
from rota.engine.placing.work import Work
from rota.engine.plugin import NodeFilter, RefusalOrder
from rota.model.reasons import (
    BeyondCapacity,
    ClaimInUse,
    DiskTaken,
    GangBeyondCapacity,
    GangLacksRoom,
    Insufficient,
    JobAffinityUnmet,
    JobAntiAffinityUnmet,
    LayoutBeyondCapacity,
    LayoutLacksRoom,
    MemoryInUse,
    NodeExclusive,
    NodeInUse,
    NoNodes,
    NoSpaceForVolume,
    NoVolumeToBind,
    OtherDomains,
    PortTaken,
    RunningAntiAffinity,
    SpreadUneven,
    TooFewDomains,
    TooManyVolumes,
    TopologyLabelMissing,
    VolumeInOtherZone,
    VolumeOutOfReach,
)
from rota.model.resources import DISK, VOLUMES, WHOLE_GPU_MILLI
from rota.model.task import JobAffinity
from rota.model.verdict import Kind, Reason, Refusal, Verdict
from rota.snapshot import rows
from rota.snapshot.arrays import Bools
from rota.snapshot.rows import is_amount, is_of_volumes


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
        return Verdict(Kind.NEVER, (Refusal(NoNodes(), 0),)), []
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
    gangs = (one.reason for one in refusals if isinstance(one.reason, GangLacksRoom))
    return sum(reason.fitting for reason in gangs)


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
    fitting = len(would_place(least, board) or ())
    if work.topology:
        return LayoutLacksRoom(work.topology, work.needed, fitting)
    return GangLacksRoom(work.needed, fitting)


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
    fitting = max(0, most)
    reason: Reason = GangBeyondCapacity(work.needed, fitting)
    if work.topology:
        reason = LayoutBeyondCapacity(work.topology, work.needed, fitting)
    others = [one for one in refusals if not isinstance(one.reason, GangLacksRoom | LayoutLacksRoom)]
    left = ~np.logical_or.reduce([one.nodes for one in others]) if others else refusals[0].nodes
    return [*others, NodeRefusal(reason, left)]


def _merged(refusals: list[NodeRefusal]) -> list[NodeRefusal]:
    """One entry a reason, the most frequent first."""
    nodes: dict[Reason, Bools] = {}
    for refusal in refusals:
        known = nodes.get(refusal.reason)
        nodes[refusal.reason] = refusal.nodes if known is None else known | refusal.nodes
    ordered = sorted(nodes, key=lambda reason: (-int(nodes[reason].sum()), reason.code, repr(reason)))
    return [NodeRefusal(reason, nodes[reason]) for reason in ordered]


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
    return [_with_amounts(refusal, board) for refusal in found]


def _as_asked(
    signature: Signature, board: Board, filters: Sequence[NodeFilter]
) -> Iterator[tuple[Reason, Bools]]:
    fixed = _fixed_refusals(signature, board, filters)
    yield from (one for one in fixed if not isinstance(one[0], _AFTER_AMOUNTS))
    short = list(_insufficient(signature, board))
    yield from (one for one in short if not isinstance(one[0], _AFTER_AMOUNTS))
    yield from _lacking_together(signature, board)
    by_rules = list(_affinity_refusals(signature.domain_rules))
    for kind in _VOLUMES_AS_ASKED:
        yield from (one for one in (*short, *by_rules, *fixed) if isinstance(one[0], kind))
    yield from _spread_refusals(signature.domain_rules)
    yield from (one for one in by_rules if not isinstance(one[0], ClaimInUse))
    yield from signature.plugin_refusals()


_VOLUMES_AS_ASKED = (
    DiskTaken,
    ClaimInUse,
    TooManyVolumes,
    VolumeOutOfReach,
    NoVolumeToBind,
    NoSpaceForVolume,
    VolumeInOtherZone,
)
_AFTER_AMOUNTS = (BeyondCapacity, Insufficient, *_VOLUMES_AS_ASKED)


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
            yield _amount_reason(BeyondCapacity, row, need, board), board.nodes.capacity[row] < need


def _insufficient(signature: Signature, board: Board) -> Iterator[tuple[Reason, Bools]]:
    shares = int(signature.demand.need[rows.SHARES])
    busy = board.free[rows.SHARES] < shares
    yield NodeInUse() if shares == rows.NODE_SHARES else NodeExclusive(), busy
    ports = {name: port for one in signature.task.spec.ports for name, port in rows.named_ports(one)}
    for row, need in _asked_rows(signature):
        short = board.free[row] < need
        name = _resource_name(row, board)
        if name in ports:
            yield PortTaken(ports[name]), short
        elif is_of_volumes(name):
            yield _volume_reason(name), short
        elif row == rows.MEMORY and (others := board.nodes.memory_others).any():
            by_others = short & (board.free[row] + others >= need)
            yield MemoryInUse(need), by_others
            yield _amount_reason(Insufficient, row, need, board), short & ~by_others
        else:
            yield _amount_reason(Insufficient, row, need, board), short


def _volume_reason(name: str) -> Reason:
    if name.startswith(DISK):
        return DiskTaken(name.removeprefix(DISK))
    if name.startswith(VOLUMES):
        return TooManyVolumes(name.removeprefix(VOLUMES))
    return NoVolumeToBind()


def _lacking_together(signature: Signature, board: Board) -> Iterator[tuple[Reason, Bools]]:
    """Nodes that lack the same amounts, under one reason that names them all."""
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
        reason = _amount_reason(BeyondCapacity if is_beyond else Insufficient, *found[0], board)
        others = tuple(_resource_name(row, board) for row, _ in found[1:])
        yield replace(reason, also=others), kind_of.ravel() == kind


Amount = BeyondCapacity | Insufficient


def _amount_reason(kind: type[Amount], row: int, need: int, board: Board) -> Amount:
    if row == rows.GPU_IDLE:
        return kind("gpu", need * WHOLE_GPU_MILLI)
    if row == rows.GPU_BEST:
        return kind("gpu", need, of_one_device=True)
    return kind(_resource_name(row, board), need)


def _with_amounts(refusal: NodeRefusal, board: Board) -> NodeRefusal:
    """Adds the most that any of the refused nodes has of what is lacking."""
    reason = refusal.reason
    if isinstance(reason, MemoryInUse):
        left = int(board.free[rows.MEMORY][refusal.nodes].max())
        return NodeRefusal(replace(reason, available=max(0, left)), refusal.nodes)
    if not isinstance(reason, Amount):
        return refusal
    table = board.nodes.capacity if isinstance(reason, BeyondCapacity) else board.free
    row, unit = board.nodes.index.row[reason.resource], 1
    if reason.resource == "gpu":
        row, unit = (rows.GPU_BEST, 1) if reason.of_one_device else (rows.GPU_IDLE, WHOLE_GPU_MILLI)
    most = unit * int(table[row][refusal.nodes].max())
    return NodeRefusal(replace(reason, available=max(0, most)), refusal.nodes)


def _domain_refusals(rules: DomainRules) -> Iterator[tuple[Reason, Bools]]:
    yield from _affinity_refusals(rules)
    yield from _few_refusals(rules)
    yield from _spread_refusals(rules)


def _affinity_refusals(rules: DomainRules) -> Iterator[tuple[Reason, Bools]]:
    for near in rules.near:
        key = near.term.topology_key
        yield TopologyLabelMissing(key), ~near.counter.has_key
        yield JobAffinityUnmet(key, near.term.selector.requirements), ~near_allowed(near)
    for away in rules.away:
        yield _kept_away(away.term), ~away.allowed()


def _kept_away(term: JobAffinity | None) -> Reason:
    if term is None:
        return RunningAntiAffinity()
    if term.claim:
        return ClaimInUse(term.claim)
    return JobAntiAffinityUnmet(term.topology_key, term.selector.requirements)


def _few_refusals(rules: DomainRules) -> Iterator[tuple[Reason, Bools]]:
    for few in rules.few:
        rule, counter = few.rule, few.counter
        yield TopologyLabelMissing(rule.topology_key), ~counter.has_key
        if few.there < rule.count:
            missing = np.ones(len(counter.has_key), dtype=np.bool_)
            yield TooFewDomains(rule.topology_key, rule.count, few.there), missing
        held, requirements = few.held, rule.selector.requirements
        yield OtherDomains(rule.topology_key, rule.count, held, requirements), ~few.allowed()


def _spread_refusals(rules: DomainRules) -> Iterator[tuple[Reason, Bools]]:
    for even in rules.even:
        if even.required:
            yield TopologyLabelMissing(even.key), ~even.counter.has_key
            yield SpreadUneven(even.key, even.max_skew), ~even_allowed(even)
