"""Stories: small clusters with much in the calendar, and what happens to them as time goes on.

Times are whole multiples of ten seconds, so that ends, starts and announcements often coincide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from rota.model.calendar import Maintenance, QueueMode, QueueState, Reservation
from rota.model.cluster import Calendar, ClusterRecords
from rota.model.ids import JobId, NodeName, QueueName
from rota.model.job import AtMaintenance, Job, JobRecord, JobTemplate, Priority, TaskGroup
from rota.model.node import Gpus, Node, NodeSpec
from rota.model.policy import (
    Backfill,
    Durations,
    Policy,
    Preemption,
    QueuePolicy,
    QueueStrategy,
    SchedulerPolicy,
    Selection,
    Strategy,
    default_weights,
)
from rota.model.resources import GpuRequest, HostPort, Resources
from rota.model.task import TaskSpec
from tests.words import NOW_MS

TICK_MS = 10_000
LAST_ARRIVAL = 8

NODES = (
    NodeSpec(Resources(4000), Gpus(2, "t4")),
    NodeSpec(Resources(3000, slots=3), Gpus(1, "t4")),
    NodeSpec(Resources(2000), Gpus(3, "t4")),
    NodeSpec(Resources(4000)),
)

TASKS = (
    TaskSpec(Resources(1000)),
    TaskSpec(Resources(2000)),
    TaskSpec(Resources(1000), exclusive=True),
    TaskSpec(Resources(500), gpu=GpuRequest(1)),
    TaskSpec(Resources(500), gpu=GpuRequest(2)),
    TaskSpec(Resources(500), gpu=GpuRequest(1, 400)),
    TaskSpec(Resources(500), ports=(HostPort(80),)),
)

GANGS: tuple[tuple[tuple[int, ...], int | None], ...] = (
    ((1,), None),
    ((1,), None),
    ((2,), None),
    ((1,), None),
    ((3,), 2),
    ((1, 1), None),
)

LIMITS_TICKS = (3, 6, 10, 2, 1, 0)
RUNS: tuple[float, ...] = (1.0, 1.0, 0.5, 0.1, 0.0)
"""How much of its limit a job uses."""

PRIORITIES = (Priority.MEDIUM, Priority.MEDIUM, Priority.LOW, Priority.HIGH)
LIVE, BATCH, OTHER = QueueName("live"), QueueName("default"), QueueName("other")


class Arrival(Struct, frozen=True, omit_defaults=True):
    job: Job
    run_ms: int


class Announcement(Struct, frozen=True, omit_defaults=True):
    """From then on the calendar is this."""

    at_ms: int
    calendar: Calendar


@dataclass(frozen=True)
class Story:
    records: ClusterRecords
    """At the beginning, before anything has arrived."""
    policy: Policy
    arrivals: tuple[Arrival, ...]
    announcements: tuple[Announcement, ...] = ()
    learnt: tuple[float, ...] = ()
    """What parts of their limits jobs are believed to use; empty: nothing is known."""

    def __repr__(self) -> str:
        """All that isn't by default, in a form that can be read back."""
        parts = (self.records, self.policy, self.arrivals, self.announcements, self.learnt)
        texts = ", ".join(repr(msgspec.json.encode(part).decode()) for part in parts)
        return f"story({texts})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def run_times(self, template: JobTemplate) -> tuple[int, ...]:
        limit_ms = template.time_limit_ms
        return () if limit_ms is None else tuple(sorted(int(part * limit_ms) for part in self.learnt))


def story(records: str, policy: str, arrivals: str, announcements: str = "[]", learnt: str = "[]") -> Story:
    return Story(
        msgspec.json.decode(records, type=ClusterRecords),
        msgspec.json.decode(policy, type=Policy),
        msgspec.json.decode(arrivals, type=tuple[Arrival, ...]),
        msgspec.json.decode(announcements, type=tuple[Announcement, ...]),
        msgspec.json.decode(learnt, type=tuple[float, ...]),
    )


def tick(number: int) -> int:
    return NOW_MS + number * TICK_MS


# -- clusters


@st.composite
def clusters(draw: st.DrawFn, most: int = 3) -> tuple[Node, ...]:
    found = draw(st.lists(st.sampled_from(NODES), min_size=1, max_size=draw(st.integers(1, most))))
    return tuple(Node(NodeName(f"n{number}"), spec) for number, spec in enumerate(found))


@st.composite
def periods(draw: st.DrawFn) -> tuple[int, int]:
    start = draw(st.integers(0, 20))
    return tick(start), tick(start + draw(st.sampled_from((1, 2, 3, 5, 10, 20))))


@st.composite
def maintenance(draw: st.DrawFn, nodes: Sequence[Node], number: int) -> Maintenance:
    where = draw(st.sets(st.sampled_from([node.name for node in nodes])))
    return Maintenance(f"m{number}", *draw(periods()), tuple(sorted(where)))


SHARES: tuple[Mapping[str, Any], ...] = (
    {},
    {"share": Resources(1000)},
    {"share": Resources(2000)},
    {"share": Resources(1000), "gpus": 1},
)


@st.composite
def reservations(draw: st.DrawFn, nodes: Sequence[Node]) -> tuple[Reservation, ...]:
    """At most one on a node: that two don't take more than there is, intake sees to."""
    found = []
    names = [node.name for node in nodes]
    for number in range(draw(st.sampled_from((0, 0, 0, 1, 2)))):
        where = draw(st.sets(st.sampled_from(names), min_size=1)) if names else set()
        names = [name for name in names if name not in where]
        if where:
            part = draw(st.sampled_from(SHARES))
            period = draw(periods())
            found.append(Reservation(f"r{number}", *period, tuple(sorted(where)), ("default",), **part))
    return tuple(found)


@st.composite
def calendars(draw: st.DrawFn, nodes: Sequence[Node]) -> Calendar:
    windows = tuple(
        draw(maintenance(nodes, number)) for number in range(draw(st.sampled_from((0, 0, 0, 1, 2))))
    )
    return Calendar(windows, draw(reservations(nodes)))


@st.composite
def queue_states(draw: st.DrawFn, at: int) -> tuple[QueueState, ...]:
    kinds = st.sampled_from((QueueMode.OPEN, QueueMode.OPEN, QueueMode.PAUSED, QueueMode.CLOSED))
    modes = {name: draw(kinds) for name in (LIVE, BATCH, OTHER)}
    return tuple(QueueState(name, mode, tick(at)) for name, mode in modes.items())


# -- policies


@st.composite
def batch_queues(draw: st.DrawFn, name: str, order: int = 0) -> QueuePolicy:
    return QueuePolicy(
        name,
        draw(st.sampled_from((QueueStrategy.FIFO, QueueStrategy.PRIORITY, QueueStrategy.SMALLEST))),
        strict=draw(st.integers(0, 5)) == 5,
        order=order,
        backfill=draw(st.sampled_from((Backfill.CONSERVATIVE, Backfill.EASY, Backfill.NONE))),
        durations=draw(st.sampled_from(Durations)),
        depth=draw(st.sampled_from((100, 2))),
    )


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    strategy = draw(st.sampled_from((Strategy.LEAST_LOADED, Strategy.BIN_PACKING)))
    scheduler = SchedulerPolicy(
        selection=Selection(strategy),
        weights=default_weights(strategy),
        queues=(
            QueuePolicy(LIVE, QueueStrategy.FIFO, order=draw(st.sampled_from((-1, 2))), interactive=True),
            draw(batch_queues(BATCH)),
            draw(batch_queues(OTHER, 1)),
        ),
        preemption=Preemption(draw(st.booleans())),
    )
    return Policy((scheduler,))


def fifo_policy(strategy: Strategy = Strategy.LEAST_LOADED, *, preemption: bool = False) -> Policy:
    """One batch queue, first come, first served, that plans with limits."""
    scheduler = SchedulerPolicy(
        selection=Selection(strategy),
        weights=default_weights(strategy),
        queues=(QueuePolicy(strategy=QueueStrategy.FIFO),),
        preemption=Preemption(preemption),
    )
    return Policy((scheduler,))


# -- jobs


@st.composite
def templates(draw: st.DrawFn, calendar: Calendar, queues: Sequence[QueueName]) -> JobTemplate:
    counts, least = draw(st.sampled_from(GANGS))
    limit = draw(st.sampled_from(LIMITS_TICKS))
    names = ("", "", *(one.name for one in calendar.reservations))
    return JobTemplate(
        tuple(TaskGroup(draw(st.sampled_from(TASKS)), count) for count in counts),
        least,
        queue=draw(st.sampled_from(queues)),
        priority=draw(st.sampled_from(PRIORITIES)),
        time_limit_ms=limit * TICK_MS or None,
        reservation=draw(st.sampled_from(names)),
        at_maintenance=draw(st.sampled_from(AtMaintenance)),
    )


@st.composite
def arrivals(
    draw: st.DrawFn,
    kinds: st.SearchStrategy[JobTemplate],
    *,
    with_periods: bool = True,
    with_partners: bool = True,
) -> tuple[Arrival, ...]:
    # Small numbers come last: they are rare, and found all the same when an example is made simpler.
    count = draw(st.sampled_from((8, 10, 12, 6, 5, 4, 3, 2, 1)))
    times = sorted(draw(st.lists(st.integers(0, LAST_ARRIVAL), min_size=count, max_size=count)))
    found: list[Arrival] = []
    for number, at in enumerate(times):
        template, used = draw(kinds), draw(st.sampled_from(RUNS))
        job = Job(JobId(f"j{number:02}"), template, tick(at))
        if with_periods and draw(st.integers(0, 7)) == 7:
            job = replace(job, start_after_ms=tick(at + draw(st.integers(1, 5))))
        if with_partners and found and draw(st.integers(0, 7)) == 7:
            partner = draw(st.sampled_from(found)).job.id
            job = replace(job, template=replace(template, connect_to=partner))
        limit_ms = template.time_limit_ms
        found.append(Arrival(job, 5 * TICK_MS if limit_ms is None else int(used * limit_ms)))
    return tuple(found)


@st.composite
def announcements(draw: st.DrawFn, first: Calendar, nodes: Sequence[Node]) -> tuple[Announcement, ...]:
    """Queues are paused, closed and opened, what was announced is withdrawn, maintenance is announced."""
    found = []
    calendar = first
    for at in sorted(draw(st.sets(st.integers(1, 12), max_size=4))):
        match draw(st.sampled_from(("queues", "queues", "withdraw", "announce"))):
            case "queues":
                calendar = replace(calendar, queues=draw(queue_states(at)))
            case "withdraw":
                calendar = replace(calendar, maintenance=calendar.maintenance[1:])
            case _:
                window = draw(maintenance(nodes, 10 + at))
                calendar = replace(calendar, maintenance=(*calendar.maintenance, window))
        found.append(Announcement(tick(at), calendar))
    return tuple(found)


# -- stories


@st.composite
def stories(draw: st.DrawFn, *, announced_later: bool = False, paused: bool = False) -> Story:
    """`announced_later`: maintenance may be announced over what runs and what was promised."""
    nodes = draw(clusters())
    calendar = draw(calendars(nodes))
    changes: tuple[Announcement, ...] = ()
    if announced_later:
        changes = draw(announcements(calendar, nodes))
    elif paused:
        times = sorted(draw(st.sets(st.integers(1, 12), max_size=4)))
        changes = tuple(
            Announcement(tick(at), replace(calendar, queues=draw(queue_states(at)))) for at in times
        )
    return Story(
        ClusterRecords(nodes, calendar=calendar),
        draw(policies()),
        draw(arrivals(templates(calendar, (LIVE, BATCH, LIVE, OTHER)))),
        changes,
        draw(st.sampled_from(((), (0.5, 1.0), (0.1,)))),
    )


def waiting_at_once(story: Story) -> ClusterRecords:
    """Everybody of the story at the beginning."""
    return replace(story.records, jobs=tuple(JobRecord(one.job) for one in story.arrivals))
