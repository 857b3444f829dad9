"""When a waiting job is to start: the period that its user stated, its deadline, and the start that it was
promised."""

from collections.abc import Mapping

from msgspec import UNSET
from msgspec.structs import replace

from rota.intake.checking.fields import Field
from rota.intake.forms.jobs import JobForm, PromisedTaskForm, PromiseForm, RunForm
from rota.intake.parts.running import find_node, read_devices
from rota.model.ids import NodeName
from rota.model.job import Job, JobRecord, Placement, Promise
from rota.model.node import Node
from rota.model.quantities import format_timestamp, parse_duration_ms, parse_timestamp_ms


def read_period(form: RunForm, time_limit_ms: int | None, at: Field) -> tuple[int, int | None]:
    """From when on it may start, and until when, its deadline counted in; None: at any time after."""
    after_ms, before_ms = read_stated_period(form, at)
    deadline_ms = read_deadline_ms(form, after_ms, time_limit_ms, at)
    if deadline_ms is not None:
        latest_ms = deadline_ms - (time_limit_ms or 0)
        before_ms = latest_ms if before_ms is None else min(before_ms, latest_ms)
    return after_ms, before_ms


def read_stated_period(form: RunForm, at: Field) -> tuple[int, int | None]:
    after_ms, before_ms = 0, None
    if form.start_after is not UNSET:
        after_ms = at.at("start_after").read(parse_timestamp_ms, form.start_after)
        if isinstance(form, JobForm):
            _check_in_time(form, after_ms, at)
    if form.start_before is not UNSET:
        before_ms = at.at("start_before").read(parse_timestamp_ms, form.start_before)
        if before_ms < after_ms:
            raise at.at("start_before").error(
                f"is before start_after, {format_timestamp(after_ms)}", "give a later time, or swap the two"
            )
    return after_ms, before_ms


def read_deadline_ms(form: RunForm, after_ms: int, time_limit_ms: int | None, at: Field) -> int | None:
    if form.deadline is UNSET:
        return None
    deadline_ms = at.at("deadline").read(parse_timestamp_ms, form.deadline)
    earliest_ms = after_ms + (time_limit_ms or 0)
    if deadline_ms < earliest_ms:
        reason = "its time_limit" if not after_ms else "start_after and time_limit"
        raise at.at("deadline").error(
            f"by {reason} it may run until {format_timestamp(earliest_ms)}",
            "give a later time, or a shorter time_limit",
        )
    return deadline_ms


def _check_in_time(form: JobForm, after_ms: int, at: Field) -> None:
    if form.start_within is UNSET or form.submitted is UNSET:
        return
    submitted_ms = at.at("submitted").read(parse_timestamp_ms, form.submitted)
    failed_ms = submitted_ms + at.at("start_within").read(parse_duration_ms, form.start_within)
    if after_ms > failed_ms:
        raise at.at("start_after").error(
            f"by start_within it fails at {format_timestamp(failed_ms)}, which is before",
            "give an earlier time, or a longer start_within",
        )


def read_promise(form: JobForm, record: JobRecord, nodes: Mapping[NodeName, Node], at: Field) -> JobRecord:
    """The record with the promise that the form states, if it states one."""
    if form.promised is UNSET:
        return record
    promise_at = at.at("promised")
    start_ms = promise_at.at("start").read(parse_timestamp_ms, form.promised.start)
    _check_start(start_ms, form, record.job, promise_at.at("start"))
    placements = _placements(form.promised, start_ms, record, nodes, promise_at.at("on"))
    return replace(record, promise=Promise(start_ms, placements))


def _check_start(start_ms: int, form: JobForm, job: Job, at: Field) -> None:
    if form.submitted is not UNSET and start_ms < job.submitted_ms:
        raise at.error("is before the job was submitted", "correct one of the two")
    if start_ms < job.start_after_ms:
        raise at.error("is before its start_after", "correct one of the two")
    if job.start_before_ms is not None and start_ms > job.start_before_ms:
        raise at.error("is after its start_before", "correct one of the two")


def _placements(
    form: PromiseForm, start_ms: int, record: JobRecord, nodes: Mapping[NodeName, Node], at: Field
) -> tuple[Placement, ...]:
    job = record.job
    template = job.template
    entries = (form.on,) if isinstance(form.on, str) else form.on
    if len(entries) != template.task_count:
        raise at.error(
            f"{len(entries)} nodes for {template.task_count} tasks",
            "give one node a task, null for one that was promised nothing",
        )
    waiting = set(record.waiting_ranks())
    placements = []
    for rank, entry in enumerate(entries):
        if entry is None:
            continue
        entry_at = at if isinstance(form.on, str) else at.at(rank)
        if rank not in waiting:
            raise entry_at.error(f"the task of rank {rank} runs or has ended", "write null in its place")
        placements.append(_placement(entry, rank, start_ms, job, nodes, entry_at))
    needed = max(1, template.min_count - (template.task_count - len(waiting)))
    if len(placements) < needed:
        raise at.error(
            f"{len(placements)} of the {needed} tasks that start together have a node",
            "name the others' nodes",
        )
    return tuple(placements)


def _placement(
    entry: str | PromisedTaskForm,
    rank: int,
    start_ms: int,
    job: Job,
    nodes: Mapping[NodeName, Node],
    at: Field,
) -> Placement:
    spec = job.template.groups[job.group_of(rank)].spec
    gpus: tuple[int, ...] = ()
    gpus_at = at
    if isinstance(entry, str):
        node = find_node(entry, nodes, at)
    else:
        node, gpus, gpus_at = find_node(entry.node, nodes, at.at("node")), entry.gpus, at.at("gpus")
    if spec.gpu.count and not gpus:
        raise gpus_at.error(
            f"nothing says which {spec.gpu.count} GPUs of {node.name} are promised",
            "number them, as in {node: n1, gpus: [0]}",
        )
    return Placement(rank, node.name, start_ms, read_devices(gpus, spec, node, gpus_at))
