"""The cluster as it changes, and frozen views of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from rota.model.cluster import Calendar, ClusterRecords, TenantUsage
from rota.model.ids import JobId, NodeName
from rota.model.job import JobRecord, JobTemplate
from rota.model.node import Node, Offer
from rota.model.policy import NO_DEFAULTS, Defaults
from rota.model.task import TaskSpec
from rota.snapshot.arrays import Int32s, Int64s
from rota.snapshot.defaults import admit
from rota.snapshot.demand import Demand, extended_names
from rota.snapshot.nodes import NodeColumns, build_columns
from rota.snapshot.occupancy import Occupancy
from rota.snapshot.records import Records, with_records
from rota.snapshot.rows import ResourceRows
from rota.snapshot.running import RunningColumns, RunningIndex, RunningTask
from rota.snapshot.waiting import LaneKey, WaitingJobs, WaitingLanes

RunTimes = Callable[[JobTemplate], tuple[int, ...]]
"""How long jobs like this ran, in ms: evenly spaced quantiles, the shortest first; empty: nobody knows."""


def _nothing_learnt(_: JobTemplate) -> tuple[int, ...]:
    return ()


NOTHING_ANNOUNCED = Calendar()


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What `decide` sees: the cluster as it was, whatever becomes of the state it was taken from. Another
    thread may read it meanwhile. Jobs and their records are shared, not copied: a million of them cost
    nothing."""

    generation: int
    nodes: NodeColumns
    free: Int64s
    """[row, node] what running tasks leave"""
    gpu_free: Int32s
    """[node, device]"""
    running: RunningColumns
    waiting: WaitingLanes
    usage: tuple[TenantUsage, ...]
    jobs: Mapping[JobId, JobRecord]
    calendar: Calendar = NOTHING_ANNOUNCED
    run_times: RunTimes = _nothing_learnt

    def demand(self, spec: TaskSpec) -> Demand:
        return self.nodes.demand(spec)


_MOST_ADMITTED = 1024
"""Templates of jobs that are gone are forgotten once they are more than this and than twice the jobs."""


class ClusterState:
    """Takes records and changes one by one; `snapshot()` freezes what it has.

    Columns of nodes are built anew only when a node, an offer or a resource name changed; what
    tasks take is added and subtracted as they start and end. More than twenty methods: one for each
    kind of change, and each has to know which of the columns it makes out of date.
    """

    def __init__(self, defaults: Defaults = NO_DEFAULTS) -> None:
        self._defaults = defaults
        self._admitted: dict[JobTemplate, JobTemplate] = {}
        self._nodes: dict[NodeName, Node] = {}
        self._offers: dict[str, Offer] = {}
        self._records = Records()
        self._lane_of: dict[JobId, LaneKey] = {}
        self._running_ids: set[JobId] = set()
        self._waiting = WaitingJobs()
        self._usage: tuple[TenantUsage, ...] = ()
        self._calendar = Calendar()
        self._run_times: RunTimes = _nothing_learnt
        self._generation = 0
        self._occupancy: Occupancy | None = None
        self._before: Occupancy | None = None
        """Of nodes that have changed since. What runs is counted in it nevertheless."""
        self._running: RunningIndex | None = None
        self._running_columns: RunningColumns | None = None
        self._changed: set[JobId] = set()
        """Jobs of which something runs or ran since the columns were made."""

    def with_defaults(self, defaults: Defaults) -> ClusterState:
        """The same cluster, whose jobs get these where they say nothing."""
        state = ClusterState(defaults)
        state.load(self.records())
        state.set_run_times(self._run_times)
        return state

    def load(self, records: ClusterRecords) -> None:
        for node in records.nodes:
            self.set_node(node)
        for offer in records.offers:
            self.set_offer(offer)
        for record in records.jobs:
            self.set_job(record)
        self.set_usage(records.usage)
        self.set_calendar(records.calendar)

    def set_node(self, node: Node) -> None:
        self._nodes[node.name] = node
        self._rebuild()

    def remove_node(self, name: NodeName) -> None:
        """What ran there is not the snapshot's concern: the caller says what became of it."""
        del self._nodes[name]
        self._rebuild()

    def set_offer(self, offer: Offer) -> None:
        self._offers[offer.name] = offer
        self._rebuild()

    def set_usage(self, usage: Iterable[TenantUsage]) -> None:
        self._generation += 1
        self._usage = tuple(usage)

    def set_calendar(self, calendar: Calendar) -> None:
        self._generation += 1
        self._calendar = calendar

    def set_run_times(self, run_times: RunTimes) -> None:
        self._run_times = run_times

    def set_job(self, record: JobRecord) -> None:
        """Adds the job or puts the new record in the place of the old one."""
        job_id = record.job.id
        if job_id in self._records:
            self.remove_job(job_id)
        self._generation += 1
        template = self._admit(record.job.template)
        if template is not record.job.template:
            record = replace(record, job=replace(record.job, template=template))
        self._records.put(record)
        if record.placements:
            self._running_ids.add(job_id)
            self._occupy(record, 1)
        lane = self._waiting.add(record)
        if lane is not None:
            self._lane_of[job_id] = lane

    def remove_job(self, job_id: JobId) -> None:
        self._generation += 1
        record = self._records.pop(job_id)
        if job_id in self._running_ids:
            self._running_ids.discard(job_id)
            self._occupy(record, -1)
        lane = self._lane_of.pop(job_id, None)
        if lane is not None:
            self._waiting.discard(record.job, lane)

    def has_job(self, job_id: JobId) -> bool:
        return job_id in self._records

    def record(self, job_id: JobId) -> JobRecord:
        return self._records[job_id]

    def is_waiting(self, job_id: JobId) -> bool:
        """Whether anything of it waits."""
        return job_id in self._lane_of

    @property
    def generation(self) -> int:
        """Another after each change."""
        return self._generation

    @property
    def calendar(self) -> Calendar:
        return self._calendar

    @property
    def waiting_count(self) -> int:
        return len(self._waiting)

    @property
    def running_count(self) -> int:
        """Jobs of which anything runs."""
        return len(self._running_ids)

    def records(self) -> ClusterRecords:
        """What it was told, with all changes since."""
        return ClusterRecords(
            tuple(self._nodes.values()),
            tuple(self._offers.values()),
            self._records.all(),
            self._usage,
            self._calendar,
        )

    def occupancy(self) -> Occupancy:
        """What is free now. To be read, before anything changes."""
        if self._occupancy is None:
            self._occupancy = self._occupied()
        return self._occupancy

    def snapshot(self) -> Snapshot:
        occupancy = self._occupancy
        # How many nodes of an offer are worth a column depends on how much waits.
        if occupancy is None or self._offers:
            occupancy = self._occupancy = self._occupied()
        return Snapshot(
            generation=self._generation,
            nodes=occupancy.nodes,
            free=occupancy.free.copy(),
            gpu_free=occupancy.gpu_free.copy(),
            running=self._running_now(occupancy.nodes),
            waiting=self._waiting.frozen(),
            usage=self._usage,
            jobs=self._records.frozen(),
            calendar=self._calendar,
            run_times=self._run_times,
        )

    # -- kept up to date

    def _admit(self, template: JobTemplate) -> JobTemplate:
        admitted = self._admitted.get(template)
        if admitted is None:
            if len(self._admitted) > _MOST_ADMITTED + 2 * len(self._records):
                self._forget_admitted()
            admitted = self._admitted[template] = admit(template, self._defaults)
            occupancy = self._occupancy or self._before
            if occupancy is not None and not occupancy.knows(admitted):
                self._generation += 1
                self._occupancy = self._before = None
        return admitted

    def _forget_admitted(self) -> None:
        """All but those of jobs that are there: else each resource that a job ever named would have a row."""
        there = {id(record.job.template) for record in self._records.all()}
        self._admitted = {one: kept for one, kept in self._admitted.items() if id(kept) in there}

    def _rebuild(self) -> None:
        self._generation += 1
        self._before, self._occupancy = self._occupancy or self._before, None

    def _occupy(self, record: JobRecord, sign: int) -> None:
        self._changed.add(record.job.id)
        occupancy = self._occupancy or self._before
        if occupancy is not None and not occupancy.shift(record, sign):
            self._occupancy = self._before = None

    def _occupied(self) -> Occupancy:
        """Of nodes that have all that they had, as it was. Else counted from scratch: a task of which nobody
        said which devices it has is given some."""
        index = ResourceRows(self._extended_names())
        nodes = build_columns(self._nodes.values(), self._offers.values(), index, self._waiting.task_count)
        before, self._before = self._before, None
        if before is not None and before.has_room_of(nodes):
            return Occupancy(nodes, before)
        occupancy = Occupancy(nodes)
        running = sorted(self._running_ids)
        unsettled = [job_id for job_id in running if occupancy.lacks_devices(self._records[job_id])]
        for job_id in self._running_ids.difference(unsettled):
            occupancy.apply(self._records[job_id], 1)
        for job_id in unsettled:
            self._records.put(occupancy.settled(self._records[job_id]))
            occupancy.apply(self._records[job_id], 1)
        self._running = None
        return occupancy

    def _running_now(self, nodes: NodeColumns) -> RunningColumns:
        if self._running is None:
            self._running = RunningIndex(nodes.position)
            self._running_columns = None
            self._changed = set(self._running_ids)
        if self._running_columns is None or self._changed:
            self._running.change({job_id: self._tasks_of(job_id, nodes) for job_id in self._changed})
            self._running_columns = self._running.columns()
            self._changed.clear()
        return self._running_columns

    def _tasks_of(self, job_id: JobId, nodes: NodeColumns) -> list[RunningTask]:
        """Tasks of it that run, on nodes that exist."""
        record = self._records.get(job_id)
        if record is None:
            return []
        here = [placement for placement in record.placements if placement.node in nodes.position]
        done = len(record.done)
        return [RunningTask(record.job, one, done) for one in sorted(here, key=lambda one: one.rank)]

    def _extended_names(self) -> set[str]:
        names: set[str] = set()
        for node in self._nodes.values():
            names.update(name for name, _ in node.spec.capacity.extended)
        for offer in self._offers.values():
            names.update(name for name, _ in offer.spec.capacity.extended)
        for template in self._admitted.values():
            for group in template.groups:
                names |= extended_names(group.spec)
        return names


def with_waiting(
    snapshot: Snapshot, jobs: Sequence[JobRecord], defaults: Defaults, nodes: Sequence[Node]
) -> Snapshot:
    """As if these had come in, and waited behind all others. `nodes`: of the snapshot, for jobs that ask for
    a resource that nobody has asked for before."""
    admitted = [
        replace(one, job=replace(one.job, template=admit(one.job.template, defaults))) for one in jobs
    ]
    known = snapshot.nodes.index.row
    if any(
        name not in known
        for template in {one.job.template for one in admitted}
        for group in template.groups
        for name in extended_names(group.spec)
    ):
        everybody = tuple(with_records(snapshot.jobs, jobs).values())
        records = ClusterRecords(
            tuple(nodes), jobs=everybody, usage=snapshot.usage, calendar=snapshot.calendar
        )
        return dataclasses.replace(snapshot_of(records, defaults), run_times=snapshot.run_times)
    return dataclasses.replace(
        snapshot,
        waiting=snapshot.waiting.with_more(admitted),
        jobs=with_records(snapshot.jobs, admitted),
    )


def snapshot_of(records: ClusterRecords, defaults: Defaults = NO_DEFAULTS) -> Snapshot:
    state = ClusterState(defaults)
    state.load(records)
    return state.snapshot()
