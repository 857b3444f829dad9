"""A story told to its end: the production engine under a virtual clock, cycle by cycle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from rota.forecast.virtual import Decided, VirtualCluster
from rota.model.cluster import ClusterRecords
from rota.model.job import Job, JobRecord
from tests.builders import PLUGINS
from tests.properties.calendars import Story
from tests.words import NOW_MS

MOST_CYCLES = 400


@dataclass(frozen=True)
class Moment:
    """One cycle: what it was decided from, and what was decided and done."""

    now_ms: int
    records: ClusterRecords
    decided: Decided


def told(story: Story) -> Iterator[Moment]:
    """Every cycle until nothing happens any more."""
    run_ms = {one.job.id: one.run_ms for one in story.arrivals}
    arrivals = sorted(story.arrivals, key=lambda one: (one.job.submitted_ms, one.job.id))
    announcements = list(story.announcements)

    def run_ms_of(job: Job) -> int:
        return run_ms[job.id]

    def made_anew(records: ClusterRecords, now_ms: int) -> VirtualCluster:
        cluster = VirtualCluster(records, story.policy, PLUGINS, now_ms, run_ms_of)
        cluster.learn(story.run_times)
        return cluster

    cluster = made_anew(story.records, NOW_MS)
    for _ in range(MOST_CYCLES):
        coming = [arrivals[0].job.submitted_ms] if arrivals else []
        coming += [announcements[0].at_ms] if announcements else []
        if (next_ms := cluster.next_ms()) is not None:
            coming.append(next_ms)
        if not coming:
            return
        now_ms = min(coming)
        cluster.advance(now_ms)
        if announcements and announcements[0].at_ms <= now_ms:
            calendar = announcements.pop(0).calendar
            cluster = made_anew(replace(cluster.records(), calendar=calendar), now_ms)
        while arrivals and arrivals[0].job.submitted_ms <= now_ms:
            one = arrivals.pop(0)
            cluster.arrive(JobRecord(one.job), one.run_ms)
        records = cluster.records()
        yield Moment(now_ms, records, cluster.decide_now())
    raise AssertionError("it goes on and on")
