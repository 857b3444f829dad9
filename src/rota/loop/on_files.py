"""Decisions on records that are at hand: the place where built-in rules and plugins meet."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Container, Iterator
from contextlib import AbstractContextManager
from itertools import chain

from msgspec.structs import replace

from rota.engine.calendar.extension import extend
from rota.engine.decide import decide
from rota.engine.explaining.explain import explain
from rota.engine.plugin import Plugins
from rota.forecast.estimator import Estimator, EstimatorState
from rota.forecast.planned import Planner
from rota.forecast.run_times import RunTimeBook
from rota.loop.conditions import waiting_with_them, with_conditions_checked
from rota.loop.hosting.plugin_host import CALL_LIMIT_S, PluginHost
from rota.loop.records.record import Recorder
from rota.model.cluster import ClusterRecords
from rota.model.estimate import Estimate
from rota.model.explanation import Explanation, Outcome
from rota.model.extension import Extension
from rota.model.ids import JobId
from rota.model.job import Job, Priority
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.model.verdict import Kind
from rota.snapshot import snapshot_of
from rota.snapshot.defaults import come_in
from rota.snapshot.records import with_records

ESTIMATED = 300
"""Waiting jobs of each queue, in its order, whose starts are worked out: as many as take a few seconds."""


class Moment:
    """A cluster at one moment under a policy: plans, explanations, estimates."""

    def __init__(
        self,
        records: ClusterRecords,
        policy: Policy,
        now_ms: int,
        host: PluginHost,
        call_limit_s: float = CALL_LIMIT_S,
        learnt: EstimatorState | None = None,
    ) -> None:
        """`call_limit_s`: how long a plugin from outside may take for one call. `learnt`: from past jobs;
        None: there is none."""
        records = come_in(_dated(records, now_ms), policy.defaults)
        self._records, self._kept_back = with_conditions_checked(records, now_ms)
        self._learnt = learnt
        self.snapshot = snapshot_of(self._records, policy.defaults)
        if self._kept_back:
            known = with_records(self.snapshot.jobs, (one.record for one in self._kept_back.values()))
            self.snapshot = dataclasses.replace(self.snapshot, jobs=known)
        if learnt is not None:
            book = RunTimeBook(learnt.run_times)
            self.snapshot = dataclasses.replace(self.snapshot, run_times=book.quantiles)
        self._policy = policy
        self._now_ms = now_ms
        self._host = host
        self._call_limit_s = call_limit_s

    def plan(self, recorder: Recorder | None = None) -> Plan:
        with self._plugins() as plugins:
            plan = decide(self.snapshot, self._policy, self._now_ms, plugins)
        if recorder is not None:
            recorder.decided(self._records, self.snapshot.run_times, self._policy, self._now_ms, plan)
        return replace(plan, waiting=(*plan.waiting, *waiting_with_them(self._kept_back)))

    def estimates(self, plan: Plan, job_ids: Container[JobId] | None = None) -> dict[JobId, Estimate]:
        """Of the jobs, or of these among them, that the plan lets wait without a promise: when they
        start. Some are missing: those that never can, those that nothing is known of, and those far
        behind in their queue; without anything learnt, all."""
        if self._learnt is None:
            return {}
        asked = [
            job_id
            for job_id in _unpromised(plan)
            if job_id not in self._kept_back and (job_ids is None or job_id in job_ids)
        ]
        found: dict[JobId, Estimate] = {}
        with self._plugins() as plugins:
            estimator = Estimator(Planner(plugins, ESTIMATED), self._learnt)
            for record in (self.snapshot.jobs[job_id] for job_id in asked):
                if record.placements:
                    continue
                told = estimator.look(self.snapshot, self._policy, self._now_ms, record.job, plan)
                if told is not None:
                    found[record.job.id] = told
        return found

    def explain(self, job_id: JobId, priorities: Collection[int] = tuple(Priority)) -> Explanation:
        """`priorities`: those that its user could ask for."""
        if job_id in self._kept_back:
            return Explanation(job_id, Outcome.WAITING, verdict=self._kept_back[job_id].verdict)
        with self._plugins() as plugins:
            return explain(self.snapshot, self._policy, self._now_ms, plugins, job_id, priorities=priorities)

    def extend(self, job_id: JobId, limit_ms: int) -> Extension:
        """Whether the job may have this time limit, counted from its start. Nothing is changed."""
        with self._plugins() as plugins:
            return extend(self.snapshot, self._policy, self._now_ms, plugins, job_id, limit_ms)

    def _plugins(self) -> AbstractContextManager[Plugins]:
        return self._host.in_force(self._policy, call_limit_s=self._call_limit_s)


def _unpromised(plan: Plan) -> Iterator[JobId]:
    """Jobs of which nothing starts now, and which may start later, at no moment that is fixed."""
    fixed = {start.job for start in plan.starts if start.promised}
    fixed.update(binding.job for binding in plan.bindings)
    for entry in plan.waiting:
        if entry.verdict.kind is not Kind.NEVER:
            yield from (job_id for job_id in entry.jobs if job_id not in fixed)


def latest_time_ms(records: ClusterRecords) -> int | None:
    """The latest time in the records; None: they contain none. Deciding as of then makes the answer depend on
    the files alone.
    """
    latest = max(_times_ms(records), default=0)
    return latest if latest > _most_undated(records) else None


def _dated(records: ClusterRecords, now_ms: int) -> ClusterRecords:
    """Jobs without a submit time are numbered in their order, from 0, which is no time: they count as
    submitted now, in that order."""
    count = _most_undated(records)

    def dated(job: Job) -> Job:
        is_dated = job.submitted_ms >= count
        return job if is_dated else replace(job, submitted_ms=now_ms - count + job.submitted_ms)

    return replace(
        records,
        jobs=tuple(replace(record, job=dated(record.job)) for record in records.jobs),
        conditional=tuple(replace(one, job=dated(one.job)) for one in records.conditional),
    )


def _most_undated(records: ClusterRecords) -> int:
    """Jobs without a time bear numbers below this: readers count jobs, or pods that form them."""
    jobs = chain((one.job for one in records.jobs), (one.job for one in records.conditional))
    return sum(job.template.task_count for job in jobs)


def _times_ms(records: ClusterRecords) -> Iterator[int]:
    for conditional in records.conditional:
        yield conditional.job.submitted_ms
    for record in records.jobs:
        yield record.job.submitted_ms
        for placement in record.placements:
            yield placement.started_ms
    for node in records.nodes:
        for taint in node.spec.taints:
            yield taint.added_ms
    for usage in records.usage:
        yield usage.as_of_ms
