"""What a plan makes of the nodes as time goes on, laid out by hand: slow, obvious, and sharing
nothing with the engine but the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rota.model.calendar import Maintenance, Reservation
from rota.model.cluster import ClusterRecords
from rota.model.job import Job
from rota.model.node import Node
from rota.model.plan import Plan
from rota.model.resources import WHOLE_GPU_MILLI
from rota.model.task import TaskSpec
from tests.reference.world import amounts, capacity

ENDLESS_MS = 1 << 60


class Stay(NamedTuple):
    """A task on a node, from when until when at most."""

    job: Job
    rank: int
    node: str
    devices: tuple[int, ...]
    start_ms: int
    end_ms: int
    is_planned: bool = False

    @property
    def spec(self) -> TaskSpec:
        return self.job.template.groups[self.job.group_of(self.rank)].spec

    @property
    def reservation(self) -> str:
        return self.job.template.reservation

    def lasts_at(self, moment_ms: int) -> bool:
        return self.start_ms <= moment_ms < self.end_ms


def stays(records: ClusterRecords, plan: Plan, now_ms: int, *, planned: bool = False) -> list[Stay]:
    """Who will be where if everybody uses up its limit: what runs and isn't evicted, what starts now,
    what is promised, and, if told so, what is only planned."""
    evicted = {(one.job, one.rank) for one in plan.evictions}
    jobs = {record.job.id: record for record in records.jobs}
    found = []
    for record in records.jobs:
        for one in record.placements:
            if (record.job.id, one.rank) not in evicted:
                end_ms = _end_ms(record.job, one.started_ms)
                found.append(
                    Stay(record.job, one.rank, one.node, one.gpu_devices, one.started_ms, max(end_ms, now_ms))
                )
    for binding in plan.bindings:
        job = jobs[binding.job].job
        end_ms = _end_ms(job, now_ms)
        found.append(Stay(job, binding.rank, binding.node, binding.gpu_devices, now_ms, end_ms))
    for start in plan.starts:
        if start.promised or planned:
            job = jobs[start.job].job
            for one in start.placements:
                end_ms = _end_ms(job, start.start_ms)
                found.append(
                    Stay(
                        job,
                        one.rank,
                        one.node,
                        one.gpu_devices,
                        start.start_ms,
                        end_ms,
                        is_planned=not start.promised,
                    )
                )
    return found


def _end_ms(job: Job, start_ms: int) -> int:
    limit_ms = job.template.time_limit_ms
    return ENDLESS_MS if limit_ms is None else start_ms + limit_ms


def complaints(records: ClusterRecords, laid_out: Iterable[Stay], now_ms: int) -> list[str]:
    """Where and when more is used than there is, from now on."""
    laid_out = list(laid_out)
    moments = {now_ms, *(stay.start_ms for stay in laid_out if stay.start_ms > now_ms)}
    calendar = records.calendar
    entries: list[Maintenance | Reservation] = [*calendar.maintenance, *calendar.reservations]
    for entry in entries:
        moments.update(edge for edge in (entry.start_ms, entry.end_ms) if edge > now_ms)
    return [
        f"{(moment - now_ms) // 1000} s from now, {node.name}: {complaint}"
        for moment in sorted(moments)
        for node in records.nodes
        for complaint in _at(records, node, [s for s in laid_out if s.node == node.name], moment)
    ]


def _at(records: ClusterRecords, node: Node, here: list[Stay], moment_ms: int) -> Iterator[str]:
    present = [stay for stay in here if stay.lasts_at(moment_ms)]
    if not present:
        return
    who = ", ".join(f"{stay.job.id}/{stay.rank}" for stay in present)
    for window in records.calendar.maintenance:
        if window.start_ms <= moment_ms < window.end_ms and (not window.nodes or node.name in window.nodes):
            yield f"{who} in maintenance {window.name}"
    reserved = [
        one
        for one in records.calendar.reservations
        if one.start_ms <= moment_ms < one.end_ms and node.name in one.nodes
    ]
    yield from (f"{text} by {who}" for text in _overbooked(node, present, capacity(node)))
    outside = [stay for stay in present if stay.reservation not in {one.name for one in reserved}]
    left = capacity(node)
    for one in reserved:
        share = _share(node, one)
        inside = [stay for stay in present if stay.reservation == one.name]
        yield from (f"{text} in {one.name}" for text in _beyond(inside, {**capacity(node), **share}))
        mine = _devices(node, one)
        if any(device not in mine for stay in inside for device in stay.devices):
            yield f"devices outside of {one.name}"
        if any(device in mine for stay in outside for device in stay.devices):
            yield f"devices of {one.name} by others"
        left = {name: amount - share.get(name, 0) for name, amount in left.items()}
        if one.share is None and outside:
            yield f"others in {one.name}"
        elif any(stay.spec.exclusive for stay in outside):
            yield f"exclusive use beside {one.name}"
    yield from (f"{text} beside reservations" for text in _beyond(outside, left))


def _overbooked(node: Node, present: list[Stay], has: dict[str, int]) -> Iterator[str]:
    yield from _beyond(present, has)
    used = [0] * node.spec.gpus.count
    ports: list[object] = []
    for stay in present:
        ports += stay.spec.ports
        if not stay.is_planned or stay.devices:
            if stay.spec.gpu.count != len(stay.devices):
                yield f"{stay.job.id} lacks devices"
            for device in stay.devices:
                used[device] += stay.spec.gpu.share_milli
    if any(share > WHOLE_GPU_MILLI for share in used):
        yield f"devices {used}"
    if len(ports) > len(set(ports)):
        yield "a port twice"
    if len(present) > 1 and any(stay.spec.exclusive for stay in present):
        yield "exclusive use and others"


def _beyond(present: Iterable[Stay], has: dict[str, int]) -> Iterator[str]:
    used: dict[str, int] = {}
    for stay in present:
        for name, amount in amounts(stay.spec).items():
            used[name] = used.get(name, 0) + amount
    for name, amount in used.items():
        if amount > has.get(name, 0):
            yield f"{name} {amount} of {has.get(name, 0)}"


def _share(node: Node, reservation: Reservation) -> dict[str, int]:
    """What is kept of the node; slots aren't divided."""
    if reservation.share is None:
        return capacity(node)
    share = reservation.share
    return {
        "cpu": share.cpu_milli,
        "memory": share.memory_bytes,
        "storage": share.storage_bytes,
        "gpu": len(_devices(node, reservation)) * WHOLE_GPU_MILLI,
    }


def _devices(node: Node, reservation: Reservation) -> range:
    count = node.spec.gpus.count
    mine = count if reservation.share is None else min(count, reservation.gpus)
    return range(count - mine, count)
