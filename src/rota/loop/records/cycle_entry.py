"""A cycle as it is written down: what changed since the cycle before, and the plan.

The first entry of a file holds everything, and its templates are numbered from 0; each further one
builds on those before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from rota.loop.records.inputs import Delta, without_template
from rota.loop.records.plugin_origins import PluginOrigin
from rota.model.calendar import PlannedStart
from rota.model.cluster import Calendar, TenantUsage
from rota.model.ids import JobId, NodeName
from rota.model.job import JobRecord, JobTemplate
from rota.model.node import Node, Offer
from rota.model.plan import Binding, Eviction, Plan, PluginFault, Waiting
from rota.model.policy import Policy
from rota.model.verdict import Verdict


class Changes(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    templates: tuple[JobTemplate, ...] = ()
    """Those not seen before, numbered on."""
    jobs: tuple[tuple[int, JobRecord], ...] = ()
    """Without its template, and that one's number."""
    jobs_gone: tuple[JobId, ...] = ()
    nodes: tuple[Node, ...] = ()
    nodes_gone: tuple[NodeName, ...] = ()
    offers: tuple[Offer, ...] = ()
    offers_gone: tuple[str, ...] = ()
    usage: tuple[TenantUsage, ...] | None = None
    """None: as before, like the calendar."""
    calendar: Calendar | None = None
    run_times: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Quantiles by the template's number; empty: unknown, or not needed any more."""


class WrittenPlan(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Most of what waits, and most planned starts, are as they were a cycle before."""

    bindings: tuple[Binding, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    faults: tuple[PluginFault, ...] = ()
    waiting: tuple[tuple[int, int] | JobId, ...] = ()
    """All jobs that wait, one after another. A pair: so many from this position on, of those of the
    plan before."""
    together: tuple[int, ...] = ()
    """How many of these, in turn, wait for the same reasons."""
    verdicts: tuple[Verdict | None, ...] = ()
    """Theirs. None: what the first of them had in the plan before."""
    starts: tuple[PlannedStart | JobId, ...] = ()
    """A job alone: as in the plan before."""


class CycleEntry(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    number: int
    now_ms: int
    input_hash: bytes
    changes: Changes
    plan: WrittenPlan
    policy: Policy | None = None
    """None: as before, like the plugins."""
    plugins: tuple[PluginOrigin, ...] = ()
    """Those from outside that the policy names."""


def written_changes(delta: Delta, numbers: dict[JobTemplate, int]) -> Changes:
    """`numbers`: of the templates that stand in the file already; new ones are added."""
    templates: list[JobTemplate] = []

    def number_of(template: JobTemplate) -> int:
        number = numbers.get(template)
        if number is None:
            number = numbers[template] = len(numbers)
            templates.append(template)
        return number

    jobs = tuple((number_of(one.job.template), without_template(one)) for one in delta.jobs.values() if one)
    run_times = tuple((number_of(template), told) for template, told in delta.run_times.items())
    return Changes(
        tuple(templates),
        jobs,
        tuple(job_id for job_id, one in delta.jobs.items() if one is None),
        tuple(node for node in delta.nodes.values() if node),
        tuple(name for name, node in delta.nodes.items() if node is None),
        tuple(offer for offer in delta.offers.values() if offer),
        tuple(name for name, offer in delta.offers.items() if offer is None),
        delta.usage,
        delta.calendar,
        run_times,
    )


def read_changes(changes: Changes, templates: list[JobTemplate]) -> Delta:
    """`templates`: those of the file so far; new ones are added. Raises IndexError where one is missing."""
    templates += changes.templates
    records = (
        replace(record, job=replace(record.job, template=templates[number]))
        for number, record in changes.jobs
    )
    return Delta(
        dict.fromkeys(changes.nodes_gone) | {node.name: node for node in changes.nodes},
        dict.fromkeys(changes.offers_gone) | {offer.name: offer for offer in changes.offers},
        dict.fromkeys(changes.jobs_gone) | {record.job.id: record for record in records},
        changes.usage,
        changes.calendar,
        {templates[number]: told for number, told in changes.run_times},
    )


def written_plan(plan: Plan, before: Plan) -> WrittenPlan:
    verdict_before = {entry.jobs[0]: entry.verdict for entry in before.waiting}
    start_before = {start.job: start for start in before.starts}
    return WrittenPlan(
        plan.bindings,
        plan.evictions,
        plan.faults,
        tuple(_in_runs(_waiting_jobs(plan), _waiting_jobs(before))),
        tuple(len(entry.jobs) for entry in plan.waiting),
        tuple(
            None if verdict_before.get(entry.jobs[0]) == entry.verdict else entry.verdict
            for entry in plan.waiting
        ),
        tuple(start.job if start_before.get(start.job) == start else start for start in plan.starts),
    )


def read_plan(written: WrittenPlan, before: Plan) -> Plan:
    """Raises LookupError or ValueError if it doesn't follow on the plan before."""
    verdict_before = {entry.jobs[0]: entry.verdict for entry in before.waiting}
    start_before = {start.job: start for start in before.starts}
    jobs = _out_of_runs(written.waiting, _waiting_jobs(before))
    waiting = []
    for count, verdict in zip(written.together, written.verdicts, strict=True):
        together = tuple(islice(jobs, count))
        if len(together) < count:
            raise ValueError("fewer jobs wait than have verdicts")
        waiting.append(Waiting(together, verdict_before[together[0]] if verdict is None else verdict))
    if next(jobs, None) is not None:
        raise ValueError("more jobs wait than have verdicts")
    starts = (one if isinstance(one, PlannedStart) else start_before[one] for one in written.starts)
    return Plan(written.bindings, written.evictions, tuple(waiting), written.faults, tuple(starts))


def _waiting_jobs(plan: Plan) -> list[JobId]:
    return [job for entry in plan.waiting for job in entry.jobs]


def _in_runs(jobs: Sequence[JobId], before: Sequence[JobId]) -> Iterator[tuple[int, int] | JobId]:
    position = {job: at for at, job in enumerate(before)}
    at = 0
    while at < len(jobs):
        first = position.get(jobs[at])
        if first is None:
            yield jobs[at]
            at += 1
            continue
        end = first
        while at < len(jobs) and end < len(before) and jobs[at] == before[end]:
            at, end = at + 1, end + 1
        yield end - first, first


def _out_of_runs(runs: Sequence[tuple[int, int] | JobId], before: Sequence[JobId]) -> Iterator[JobId]:
    for run in runs:
        if isinstance(run, str):
            yield run
        else:
            count, first = run
            yield from before[first : first + count]
