"""Jobs of files that are held, or wait for others: who of them waits for room is found out as on a server, by
the same events, and only those reach the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from rota.lifecycle.advance import advance, submitted
from rota.lifecycle.events import DependencyEnded
from rota.lifecycle.kept_back import kept_back
from rota.lifecycle.state import JobState
from rota.model.cluster import ClusterRecords, ConditionalJob
from rota.model.ids import JobId
from rota.model.job import JobRecord
from rota.model.plan import Waiting
from rota.model.run import JobSpec, Run
from rota.model.verdict import Verdict


class KeptBack(NamedTuple):
    record: JobRecord
    verdict: Verdict


def with_conditions_checked(
    records: ClusterRecords, now_ms: int
) -> tuple[ClusterRecords, dict[JobId, KeptBack]]:
    """The records with those that may start, and the others. A job whose tasks are all done has succeeded."""
    if not records.conditional:
        return records, {}
    ended = {one.job.id for one in records.jobs if _is_over(one)}
    may_start: list[JobRecord] = []
    others: dict[JobId, KeptBack] = {}
    for one in records.conditional:
        verdict = kept_back(_state(one, ended, now_ms))
        record = JobRecord(one.job)
        if verdict is None:
            may_start.append(record)
        else:
            others[one.job.id] = KeptBack(record, verdict)
    return replace(records, jobs=(*records.jobs, *may_start), conditional=()), others


def _is_over(record: JobRecord) -> bool:
    return not record.placements and next(record.waiting_ranks(), None) is None


def _state(one: ConditionalJob, ended: set[JobId], now_ms: int) -> JobState:
    spec = JobSpec(one.job.template, Run(), held=one.held, depends_on=one.depends_on)
    state = submitted(one.job.id, 0, spec, now_ms).state
    for dependency in one.depends_on:
        if dependency.job in ended and not state.is_over:
            state = advance(state, DependencyEnded(dependency.job, succeeded=True), now_ms, chance=0).state
    return state


def waiting_with_them(kept: Mapping[JobId, KeptBack]) -> Iterator[Waiting]:
    """As a plan says it: those that wait for the same are one entry."""
    alike: dict[Verdict, list[JobId]] = {}
    for job_id, one in kept.items():
        alike.setdefault(one.verdict, []).append(job_id)
    for verdict, job_ids in alike.items():
        yield Waiting(tuple(job_ids), verdict)
