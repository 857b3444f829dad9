"""Estimates of when waiting jobs start, computed in another process: they take seconds, which would block the
loop."""

from __future__ import annotations

import os
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread

from msgspec import Struct, msgpack

from rota.engine.decide import decide
from rota.forecast.estimator import PlannedStarts
from rota.forecast.planned import Planner
from rota.forecast.run_times import RunTimeBook, RunTimeState
from rota.loop.hosting.plugin_host import PluginHost
from rota.loop.live.unknown_starts import why_unknown
from rota.model.cluster import ClusterRecords
from rota.model.estimate import NoStart
from rota.model.ids import JobId
from rota.model.policy import Policy
from rota.model.verdict import Kind
from rota.snapshot.state import ClusterState


class Question(Struct, frozen=True):
    """All that runs, and the first of those that wait."""

    records: ClusterRecords
    policy: Policy
    run_times: RunTimeState
    now_ms: int


class Forecast(Struct, frozen=True):
    starts: dict[JobId, PlannedStarts]
    never: list[JobId]
    """Those that can't start on this cluster as it is."""
    unknown: dict[JobId, NoStart] = {}
    """Those of which nobody can tell, and why."""


def end_with_parent() -> None:
    """Called first in the other process, so that it doesn't outlive a server that is killed."""
    parent = parent_process()
    if parent is not None:
        Thread(target=_wait_for_end, args=(parent.sentinel,), daemon=True).start()


def _wait_for_end(sentinel: int) -> None:
    wait([sentinel])
    os._exit(0)


def answer(question: bytes) -> bytes:
    """Called in the other process."""
    return msgpack.encode(_forecast(msgpack.decode(question, type=Question)))


def _forecast(question: Question) -> Forecast:
    state = ClusterState(question.policy.defaults)
    state.load(question.records)
    state.set_run_times(RunTimeBook(question.run_times).quantiles)
    snapshot = state.snapshot()
    with PluginHost().in_force(question.policy) as plugins:
        plan = decide(snapshot, question.policy, question.now_ms, plugins)
        planner = Planner(plugins)
        starts: dict[JobId, PlannedStarts] = {}
        unknown: dict[JobId, NoStart] = {}
        for entry in plan.waiting:
            if entry.verdict.kind is not Kind.NEVER:
                for job_id in entry.jobs:
                    job = snapshot.jobs[job_id].job
                    planned = planner(snapshot, question.policy, question.now_ms, job, plan)
                    if planned.expected_ms is None:
                        unknown[job_id] = why_unknown(entry.verdict)
                    else:
                        starts[job_id] = planned
        never = [
            job_id for entry in plan.waiting if entry.verdict.kind is Kind.NEVER for job_id in entry.jobs
        ]
    now = PlannedStarts(question.now_ms, question.now_ms)
    starts |= {binding.job: now for binding in plan.bindings}
    return Forecast(starts, never, unknown)
