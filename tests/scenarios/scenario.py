"""A scenario file, read: the records to start from, and what happens cycle by cycle."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from rota.intake.checking.convert import convert
from rota.intake.documents.document import Document, parse_documents
from rota.intake.errors import FieldPath, InputError
from rota.intake.files import records_from_documents
from rota.intake.jobs import MAX_TASKS
from rota.intake.policies import policy_from
from rota.model.cluster import Calendar, ClusterRecords
from rota.model.ids import JobId
from rota.model.job import JobRecord, Placement, Promise
from rota.model.plan import Plan
from rota.model.policy import Policy
from rota.model.quantities import QuantityError, parse_duration_ms, parse_timestamp_ms
from tests.scenarios.form import ExpectForm, LaterForm, ScenarioForm
from tests.scenarios.plugins import HOST

_ANNOUNCED = ("maintenance", "reservations", "queues")


@dataclass(frozen=True)
class Step:
    """One cycle: what happens before it, and what is expected of it."""

    now_ms: int
    finished: frozenset[str]
    submitted: tuple[JobRecord, ...]
    calendar: Calendar
    expect: ExpectForm


@dataclass(frozen=True)
class Scenario:
    title: str
    records: ClusterRecords
    """Before the first step: without the jobs that steps submit."""
    policy: Policy
    steps: tuple[Step, ...]


def read_scenario(path: Path, shown_as: str) -> Scenario:
    """InputError, with line and field, where something in the file isn't understood."""
    document, *others = parse_documents(path.read_bytes(), shown_as)
    if others:
        raise others[0].error((), "a scenario is one document", "make several files")
    return _Reader(document).read()


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._form = convert(document, ScenarioForm)
        self._origins: dict[str, FieldPath] = {}

    def read(self) -> Scenario:
        form = self._form
        try:
            records = self._records()
            policy = Policy() if form.policy is UNSET else self._policy(form.policy)
        except InputError as error:
            raise self._in_this_file(error) from None
        later = {name for step in form.then for name in _names(step)}
        jobs = {record.job.id: record for record in records.jobs}
        now_ms = self._time(("now",), form.now)
        at_first = _dated((record for name, record in jobs.items() if name not in later), now_ms)
        calendar, announced = records.calendar, dict(form.cluster)
        steps = [Step(now_ms, frozenset(), (), calendar, form.expect)]
        for index, step in enumerate(form.then):
            now_ms += self._duration(("then", index, "after"), step.after)
            self._check_finished(step.finish, jobs.keys(), ("then", index, "finish"))
            submitted = _dated((jobs[JobId(name)] for name in _names(step)), now_ms)
            if step.announce:
                announced |= step.announce
                calendar = self._calendar(announced, ("then", index, "announce"))
            steps.append(Step(now_ms, frozenset(step.finish), submitted, calendar, step.expect))
        return Scenario(form.title, replace(records, jobs=at_first), policy, tuple(steps))

    # -- parts that are files of their own elsewhere

    def _records(self) -> ClusterRecords:
        form = self._form
        clusters = [self._part(form.cluster, ("cluster",))]
        clusters += [self._part(one, ("kubernetes", at)) for at, one in enumerate(form.kubernetes)]
        jobs = [self._part({"jobs": form.jobs}, ())]
        for index, step in enumerate(form.then):
            if step.submit:
                jobs.append(self._part({"jobs": step.submit}, ("then", index, "submit")))
        return records_from_documents(clusters, jobs)

    def _calendar(self, cluster: dict[str, Any], at: FieldPath) -> Calendar:
        """What is announced from then on; sections that aren't named stay as they were."""
        for section in set(cluster) - {"nodes", *_ANNOUNCED}:
            cluster.pop(section)
        try:
            return records_from_documents([self._part(cluster, at)], []).calendar
        except InputError as error:
            raise self._in_this_file(error) from None

    def _policy(self, data: dict[str, Any]) -> Policy:
        return policy_from(self._part(data, ("policy",)), HOST.names)

    def _part(self, data: object, origin: FieldPath) -> Document:
        name = f"part {len(self._origins)}"
        self._origins[name] = origin
        (part,) = parse_documents(json.dumps(data).encode(), name)
        return part

    def _in_this_file(self, error: InputError) -> InputError:
        """The error as one of the scenario file, with the line there."""
        found = [self._moved(one) for one in error.all]
        found[0].also = tuple(found[1:])
        return found[0]

    def _moved(self, error: InputError) -> InputError:
        origin, path = self._origins[error.file], error.path
        if "submit" in origin:
            path = path[1:]
        return self._document.error((*origin, *path), error.problem, error.remedy)

    # -- times and names

    def _time(self, at: FieldPath, value: object) -> int:
        try:
            return parse_timestamp_ms(value)
        except QuantityError as error:
            raise self._document.error(at, error.problem, error.remedy) from None

    def _duration(self, at: FieldPath, value: object) -> int:
        try:
            return parse_duration_ms(value)
        except QuantityError as error:
            raise self._document.error(at, error.problem, error.remedy) from None

    def _check_finished(self, names: Sequence[str], known: Iterable[str], at: FieldPath) -> None:
        for index, name in enumerate(names):
            if name not in known:
                raise self._document.error((*at, index), f"there is no job {name}", "name one of the jobs")


def _dated(records: Iterable[JobRecord], now_ms: int) -> tuple[JobRecord, ...]:
    """Jobs of which nobody said when they came are numbered, from 0: they came just now, in that order."""
    found = tuple(records)
    numbers = (record.job.submitted_ms for record in found if record.job.submitted_ms < MAX_TASKS)
    first_ms = now_ms - 1 - max(numbers, default=0)
    return tuple(_dated_one(record, first_ms) for record in found)


def _dated_one(record: JobRecord, first_ms: int) -> JobRecord:
    number = record.job.submitted_ms
    if number >= MAX_TASKS:
        return record
    return replace(record, job=replace(record.job, submitted_ms=first_ms + number))


def _names(step: LaterForm) -> Iterator[str]:
    return (job["name"] for job in step.submit)


def before(step: Step, records: ClusterRecords) -> ClusterRecords:
    """The records as the step finds them: some jobs have ended, others have come in."""
    left = tuple(record for record in records.jobs if record.job.id not in step.finished)
    return replace(records, jobs=left + step.submitted, calendar=step.calendar)


def carried_out(plan: Plan, records: ClusterRecords, now_ms: int) -> ClusterRecords:
    """The records once the plan is carried out."""
    known = {node.name for node in records.nodes}
    for binding in plan.bindings:
        if binding.node not in known:
            raise NotImplementedError(f"a scenario can't go on after it started the node {binding.node}")
    over = {one.job for one in plan.evictions if one.ends_job}
    left = (record for record in records.jobs if record.job.id not in over)
    return replace(records, jobs=tuple(_after(plan, record, now_ms) for record in left))


def _after(plan: Plan, record: JobRecord, now_ms: int) -> JobRecord:
    job_id = record.job.id
    evictions = [one for one in plan.evictions if one.job == job_id]
    evicted = {one.rank for one in evictions}
    placements = [one for one in record.placements if one.rank not in evicted]
    placements += [
        Placement(one.rank, one.node, now_ms, one.gpu_devices) for one in plan.bindings if one.job == job_id
    ]
    evictors = {*record.job.preempted_by, *(one.preemptor for one in evictions if one.preemptor)}
    job = replace(record.job, preempted_by=tuple(sorted(evictors)))
    promises = [
        Promise(one.start_ms, one.placements) for one in plan.starts if one.job == job_id and one.promised
    ]
    return replace(
        record,
        job=job,
        placements=tuple(sorted(placements, key=lambda one: one.rank)),
        promise=promises[0] if promises else None,
    )
