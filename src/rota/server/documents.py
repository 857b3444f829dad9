"""States of things as the documents that clients get."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec.structs import replace

from rota.api.cluster import (
    AgentDocument,
    AgentState,
    InvitationDocument,
    MaintenanceDocument,
    ReservationDocument,
)
from rota.api.documents import ChangeDocument
from rota.api.jobs import (
    AttemptDocument,
    EfficiencyDocument,
    ElementsDocument,
    JobDocument,
    Submitted,
    SubmittedEntry,
)
from rota.api.limits import MOST_SHOWN
from rota.api.people import ProjectDocument, TokenDocument
from rota.api.service import EventDocument
from rota.backends.roster import AgentSeen
from rota.control.versions import version_of
from rota.intake.submissions import Submission
from rota.lifecycle.state import JobState, LiveTask, Phase, TaskPhase
from rota.model.calendar import Maintenance, Reservation
from rota.model.resources import Resources
from rota.model.run import Run
from rota.store.reading.folded import FoldedRow
from rota.store.writing.batch import Agent, Attempt, JoinToken, Project, StoredEvent, Token
from rota.views.seen import SeesProject, seen_event

COMMAND_LENGTH = 80
MOST_PARTNERS_SHOWN = 20
"""Of the jobs that one waits for: there may be a thousand, and a page has a thousand jobs."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MS = (datetime(9999, 12, 31, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


def moment(at_ms: int) -> datetime:
    """What lies after the last day that has a date is put on that day."""
    return _EPOCH + timedelta(milliseconds=min(at_ms, _LAST_MS))


def moment_or_none(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else moment(at_ms)


def job_document(state: JobState) -> JobDocument:
    template = state.spec.template
    number, dot, _ = state.id.partition(".")
    return JobDocument(
        id=state.id,
        name=state.spec.name,
        project=template.project,
        user=template.user,
        queue=template.queue,
        phase=state.phase,
        cause=state.cause,
        message=state.message,
        priority=int(template.priority),
        labels=dict(template.labels),
        array=number if dot else None,
        tasks=template.task_count,
        tasks_running=sum(task.phase is TaskPhase.RUNNING for task in state.live),
        tasks_done=len(state.done),
        tasks_failed=len(state.failed),
        nodes=list(dict.fromkeys(task.node for task in state.live)),
        attempt=state.attempt,
        submitted=moment(state.submitted_ms),
        started=moment_or_none(state.started_ms),
        ended=moment_or_none(state.ended_ms),
        time_limit_s=_seconds(_time_limit_ms(state)),
        promised=None if state.promise is None else moment(state.promise.start_ms),
        exit_code=_exit_code(state),
        command=command_line(state.spec.run),
        waits_for=[dependency.job for dependency in state.depends_on[:MOST_PARTNERS_SHOWN]],
        not_before=moment(state.not_before_ms) if state.not_before_ms else None,
    )


def folded_document(row: FoldedRow) -> JobDocument:
    """A job, or a whole array by its number."""
    document = job_document(row.state)
    if row.counts is None:
        return document
    limit = row.state.spec.template.array_limit
    elements = ElementsDocument(
        size=sum(row.counts.values()),
        phases={phase: row.counts[phase] for phase in Phase if row.counts.get(phase)},
        at_once=None if limit is None else limit.at_once,
    )
    return replace(document, id=document.array or document.id, array=None, elements=elements)


def command_line(run: Run) -> str:
    """What it executes, as one line that fits a table."""
    text = shlex.join(run.command)
    if run.script and run.script_name:
        text = shlex.join((run.script_name, *run.command))
    elif run.script:
        lines = (line.strip() for line in run.script.splitlines())
        text = next((line for line in lines if line and not line.startswith("#")), "") or text
    shown = "".join(c if c.isprintable() else " " for c in text[: COMMAND_LENGTH + 1])
    return shown if len(shown) <= COMMAND_LENGTH else f"{shown[: COMMAND_LENGTH - 1]}…"


def _exit_code(state: JobState) -> int | None:
    if state.phase is Phase.SUCCEEDED:
        return 0
    return state.last_end.exit_code if state.phase.is_terminal and state.last_end is not None else None


def _time_limit_ms(state: JobState) -> int | None:
    return state.spec.template.time_limit_ms if state.time_limit_ms is None else state.time_limit_ms


def _seconds(span_ms: int | None) -> float | None:
    return None if span_ms is None else span_ms / 1000


def submitted_document(submission: Submission, states: Sequence[JobState], dry_run: bool) -> Submitted:
    """`states`: of all its jobs; in a dry run of some, the first being the first. An array is a single entry,
    however many jobs it has, because answers are stored for repeated requests."""
    entries, number = [], states[0].number
    for entry in submission.entries:
        indexes = entry.array
        ids = (str(number),) * 2 if indexes is None else (f"{number}.{indexes[0]}", f"{number}.{indexes[-1]}")
        entries.append(
            SubmittedEntry(
                id=str(number),
                name=entry.spec.name,
                count=entry.job_count,
                first=ids[0],
                last=ids[1],
                is_array=indexes is not None,
            )
        )
        number += entry.job_count
    return Submitted(
        dry_run=dry_run,
        jobs=[job_document(state) for state in states[:MOST_SHOWN]],
        warnings=list(submission.warnings),
        count=submission.job_count,
        entries=entries,
    )


def change_document(states: Sequence[JobState], dry_run: bool) -> ChangeDocument:
    return ChangeDocument(dry_run=dry_run, changed=[state.id for state in states])


def attempt_document(attempt: Attempt, live: Mapping[int, LiveTask]) -> AttemptDocument:
    """`live`: the job's tasks that have a node, by fence."""
    task, end = live.get(attempt.fence), attempt.end
    return AttemptDocument(
        rank=attempt.rank,
        fence=attempt.fence,
        node=attempt.node,
        gpu_devices=list(attempt.gpu_devices),
        phase=None if task is None else task.phase,
        bound=moment(attempt.bound_ms),
        started=moment_or_none(attempt.started_ms),
        ended=moment_or_none(attempt.ended_ms),
        reason=None if end is None else end.reason,
        exit_code=None if end is None else end.exit_code,
        signal=None if end is None else end.signal,
        message="" if end is None else end.message,
        cpu_s=None if end is None else end.used.cpu_ms / 1000,
        max_memory_bytes=None if end is None else end.used.max_memory_bytes,
    )


def efficiency_document(state: JobState, attempts: Sequence[Attempt], now_ms: int) -> EfficiencyDocument:
    """Over all starts of all its tasks; memory is that of the task that used, and that asked for, most."""
    job = state.record().job
    wall_ms = cpu_asked_ms = cpu_used_ms = 0
    memory_asked_bytes = memory_used_bytes = 0
    for attempt in attempts:
        if attempt.started_ms is None:
            continue
        asked = job.template.groups[job.group_of(attempt.rank)].spec.requests
        ran_ms = max(0, (now_ms if attempt.ended_ms is None else attempt.ended_ms) - attempt.started_ms)
        wall_ms += ran_ms
        cpu_asked_ms += ran_ms * asked.cpu_milli // 1000
        memory_asked_bytes = max(memory_asked_bytes, asked.memory_bytes)
        if attempt.end is not None:
            cpu_used_ms += attempt.end.used.cpu_ms
            memory_used_bytes = max(memory_used_bytes, attempt.end.used.max_memory_bytes)
    return EfficiencyDocument(
        job=state.id,
        wall_s=wall_ms / 1000,
        cpu_asked_s=cpu_asked_ms / 1000,
        cpu_used_s=cpu_used_ms / 1000,
        memory_asked_bytes=memory_asked_bytes,
        memory_used_bytes=memory_used_bytes,
        time_limit_s=_seconds(_time_limit_ms(state)),
    )


def event_document(event: StoredEvent, sees: SeesProject) -> EventDocument:
    """Without jobs of projects that whoever gets it may not see."""
    row = event.row
    return EventDocument(
        seq=event.seq,
        at=moment(row.at_ms),
        kind=row.kind,
        subject=row.subject,
        project=row.project,
        by=row.by,
        data=seen_event(msgspec.json.decode(row.data), sees),
    )


def maintenance_document(window: Maintenance) -> MaintenanceDocument:
    return MaintenanceDocument(
        name=window.name, start=moment(window.start_ms), end=moment(window.end_ms), nodes=list(window.nodes)
    )


def reservation_document(reservation: Reservation) -> ReservationDocument:
    return ReservationDocument(
        name=reservation.name,
        start=moment(reservation.start_ms),
        end=moment(reservation.end_ms),
        nodes=list(reservation.nodes),
        tenants=list(reservation.tenants),
        resources=None if reservation.share is None else amounts(reservation.share),
        gpus=reservation.gpus,
    )


def amounts(resources: Resources) -> dict[str, float | int]:
    """Cores and bytes, by name; what there is none of is left out."""
    named: dict[str, float | int] = {
        "cpu": resources.cpu_milli / 1000,
        "memory": resources.memory_bytes,
        "storage": resources.storage_bytes,
        "slots": resources.slots,
        **dict(resources.extended),
    }
    return {name: amount for name, amount in named.items() if amount}


def project_document(project: Project) -> ProjectDocument:
    return ProjectDocument(
        name=project.name,
        description=project.description,
        members=dict(project.members),
        created=moment(project.created_ms),
        version=version_of(project),
    )


def invitation_document(token: JoinToken, text: str | None = None) -> InvitationDocument:
    return InvitationDocument(
        id=token.id,
        name=token.name or None,
        pool=token.node.pool or None,
        labels=dict(token.node.labels),
        taints=[taint.notation for taint in token.node.taints],
        expires=moment(token.expires_ms),
        token=text,
    )


def agent_document(agent: Agent, seen: AgentSeen | None, now_ms: int) -> AgentDocument:
    expires_ms = max(one.expires_ms for one in agent.certificates)
    return AgentDocument(
        name=agent.name,
        state=_agent_state(agent, seen, expires_ms <= now_ms),
        pool=agent.node.pool or None,
        labels=dict(agent.node.labels),
        taints=[taint.notation for taint in agent.node.taints],
        joined=moment(agent.joined_ms),
        invited_by=agent.invited_by,
        expires=moment(expires_ms),
        last_heartbeat=None if seen is None else moment(seen.heartbeat_ms),
        version="" if seen is None else seen.version,
        clock_skew_s=None if seen is None else seen.clock_skew_ms / 1000,
        revoked=moment_or_none(agent.revoked_ms),
        revoked_by=agent.revoked_by,
    )


def unproven_agent(name: str, seen: AgentSeen) -> AgentDocument:
    """One that needs no certificate."""
    return AgentDocument(
        name=name,
        state=AgentState.CONNECTED if seen.connected else AgentState.AWAY,
        pool=None,
        labels={},
        taints=[],
        joined=None,
        invited_by="",
        expires=None,
        last_heartbeat=moment(seen.heartbeat_ms),
        version=seen.version,
        clock_skew_s=seen.clock_skew_ms / 1000,
        revoked=None,
        revoked_by="",
    )


def _agent_state(agent: Agent, seen: AgentSeen | None, is_expired: bool) -> AgentState:
    if agent.revoked_ms is not None:
        return AgentState.REVOKED
    if is_expired:
        return AgentState.EXPIRED
    return AgentState.CONNECTED if seen is not None and seen.connected else AgentState.AWAY


def token_document(token: Token, last_used_ms: int | None, secret: str | None = None) -> TokenDocument:
    return TokenDocument(
        id=token.id,
        user=token.user,
        role=token.role,
        projects=None if token.projects is None else list(token.projects),
        created=moment(token.created_ms),
        expires=moment_or_none(token.expires_ms),
        last_used=moment_or_none(last_used_ms),
        parent=token.parent or None,
        origin=token.origin or None,
        grants=dict(token.grants),
        secret=secret,
    )
