"""Any calendar, as time goes on: nothing is oversubscribed, promises are kept, nobody is stuck."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rota.engine import decide
from rota.model.calendar import PlannedStart
from rota.model.cluster import Calendar, ClusterRecords
from rota.model.ids import JobId, NodeName
from rota.model.job import Job, JobRecord, JobTemplate, Placement, TaskGroup
from rota.model.node import Node
from rota.model.plan import Plan
from rota.model.policy import Durations, Policy, Preemption, Strategy
from rota.snapshot import snapshot_of
from rota.snapshot.state import Snapshot
from tests.builders import PLUGINS
from tests.properties import calendars
from tests.properties.calendars import BATCH, LIVE, Announcement, Story, tick
from tests.properties.carry_out import plan_for
from tests.properties.forward import Moment, told
from tests.properties.over_time import Stay, complaints, stays
from tests.reference.gangs import can_start, gang_ask
from tests.reference.world import jobs_of, world_of
from tests.words import NOW_MS

# -- nothing is oversubscribed


def overbooked(moment: Moment, *, planned: bool = False) -> list[str]:
    plan = moment.decided.plan
    return complaints(
        moment.records, stays(moment.records, plan, moment.now_ms, planned=planned), moment.now_ms
    )


@pytest.mark.covers("time-2", "time-4", "time-5", "decide-2")
@given(calendars.stories(paused=True))
def test_no_entry_oversubscribes_a_node_at_any_instant(story: Story) -> None:
    for moment in told(story):
        assert overbooked(moment) == []


def by_limits(story: Story) -> Story:
    """Planned with limits, promises first, and nobody is evicted: then plans hold, too. Without partners
    of interactive jobs, for whom these would wait until others have been planned."""
    scheduler = story.policy.schedulers[0]
    queues = tuple(
        replace(queue, durations=Durations.LIMITS, order=-1 if queue.interactive else queue.order)
        for queue in scheduler.queues
    )
    policy = Policy((replace(scheduler, queues=queues, preemption=Preemption(False)),))
    arrivals = tuple(
        replace(one, job=replace(one.job, template=replace(one.job.template, connect_to="")))
        if one.job.template.queue == LIVE
        else one
        for one in story.arrivals
    )
    return dataclasses.replace(story, policy=policy, arrivals=arrivals)


@pytest.mark.covers("time-3", "time-4", "time-5")
@given(calendars.stories(paused=True).map(by_limits))
def test_planned_starts_never_overbook(story: Story) -> None:
    for moment in told(story):
        assert overbooked(moment, planned=True) == []


@pytest.mark.covers("time-5")
@given(calendars.stories(announced_later=True))
def test_nothing_starts_that_would_run_into_maintenance_whenever_it_is_announced(story: Story) -> None:
    for moment in told(story):
        plan = moment.decided.plan
        laid_out = stays(moment.records, plan, moment.now_ms)
        nothing_announced = replace(moment.records, calendar=replace(moment.records.calendar, maintenance=()))
        assert complaints(nothing_announced, laid_out, moment.now_ms) == []
        begins = [stay for stay in laid_out if stay.start_ms >= moment.now_ms]
        assert complaints(moment.records, begins, moment.now_ms) == []


# -- promises


Seats = set[tuple[int, str, tuple[int, ...]]]


def promised_seats(promise: PlannedStart) -> Seats:
    return {(one.rank, one.node, one.gpu_devices) for one in promise.placements}


def started_seats(plan: Plan, job: JobId) -> Seats:
    return {(one.rank, one.node, one.gpu_devices) for one in plan.bindings if one.job == job}


def broken_promises(story: Story) -> list[str]:
    promises: dict[JobId, PlannedStart] = {}
    for moment in told(story):
        plan = moment.decided.plan
        standing = {start.job: start for start in plan.starts if start.promised}
        for eviction in plan.evictions:
            # Part of the job ran and had to go: what the rest was promised is of no use to it.
            promises.pop(eviction.job, None)
        due = [job for job, promise in promises.items() if promise.start_ms <= moment.now_ms]
        for job in due:
            promise = promises.pop(job)
            if promise.start_ms < moment.now_ms or started_seats(plan, job) != promised_seats(promise):
                return [f"{promise} at {moment.now_ms}: {started_seats(plan, job)}"]
        for binding in plan.bindings:
            # Before its time: then just where it was promised to.
            early = promises.get(binding.job)
            if early is not None and started_seats(plan, binding.job) == promised_seats(early):
                del promises[binding.job]
        changed = [promise for job, promise in promises.items() if standing.get(job) != promise]
        if changed:
            return [f"{promise} became {standing.get(promise.job)}" for promise in changed]
        promises |= standing
    return []


@pytest.mark.covers("time-2", "time-6")
@given(calendars.stories(paused=True))
def test_a_promise_once_given_is_never_broken(story: Story) -> None:
    """Whoever else arrives, ends early or may evict, and whatever becomes of the queues."""
    assert broken_promises(story) == []


@pytest.mark.covers("time-2")
@given(calendars.stories())
def test_who_comes_first_is_promised_the_earliest_start(story: Story) -> None:
    """First fit: no later job of the queue changes what an earlier one is promised."""
    policy = by_limits(story).policy
    records = calendars.waiting_at_once(story)
    everybody = {one.job: one for one in plan_for(records, policy, NOW_MS).starts if one.promised}
    for count in range(len(records.jobs)):
        some = plan_for(replace(records, jobs=records.jobs[:count]), policy, NOW_MS)
        for start in some.starts:
            assert not start.promised or everybody[start.job] == start


# -- partners


@pytest.mark.covers("gang-4")
@given(calendars.stories(paused=True))
def test_who_names_a_partner_starts_and_is_planned_only_beside_it(story: Story) -> None:
    for moment in told(story):
        plan = moment.decided.plan
        jobs = {record.job.id: record.job for record in moment.records.jobs}
        there = {stay.job.id: stay for stay in stays(moment.records, plan, moment.now_ms, planned=True)}
        promised = {record.job.id for record in moment.records.jobs if record.promise}
        # What was promised is kept, even if the partner ended early meanwhile.
        begins = {start.job: start.start_ms for start in plan.starts}
        begins |= {binding.job: moment.now_ms for binding in plan.bindings}
        for job, start_ms in begins.items():
            partner = JobId(jobs[job].template.connect_to)
            if partner and job not in promised:
                assert partner in there
                assert there[partner].start_ms <= start_ms < there[partner].end_ms


# -- who waits isn't delayed by those behind


@st.composite
def fifo_stories(draw: st.DrawFn, *, most_nodes: int, early_ends: bool, preemption: bool = False) -> Story:
    nodes = draw(calendars.clusters(most=most_nodes))
    arrivals = draw(
        calendars.arrivals(calendars.templates(Calendar(), (BATCH,)), with_periods=False, with_partners=False)
    )
    found = []
    for one in arrivals:
        # Of gangs that start in part it can't be said when they start.
        limit_ms = one.job.template.time_limit_ms or 5 * calendars.TICK_MS
        template = replace(one.job.template, min_available=None, time_limit_ms=limit_ms)
        run_ms = min(one.run_ms, limit_ms) if early_ends else limit_ms
        found.append(replace(one, job=replace(one.job, template=template), run_ms=run_ms))
    strategy = draw(st.sampled_from((Strategy.LEAST_LOADED, Strategy.BIN_PACKING)))
    policy = calendars.fifo_policy(strategy, preemption=preemption)
    return Story(ClusterRecords(nodes), policy, tuple(found))


def waiting_in_order(moment: Moment) -> list[JobId]:
    jobs = [record.job for record in moment.records.jobs if not record.placements]
    return [job.id for job in sorted(jobs, key=lambda job: (job.submitted_ms, job.id))]


def expected_start(moment: Moment, job: JobId) -> int | None:
    plan = moment.decided.plan
    if any(binding.job == job for binding in plan.bindings):
        return moment.now_ms
    return next((start.start_ms for start in plan.starts if start.job == job), None)


@pytest.mark.covers("time-3")
@given(st.booleans().flatmap(lambda on: fifo_stories(most_nodes=3, early_ends=True, preemption=on)))
def test_whoever_is_first_is_never_delayed_by_backfill(story: Story) -> None:
    """While it is the first to wait; whoever is evicted comes before those that arrived later."""
    first, known_ms = JobId(""), None
    for moment in told(story):
        waiting = waiting_in_order(moment)
        if not waiting:
            continue
        start_ms = expected_start(moment, waiting[0])
        if waiting[0] == first and known_ms is not None:
            assert start_ms is not None
            assert start_ms <= known_ms
        first, known_ms = waiting[0], start_ms


@pytest.mark.covers("time-3")
@given(fifo_stories(most_nodes=1, early_ends=False))
def test_if_everybody_uses_up_its_limit_everybody_starts_as_planned(story: Story) -> None:
    """On one node: of several, whoever starts may go elsewhere than was planned for it."""
    known_ms: dict[JobId, int] = {}
    for moment in told(story):
        for job in waiting_in_order(moment):
            start_ms = expected_start(moment, job)
            if job in known_ms:
                assert start_ms == known_ms[job]
            if start_ms is not None:
                known_ms[job] = start_ms


# -- whoever can start does


@st.composite
def half_empty(draw: st.DrawFn) -> tuple[ClusterRecords, Job]:
    """Some run beside what is announced, and one job of one task waits."""
    nodes = draw(calendars.clusters())
    records = ClusterRecords(nodes, calendar=draw(calendars.calendars(nodes)))
    kinds = calendars.templates(records.calendar, (BATCH,))
    for number, template in enumerate(draw(st.lists(kinds, max_size=4))):
        placement = first_place(records, one_task(f"r{number}", template))
        if placement is not None:
            running = JobRecord(one_task(f"r{number}", template), (placement,))
            records = replace(records, jobs=(*records.jobs, running))
    return records, one_task("waits", draw(kinds))


def one_task(name: str, template: JobTemplate) -> Job:
    single = replace(template, groups=(TaskGroup(template.groups[0].spec),), min_available=None, queue=BATCH)
    return Job(JobId(name), single, NOW_MS)


def first_place(records: ClusterRecords, job: Job) -> Placement | None:
    """By trying every node and every choice of devices."""
    inside = {one.name: one for one in records.calendar.reservations}.get(job.template.reservation)
    limit_ms = job.template.time_limit_ms
    if job.template.reservation and (
        inside is None or limit_ms is None or not inside.start_ms <= NOW_MS <= inside.end_ms - limit_ms
    ):
        return None
    there = stays(records, Plan(), NOW_MS)
    for node in records.nodes:
        for devices in device_choices(node, job):
            end_ms = 1 << 60 if limit_ms is None else NOW_MS + limit_ms
            stay = Stay(job, 0, node.name, devices, NOW_MS, end_ms)
            outside = inside is not None and node.name not in inside.nodes
            if not outside and not complaints(records, [*there, stay], NOW_MS):
                return Placement(0, NodeName(node.name), NOW_MS, devices)
    return None


def device_choices(node: Node, job: Job) -> list[tuple[int, ...]]:
    return list(combinations(range(node.spec.gpus.count), job.template.groups[0].spec.gpu.count))


@pytest.mark.covers("time-4", "time-5")
@given(half_empty())
def test_a_job_starts_if_and_only_if_it_fits_beside_what_is_announced(
    situation: tuple[ClusterRecords, Job],
) -> None:
    records, job = situation
    everybody = replace(records, jobs=(*records.jobs, JobRecord(job)))
    plan = plan_for(everybody, calendars.fifo_policy(), NOW_MS)
    starts = any(binding.job == job.id for binding in plan.bindings)
    assert starts == (first_place(records, job) is not None)


def opened_in_the_end(story: Story) -> Story:
    """Everybody fits, no reservation is needed, and after a while all queues are open."""
    arrivals = []
    for one in story.arrivals:
        job = replace(one.job, template=replace(one.job.template, reservation="", connect_to=""))
        if fits_alone(story.records.nodes, job):
            arrivals.append(replace(one, job=job))
    last = story.announcements[-1].calendar if story.announcements else story.records.calendar
    opened = Announcement(tick(30), replace(last, queues=()))
    return dataclasses.replace(story, arrivals=tuple(arrivals), announcements=(*story.announcements, opened))


def fits_alone(nodes: tuple[Node, ...], job: Job) -> bool:
    records, policy = ClusterRecords(nodes, jobs=(JobRecord(job),)), Policy()
    gang = gang_ask(jobs_of(records, policy)[job.id], policy, NOW_MS)
    return can_start(world_of(records, policy.defaults), gang)


@pytest.mark.covers("time-5", "time-6")
@given(calendars.stories(announced_later=True).map(opened_in_the_end))
def test_whatever_was_paused_closed_or_announced_in_the_end_everybody_has_started(story: Story) -> None:
    ran = {binding.job for moment in told(story) for binding in moment.decided.plan.bindings}
    assert {one.job.id for one in story.arrivals} <= ran


# -- the same plan


@pytest.mark.covers("decide-1")
@given(calendars.stories(announced_later=True), st.randoms(use_true_random=False))
def test_the_same_plan_in_whatever_order_it_is_told_and_whatever_is_remembered(
    story: Story, random: Random
) -> None:
    """The virtual cluster keeps its columns from cycle to cycle; here they are made anew each time."""
    for moment in told(story):
        snapshot = learnt(story, snapshot_of(shuffled(moment.records, random)))
        assert decide(snapshot, story.policy, moment.now_ms, PLUGINS) == moment.decided.plan


@pytest.mark.covers("decide-1")
@given(calendars.stories(), calendars.policies(), st.integers(0, 3))
def test_policies_that_share_columns_do_not_see_each_other(story: Story, other: Policy, later: int) -> None:
    records = calendars.waiting_at_once(story)
    snapshot = learnt(story, snapshot_of(records))
    for policy, now_ms in ((story.policy, tick(0)), (other, tick(later)), (story.policy, tick(0))):
        fresh = learnt(story, snapshot_of(records))
        plan = decide(snapshot, policy, now_ms, PLUGINS)
        assert plan == decide(fresh, policy, now_ms, PLUGINS)


def learnt(story: Story, snapshot: Snapshot) -> Snapshot:
    return dataclasses.replace(snapshot, run_times=story.run_times)


def shuffled(records: ClusterRecords, random: Random) -> ClusterRecords:
    calendar = records.calendar
    return replace(
        records,
        nodes=tuple(random.sample(records.nodes, len(records.nodes))),
        jobs=tuple(random.sample(records.jobs, len(records.jobs))),
        calendar=Calendar(
            tuple(random.sample(calendar.maintenance, len(calendar.maintenance))),
            tuple(random.sample(calendar.reservations, len(calendar.reservations))),
            tuple(random.sample(calendar.queues, len(calendar.queues))),
        ),
    )
