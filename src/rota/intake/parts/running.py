"""Where a job's tasks run already, checked against the nodes that there are."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from rota.intake.checking.fields import Amount, Field
from rota.intake.checking.names import unknown_name
from rota.intake.forms.jobs import JobForm, RunningForm
from rota.model.ids import NodeName
from rota.model.job import JobTemplate, Placement
from rota.model.node import Node
from rota.model.quantities import parse_timestamp_ms
from rota.model.task import TaskSpec


class _Entry(NamedTuple):
    rank: int
    node: str
    details: RunningForm | None
    """Where more is said of the task than its node."""
    at: Field


def read_placements(
    form: JobForm, template: JobTemplate, nodes: Mapping[NodeName, Node], at: Field
) -> tuple[Placement, ...]:
    if form.running_on is UNSET:
        if form.started is not UNSET:
            raise at.at("started").error("says since when the job runs, but not where", "add running_on")
        return ()
    started_ms = _started_ms(form.started, 0, at)
    placements: dict[int, Placement] = {}
    for entry in _entries(form.running_on, template, at.at("running_on")):
        if entry.rank in placements:
            raise entry.at.at("rank").error(f"the task of rank {entry.rank} is there already", "remove one")
        placements[entry.rank] = _placement(entry, template, nodes, started_ms)
    return tuple(placements[rank] for rank in sorted(placements))


def _started_ms(value: Amount | UnsetType, default_ms: int, at: Field) -> int:
    return default_ms if value is UNSET else at.at("started").read(parse_timestamp_ms, value)


def _placement(
    entry: _Entry, template: JobTemplate, nodes: Mapping[NodeName, Node], started_ms: int
) -> Placement:
    if entry.details is None:
        return Placement(entry.rank, find_node(entry.node, nodes, entry.at).name, started_ms)
    node = find_node(entry.node, nodes, entry.at.at("node"))
    return Placement(
        rank=entry.rank,
        node=node.name,
        started_ms=_started_ms(entry.details.started, started_ms, entry.at),
        gpu_devices=read_devices(entry.details.gpus, template.spec_of(entry.rank), node, entry.at.at("gpus")),
    )


def read_done(
    form: JobForm, template: JobTemplate, placements: Sequence[Placement], at: Field
) -> tuple[int, ...]:
    """Ranks of the tasks that have ended."""
    running = {placement.rank for placement in placements}
    for index, rank in enumerate(form.done):
        _check_rank(rank, template, at.at("done", index))
        if rank in running:
            raise at.at("done", index).error(
                f"the task of rank {rank} runs", "remove it here or from running_on"
            )
    return tuple(sorted(set(form.done)))


def _entries(
    running_on: str | Sequence[str | RunningForm | None], template: JobTemplate, at: Field
) -> Iterator[_Entry]:
    """Of a list, entry by entry; a single node stands for a list of one."""
    if isinstance(running_on, str):
        _check_one_node_a_task(1, template, at)
        yield _Entry(0, running_on, None, at)
        return
    by_rank = sum(isinstance(entry, RunningForm) for entry in running_on)
    if not by_rank:
        _check_one_node_a_task(len(running_on), template, at)
    elif by_rank < len(running_on):
        raise at.error("mixes two forms", "give one node a task in order, or {rank, node} for every entry")
    for index, entry in enumerate(running_on):
        if isinstance(entry, RunningForm):
            _check_rank(entry.rank, template, at.at(index, "rank"))
            yield _Entry(entry.rank, entry.node, entry, at.at(index))
        elif entry is not None:
            yield _Entry(index, entry, None, at.at(index))


def _check_one_node_a_task(count: int, template: JobTemplate, at: Field) -> None:
    if count != template.task_count:
        raise at.error(
            f"{count} nodes for {template.task_count} tasks",
            "give one node a task, null for one that waits, or entries like {rank: 0, node: n1}",
        )


def _check_rank(rank: int, template: JobTemplate, at: Field) -> None:
    last = template.task_count - 1
    if rank > last:
        raise at.error(
            f"there is no task of rank {rank}", f"ranks go from 0 to {last}" if last else "its only rank is 0"
        )


def find_node(name: str, nodes: Mapping[NodeName, Node], at: Field) -> Node:
    node = nodes.get(NodeName(name))
    if node is None:
        raise unknown_name("node", name, nodes, at, "name a node of the cluster file")
    return node


def read_devices(given: Sequence[int], spec: TaskSpec, node: Node, at: Field) -> tuple[int, ...]:
    if not given:
        return ()
    for index, device in enumerate(given):
        if device >= node.spec.gpus.count:
            raise at.at(index).error(
                f"the node {node.name} has no GPU {device}", f"it has {node.spec.gpus.count}, counted from 0"
            )
    devices = tuple(sorted(set(given)))
    if len(devices) != spec.gpu.count or len(devices) != len(given):
        raise at.error(
            f"not the {spec.gpu.count} GPUs that the task asks for", "name each of its devices once"
        )
    return devices
