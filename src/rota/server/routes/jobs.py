"""Jobs: submitted, listed, shown, changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from rota.api.documents import ChangeDocument, Page
from rota.api.jobs import ArrayDetail, JobDetail, JobDocument, Submitted
from rota.api.limits import MOST_JOBS
from rota.api.people import Role
from rota.control.access import Who
from rota.intake.spec_form import form_of
from rota.intake.submissions import SubmittedForm
from rota.lifecycle.state import JobState, Phase
from rota.loop.desk.jobs import JobsDesk
from rota.loop.desk.questions import QuestionsDesk
from rota.loop.live.side_threads import beside
from rota.model.ids import JobId
from rota.model.quantities import parse_timestamp_ms
from rota.server.documents import (
    attempt_document,
    change_document,
    folded_document,
    job_document,
    submitted_document,
)
from rota.server.http.problems import bad_input
from rota.server.http.reading import read_choices, read_job_id, read_quantity
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Form, PageQuery, Query, Route
from rota.server.seen_jobs import check_seen, seen_array, seen_job, seen_with_attempts
from rota.server.submission import read_jobs
from rota.store.reading.folded import FoldedRow
from rota.store.reading.queries import JobFilter

TAG = "jobs"
MOST_ATTEMPTS = 1000
BYTES_OF_A_JOB = 32
"""Of a request, at least: how many it may be about."""
_WAITING = (Phase.CREATED, Phase.PENDING)
Text = Annotated[str, Meta(max_length=1000)]


class JobsQuery(PageQuery, frozen=True, kw_only=True):
    project: Annotated[Text, Meta(description="Only for this project.")] | None = None
    user: Annotated[Text, Meta(description="Only for this user.")] | None = None
    queue: Annotated[Text, Meta(description="Only for this queue.")] | None = None
    phase: Annotated[Text, Meta(description="Only in these phases, as in pending,running.")] | None = None
    name: Annotated[Text, Meta(description="Only with this name.")] | None = None
    label: Annotated[Text, Meta(description="Only with these labels, as in team=vision,stage=2.")] | None = (
        None
    )
    array: Annotated[str, Meta(pattern="^[0-9]{1,18}$", description="Only of this array.")] | None = None
    submitted_after: Annotated[Text, Meta(description="RFC 3339, or seconds since 1970.")] | None = None
    submitted_before: Annotated[Text, Meta(description="RFC 3339, or seconds since 1970.")] | None = None
    fold: Annotated[bool, Meta(description="Arrays as one item each, with how many jobs they have.")] = False


class CancelForm(Form, frozen=True, kw_only=True):
    message: Annotated[str, Meta(max_length=1000, description="Reason, shown with the job.")] = ""


async def submit_jobs(call: Call[ChangeQuery, bytes], jobs: JobsDesk) -> Reply:
    """All of them, or none. Elements of an array are jobs of their own, with ids such as 17.0."""
    submission = await beside(len(call.body) // BYTES_OF_A_JOB, read_jobs, call.body, call.who)
    dry_run = call.query.dry_run

    def reply(states: Sequence[JobState]) -> Reply:
        return json_reply(submitted_document(submission, states, dry_run), 200 if dry_run else 201)

    states = await jobs.submit(submission, call.who, dry_run, call.answer_of(reply))
    return await beside(len(states), reply, states)


async def list_jobs(call: Call[JobsQuery, None], jobs: JobsDesk, questions: QuestionsDesk) -> Reply:
    """The newest first. Those that wait say why."""
    wanted, query = _filter(call), call.query
    if query.fold:
        rows, following = await jobs.folded_jobs(wanted, query.after, query.limit)
    else:
        states, following = await jobs.jobs(wanted, query.after, query.limit)
        rows = [FoldedRow(state, None) for state in states]
    waiting = [row.state.id for row in rows if row.state.phase is Phase.PENDING]
    reasons = await questions.reasons(waiting, call.who) if waiting else {}
    items = [_with_reason(folded_document(row), reasons.get(row.state.id)) for row in rows]
    return json_reply(Page[JobDocument](items=items, next=following))


def _with_reason(document: JobDocument, reason: str | None) -> JobDocument:
    return document if reason is None else replace(document, reason=reason)


def _filter(call: Call[JobsQuery, None]) -> JobFilter:
    query, who = call.query, call.who
    projects = who.projects
    if query.project is not None:
        projects = (query.project,) if who.sees(query.project) else ()
    return JobFilter(
        projects=projects,
        users=_one(query.user),
        queues=_one(query.queue),
        phases=None if query.phase is None else read_choices(query.phase, Phase, "phase"),
        name=query.name,
        labels=_labels(query.label),
        array=None if query.array is None else int(query.array),
        submitted_from_ms=_time(query.submitted_after, "submitted_after"),
        submitted_before_ms=_time(query.submitted_before, "submitted_before"),
    )


def _one(name: str | None) -> tuple[str, ...] | None:
    return None if name is None else (name,)


def _time(text: str | None, field: str) -> int | None:
    return None if text is None else read_quantity(field, parse_timestamp_ms, text)


def _labels(text: str | None) -> tuple[tuple[str, str], ...]:
    if text is None:
        return ()
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name and equals for name, equals, _ in pairs):
        raise bad_input("label", "is not a list of labels", "write it like team=vision,stage=train")
    return tuple((name, value) for name, _, value in pairs)


async def show_job(call: Call[Query, None], questions: QuestionsDesk, jobs: JobsDesk) -> Reply:
    await seen_job(call, jobs)
    state, attempts = await seen_with_attempts(call, jobs)
    live = {task.fence: task for task in state.live}
    detail = JobDetail(
        job=job_document(state),
        spec=_spec_shown(state, call.who),
        attempts=[attempt_document(one, live) for one in attempts[-MOST_ATTEMPTS:]],
        depends_on=[dependency.job for dependency in state.depends_on],
        estimate=await questions.eta(state.id) if state.phase in _WAITING else None,
    )
    return json_reply(detail)


async def show_array(call: Call[Query, None], questions: QuestionsDesk, jobs: JobsDesk) -> Reply:
    """How many of its jobs are in which phase, and the first of each."""
    found = await seen_array(call, jobs)
    state = found.row.state
    waiting = next((found.first[phase] for phase in _WAITING[::-1] if found.first.get(phase)), None)
    reasons = await questions.reasons([state.id], call.who) if state.phase is Phase.PENDING else {}
    spec = _spec_shown(state, call.who)
    spec.pop("array", None)
    detail = ArrayDetail(
        array=_with_reason(folded_document(found.row), reasons.get(state.id)),
        spec=spec,
        first={phase: list(ids) for phase, ids in found.first.items()},
        estimate=await questions.eta(waiting[0]) if waiting else None,
    )
    return json_reply(detail)


def _spec_shown(state: JobState, who: Who) -> dict[str, object]:
    """Only the owner sees the environment of a job: it may contain secrets."""
    form = form_of(state.spec)
    if who.user != state.spec.template.user:
        form.pop("environment", None)
    return form


async def cancel_job(call: Call[ChangeQuery, CancelForm], jobs: JobsDesk) -> Reply:
    """Of an array, all elements that aren't over. What runs is stopped, with its grace."""
    job_id, reply = await _to_change(call, jobs)
    message, dry_run = call.body.message, call.query.dry_run
    states = await jobs.cancel(job_id, call.who, message, dry_run, call.answer_of(reply))
    return await beside(len(states), reply, states)


async def hold_job(call: Call[ChangeQuery, None], jobs: JobsDesk) -> Reply:
    """It doesn't start until it is released. Of an array, all elements that wait."""
    job_id, reply = await _to_change(call, jobs)
    states = await jobs.hold(job_id, call.who, call.query.dry_run, call.answer_of(reply))
    return await beside(len(states), reply, states)


async def release_job(call: Call[ChangeQuery, None], jobs: JobsDesk) -> Reply:
    """It may start again. Of an array, all elements that are held."""
    job_id, reply = await _to_change(call, jobs)
    states = await jobs.release(job_id, call.who, call.query.dry_run, call.answer_of(reply))
    return await beside(len(states), reply, states)


async def _to_change(
    call: Call[ChangeQuery, Any], jobs: JobsDesk
) -> tuple[JobId, Callable[[Sequence[JobState]], Reply]]:
    job_id = read_job_id(call.names["job"])
    await check_seen(call, jobs, job_id)
    return job_id, lambda states: json_reply(change_document(states, call.query.dry_run))


def _change(action: str, call: Any, body: type, summary: str) -> Route[Any, Any]:
    return Route(
        method="POST",
        path=f"/v1/jobs/{{job}}/{action}",
        call=call,
        summary=summary,
        tag=TAG,
        role=Role.SUBMITTER,
        query=ChangeQuery,
        body=body,
        answers={200: ChangeDocument},
    )


class Submission(Struct, forbid_unknown_fields=True):
    """Jobs in the form of a job file, as clients may read it; `rota.intake` reads them."""

    jobs: Annotated[tuple[SubmittedForm, ...], Meta(min_length=1, max_length=MOST_JOBS)]


SUBMISSION_EXAMPLES = {
    "one": {"jobs": [{"command": ["python", "train.py"], "resources": {"cpu": 4, "memory": "8Gi"}}]},
    "array": {"jobs": [{"name": "sweep", "command": "./fit", "array": "0-99", "time_limit": "10m"}]},
}

ROUTES: tuple[Route[Any, Any], ...] = (
    Route(
        method="POST",
        path="/v1/jobs",
        call=submit_jobs,
        summary="Submit jobs",
        tag=TAG,
        role=Role.SUBMITTER,
        query=ChangeQuery,
        body=bytes,
        documented_body=Submission,
        examples=SUBMISSION_EXAMPLES,
        answers={201: Submitted, 200: Submitted},
    ),
    Route(
        method="GET",
        path="/v1/jobs",
        call=list_jobs,
        summary="List jobs",
        tag=TAG,
        role=Role.VIEWER,
        query=JobsQuery,
        body=type(None),
        answers={200: Page[JobDocument]},
    ),
    Route(
        method="GET",
        path="/v1/jobs/{job}",
        call=show_job,
        summary="Show a job",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: JobDetail},
    ),
    Route(
        method="GET",
        path="/v1/arrays/{array}",
        call=show_array,
        summary="Show an array",
        tag=TAG,
        role=Role.VIEWER,
        query=Query,
        body=type(None),
        answers={200: ArrayDetail},
    ),
    _change("cancel", cancel_job, CancelForm, "Cancel a job, or all of an array"),
    _change("hold", hold_job, type(None), "Hold a job"),
    _change("release", release_job, type(None), "Release a held job"),
)
