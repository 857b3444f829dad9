"""Where a job's tasks run already, checked against the nodes that there are."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET

from rota.intake._fields import Field
from rota.intake._job_forms import JobForm, RunningForm
from rota.intake._wording import nearest, quoted
from rota.model.ids import NodeName
from rota.model.job import JobTemplate, Placement
from rota.model.node import Node
from rota.model.quantities import parse_timestamp_ms
from rota.model.task import TaskSpec

_Entry = tuple[int, str, RunningForm | None, Field]
"""Rank, node, and what else is said of the task, where."""


def read_placements(
    form: JobForm, template: JobTemplate, nodes: Mapping[NodeName, Node], at: Field
) -> tuple[Placement, ...]:
    if form.running_on is UNSET:
        if form.started is not UNSET:
            raise at.at("started").error("says since when the job runs, but not where", "add running_on")
        return ()
    started_ms = 0
    if form.started is not UNSET:
        started_ms = at.at("started").read(parse_timestamp_ms, form.started)
    placements: dict[int, Placement] = {}
    for rank, node_name, details, entry_at in _entries(form, template, at.at("running_on")):
        if rank in placements:
            raise entry_at.at("rank").error(f"the task of rank {rank} stands there already", "remove one")
        node = _node(node_name, nodes, entry_at if details is None else entry_at.at("node"))
        own_started_ms, devices = started_ms, ()
        if details is not None:
            if details.started is not UNSET:
                own_started_ms = entry_at.at("started").read(parse_timestamp_ms, details.started)
            devices = _devices(details.gpus, _spec_of(template, rank), node, entry_at.at("gpus"))
        placements[rank] = Placement(rank, node.name, own_started_ms, devices)
    return tuple(placements[rank] for rank in sorted(placements))


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


def _entries(form: JobForm, template: JobTemplate, at: Field) -> Iterator[_Entry]:
    given = [form.running_on] if isinstance(form.running_on, str) else form.running_on or ()
    by_rank = [entry for entry in given if isinstance(entry, RunningForm)]
    if by_rank and len(by_rank) < len(given):
        raise at.error("mixes two forms", "give one node a task in order, or {rank, node} for every entry")
    if not by_rank and len(given) != template.task_count:
        raise at.error(
            f"{len(given)} nodes for {template.task_count} tasks",
            "give one node a task, null for one that waits, or entries like {rank: 0, node: n1}",
        )
    for index, entry in enumerate(given):
        entry_at = at if isinstance(form.running_on, str) else at.at(index)
        if isinstance(entry, RunningForm):
            _check_rank(entry.rank, template, entry_at.at("rank"))
            yield entry.rank, entry.node, entry, entry_at
        elif entry is not None:
            yield index, entry, None, entry_at


def _check_rank(rank: int, template: JobTemplate, at: Field) -> None:
    last = template.task_count - 1
    if rank > last:
        raise at.error(
            f"there is no task of rank {rank}", f"ranks go from 0 to {last}" if last else "its only rank is 0"
        )


def _node(name: str, nodes: Mapping[NodeName, Node], at: Field) -> Node:
    node = nodes.get(NodeName(name))
    if node is None:
        meant = nearest(name, nodes)
        raise at.error(
            f"there is no node named {quoted(name)}",
            f"did you mean {quoted(meant)}?" if meant else "name a node of the cluster file",
        )
    return node


def _spec_of(template: JobTemplate, rank: int) -> TaskSpec:
    for group in template.groups:
        if rank < group.count:
            return group.spec
        rank -= group.count
    raise AssertionError("ranks were checked")


def _devices(given: Sequence[int], spec: TaskSpec, node: Node, at: Field) -> tuple[int, ...]:
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
