"""Nodes and offers as columns, one array a property, one position a node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from rota.model.ids import NodeName
from rota.model.job import JobTemplate
from rota.model.node import Node, NodeSpec, Offer
from rota.model.resources import DEFAULT_SLOTS, WHOLE_GPU_MILLI
from rota.model.selectors import Operator, Requirement
from rota.model.taints import Effect, Taint
from rota.model.task import CLUSTER_KEY, TaskSpec
from rota.snapshot import rows
from rota.snapshot.arrays import Bools, Floats, Int32s, Int64s
from rota.snapshot.demand import Demand, demand_of, named_amounts
from rota.snapshot.rows import ResourceRows, is_of_volumes, is_port, port_capacity, volume_capacity

T = TypeVar("T")

PPM = 1_000_000
_MOST_DERIVED = 4096
_MANY_VALUES = 16
"""Of a requirement: beyond that, looking through them for each node would take longer than to sort them."""
ABSENT = -1
"""Code of a label that the node doesn't have."""

NODE_KEY = "\0node"
"""Topology key under which every node is a domain of its own."""

STAND_INS = {
    "region": "topology.kubernetes.io/region",
    "zone": "topology.kubernetes.io/zone",
    "host": NODE_KEY,
    "kubernetes.io/hostname": NODE_KEY,
}
"""Topology key → the key whose value stands in where a node lacks it: who asks for a zone needn't
know whether the node is of a Kubernetes cluster. Selectors take labels as they are."""


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """One label key over all nodes: a code a node, and what the codes stand for."""

    codes: Int32s
    values: tuple[str, ...]

    def matching(self, requirement: Requirement) -> Bools:
        """Which nodes meet the requirement: judged once a distinct value, then gathered."""
        if len(requirement.values) > _MANY_VALUES and requirement.operator in (Operator.IN, Operator.NOT_IN):
            named = set(requirement.values)
            is_named = np.fromiter((value in named for value in (*self.values, None)), dtype=np.bool_)
            return (is_named if requirement.operator is Operator.IN else ~is_named)[self.codes]
        by_code = np.fromiter(
            chain((requirement.admits(value) for value in self.values), [requirement.admits(None)]),
            dtype=np.bool_,
            count=len(self.values) + 1,
        )
        return by_code[self.codes]

    def texts(self) -> list[str | None]:
        return [None if code == ABSENT else self.values[code] for code in self.codes.tolist()]


@dataclass(frozen=True, eq=False)
class NodeColumns:
    """Positions are ordered by price, then name: an equal score goes to the cheaper node, then to
    the lower name. Existing nodes come first, then the nodes that offers could start."""

    names: tuple[NodeName, ...]
    position: dict[NodeName, int]
    specs: tuple[NodeSpec, ...]
    index: ResourceRows
    capacity: Int64s
    """[row, node]"""
    ppm: Floats
    """[row, node] a million / capacity, 0 where there is none: turns an amount into the node's share
    of it. The slots row shrinks with measured load."""
    gpu_capacity: Int32s
    """[node, device] thousandths; 0 where there is no such device"""
    label_values: dict[str, list[tuple[int, str]]]
    """By label key, the nodes that have it, with its value."""
    labels: dict[str, LabelColumn]
    """Columns of the keys that somebody has asked for."""
    topologies: dict[str, LabelColumn]
    taint_sets: tuple[tuple[Taint, ...], ...]
    taint_set: Int32s
    ready: Bools
    cordoned: Bools
    memory_others: Int64s
    """[node] what programs that aren't tasks take of the memory"""
    exists: Bools
    """False: a node that an offer could start."""
    pool: LabelColumn
    backend: LabelColumn
    gpu_model: LabelColumn
    price_micro: Int64s
    startup_ms: Int64s
    images: tuple[dict[str, int], ...] = ()
    """Of each node; empty: no node has any."""
    derived: dict[object, Any] = field(default_factory=dict)
    """What was worked out from these columns and would be again; good for as long as they are."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def has_passing_time(self) -> bool:
        """Whether what a node tolerates changes as time goes by."""
        return any(taint.effect is Effect.NO_EXECUTE for taints in self.taint_sets for taint in taints)

    def demand(self, spec: TaskSpec) -> Demand:
        demand: Demand | None = self.derived.get(spec)
        if demand is None:
            demand = self.keep(spec, demand_of(spec, self.index))
        return demand

    def share_ppm(self, template: JobTemplate) -> int:
        """The largest part of all CPUs, memory or GPUs that a job asks for, in millionths, at least one."""
        asked = [0, 0, 0]
        for group in template.groups:
            requests = group.spec.requests
            amounts = requests.cpu_milli, requests.memory_bytes, group.spec.gpu.total_milli
            asked = [so_far + group.count * one for so_far, one in zip(asked, amounts, strict=True)]
        pairs = zip(asked, self._totals, strict=True)
        return max(1, *(amount * PPM // max(1, total) for amount, total in pairs))

    @cached_property
    def total_capacity(self) -> Int64s:
        """[row] of all nodes together."""
        total: Int64s = self.capacity.sum(axis=1)
        return total

    @property
    def _totals(self) -> tuple[int, ...]:
        totals: tuple[int, ...] | None = self.derived.get("totals")
        if totals is None:
            capacity = self.capacity[:, self.exists] if self.exists.any() else self.capacity
            found = (int(capacity[row].sum()) for row in (rows.CPU, rows.MEMORY, rows.GPU_MILLI))
            totals = self.keep("totals", tuple(found))
        return totals

    def keep(self, key: object, value: T) -> T:
        """Remembers what was derived, within bounds."""
        if len(self.derived) >= _MOST_DERIVED:
            self.derived.clear()
        self.derived[key] = value
        return value

    def label(self, key: str) -> LabelColumn:
        """The column of a label key; all absent where no node has it."""
        column = self.labels.get(key)
        if column is None:
            given = self.label_values.get(key)
            if given is None:
                # One for all: jobs may ask for as many keys as they like.
                return self._absent
            values: list[str | None] = [None] * len(self)
            for position, value in given:
                values[position] = value
            column = self.labels[key] = _text_column(values)
        return column

    @cached_property
    def _absent(self) -> LabelColumn:
        return LabelColumn(np.full(len(self), ABSENT, dtype=np.int32), ())

    def topology(self, key: str) -> LabelColumn:
        """The domains of a topology key; see STAND_INS."""
        column = self.topologies.get(key)
        if column is None:
            column = self.label(key)
            stand_in = self.label(STAND_INS.get(key, ""))
            if stand_in.values and (column.codes == ABSENT).any():
                own, other = column.texts(), stand_in.texts()
                column = _text_column([b if a is None else a for a, b in zip(own, other, strict=True)])
            if column is not self._absent:
                self.topologies[key] = column
        return column


def build_columns(
    nodes: Iterable[Node], offers: Iterable[Offer], index: ResourceRows, tasks_waiting: int
) -> NodeColumns:
    existing = sorted(nodes, key=lambda node: (node.spec.price_micro_per_hour, node.name))
    startable: list[tuple[Node, Offer]] = []
    for offer in sorted(offers, key=lambda o: (o.spec.price_micro_per_hour, o.startup_ms, o.name)):
        # More nodes than tasks that wait would never be opened.
        for number in range(min(offer.limit, tasks_waiting)):
            startable.append((Node(NodeName(f"{offer.name}#{number}"), offer.spec), offer))
    every = existing + [node for node, _ in startable]
    specs = tuple(node.spec for node in every)
    names = tuple(node.name for node in every)
    taint_sets, taint_codes = _coded([spec.taints for spec in specs])
    capacity = _capacity(specs, index)
    capacity.flags.writeable = False
    return NodeColumns(
        names=names,
        position={name: position for position, name in enumerate(names)},
        specs=specs,
        index=index,
        capacity=capacity,
        ppm=_ppm(capacity, [node.load_milli for node in every]),
        gpu_capacity=_gpu_capacity(specs),
        label_values=_label_values(every),
        labels={},
        topologies={},
        taint_sets=tuple(taint_sets),
        taint_set=taint_codes,
        ready=np.fromiter((node.ready for node in every), np.bool_, len(every)),
        cordoned=np.fromiter((node.cordoned for node in every), np.bool_, len(every)),
        memory_others=np.fromiter((node.memory_others_bytes for node in every), np.int64, len(every)),
        exists=np.arange(len(every)) < len(existing),
        pool=_text_column([spec.pool for spec in specs]),
        backend=_text_column([spec.backend for spec in specs]),
        gpu_model=_text_column([spec.gpus.model for spec in specs]),
        price_micro=np.fromiter((spec.price_micro_per_hour for spec in specs), np.int64, len(every)),
        startup_ms=np.fromiter(
            chain((0 for _ in existing), (offer.startup_ms for _, offer in startable)), np.int64, len(every)
        ),
        images=tuple(node.images for node in every) if any(node.images for node in every) else (),
    )


def _capacity(specs: Sequence[NodeSpec], index: ResourceRows) -> Int64s:
    capacity = np.zeros((len(index), len(specs)), dtype=np.int64)
    by_spec: dict[NodeSpec, Int64s] = {}
    for position, spec in enumerate(specs):
        column = by_spec.get(spec)
        if column is None:
            column = by_spec[spec] = _capacity_of(spec, index)
        capacity[:, position] = column
    return capacity


def _capacity_of(spec: NodeSpec, index: ResourceRows) -> Int64s:
    column = np.zeros(len(index), dtype=np.int64)
    for name, amount in named_amounts(spec.capacity).items():
        row = index.row.get(name)
        if row is not None:
            column[row] = amount
    if not spec.capacity.slots:
        column[rows.SLOTS] = DEFAULT_SLOTS
    column[rows.SHARES] = rows.NODE_SHARES
    column[rows.GPU_MILLI] = spec.gpus.count * WHOLE_GPU_MILLI
    column[rows.GPU_IDLE] = spec.gpus.count
    column[rows.GPU_BEST] = WHOLE_GPU_MILLI if spec.gpus.count else 0
    for name, row in index.row.items():
        if is_port(name):
            column[row] = port_capacity(name)
        elif is_of_volumes(name):
            column[row] = volume_capacity(name)
    for name, room in spec.attachable:
        if (row := index.row.get(name)) is not None:
            column[row] = room
    return column


def _ppm(capacity: Int64s, load_milli: Sequence[int]) -> Floats:
    scale = np.zeros(capacity.shape, dtype=np.float64)
    np.divide(1e6, capacity, out=scale, where=capacity > 0)
    scale[rows.SLOTS] *= (1000.0 - np.minimum(np.asarray(load_milli, dtype=np.float64), 1000.0)) / 1000.0
    return scale


def _gpu_capacity(specs: Sequence[NodeSpec]) -> Int32s:
    counts = np.fromiter((spec.gpus.count for spec in specs), np.int32, len(specs))
    devices = int(counts.max(initial=0))
    present = np.arange(devices, dtype=np.int32)[None, :] < counts[:, None]
    return np.where(present, np.int32(WHOLE_GPU_MILLI), np.int32(0))


def _label_values(nodes: Sequence[Node]) -> dict[str, list[tuple[int, str]]]:
    """By key, the nodes that have the label: a column for each key of each node would be a square."""
    values: dict[str, list[tuple[int, str]]] = {}
    for position, node in enumerate(nodes):
        for key, value in node.spec.labels:
            values.setdefault(key, []).append((position, value))
    values[NODE_KEY] = [(position, node.name) for position, node in enumerate(nodes)]
    values[CLUSTER_KEY] = [(position, "") for position in range(len(nodes))]
    return values


def _text_column(values: Sequence[str | None]) -> LabelColumn:
    distinct = sorted({value for value in values if value is not None})
    code = {value: number for number, value in enumerate(distinct)}
    codes = np.fromiter((ABSENT if value is None else code[value] for value in values), np.int32, len(values))
    return LabelColumn(codes, tuple(distinct))


def _coded(values: Sequence[tuple[Taint, ...]]) -> tuple[list[tuple[Taint, ...]], Int32s]:
    code: dict[tuple[Taint, ...], int] = {}
    codes = np.fromiter((code.setdefault(value, len(code)) for value in values), np.int32, len(values))
    return list(code), codes
