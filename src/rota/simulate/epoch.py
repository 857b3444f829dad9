"""Real times as times of a workload, which count from its beginning."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from rota.model.calendar import Maintenance, Reservation
from rota.model.cluster import Calendar, ClusterRecords
from rota.model.node import Node

Entry = TypeVar("Entry", Maintenance, Reservation)


def since(epoch_ms: int, records: ClusterRecords) -> ClusterRecords:
    """The cluster, without its jobs, in the time of a workload that began then."""
    calendar = Calendar(
        tuple(_shifted(entry, epoch_ms) for entry in records.calendar.maintenance),
        tuple(_shifted(entry, epoch_ms) for entry in records.calendar.reservations),
        tuple(replace(queue, since_ms=queue.since_ms - epoch_ms) for queue in records.calendar.queues),
    )
    usage = tuple(replace(one, as_of_ms=one.as_of_ms - epoch_ms) for one in records.usage)
    nodes = tuple(_node(node, epoch_ms) for node in records.nodes)
    return ClusterRecords(nodes, records.offers, (), usage, calendar)


def _shifted(entry: Entry, epoch_ms: int) -> Entry:
    return replace(entry, start_ms=entry.start_ms - epoch_ms, end_ms=entry.end_ms - epoch_ms)


def _node(node: Node, epoch_ms: int) -> Node:
    if not node.spec.taints:
        return node
    taints = tuple(replace(taint, added_ms=taint.added_ms - epoch_ms) for taint in node.spec.taints)
    return replace(node, spec=replace(node.spec, taints=taints))
