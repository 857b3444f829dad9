"""Questions about a job: why it waits, when it starts, what it used; whether it may run longer; what if."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from rota.api.jobs import EfficiencyDocument, EstimateDocument
from rota.api.people import Role
from rota.api.questions import ExtendAnswer, PlanAnswer, WhyAnswer
from rota.control.errors import Conflict
from rota.lifecycle.state import JobState
from rota.loop.desk.jobs import JobsDesk
from rota.loop.desk.questions import QuestionsDesk
from rota.loop.live.side_threads import beside
from rota.model.extension import Extension
from rota.model.quantities import parse_duration_ms
from rota.server.documents import efficiency_document, job_document
from rota.server.http.problems import ProblemError, bad_input
from rota.server.http.reading import read_job_id, read_quantity
from rota.server.http.reply import Reply, json_reply
from rota.server.http.route import Call, ChangeQuery, Form, Query, Route
from rota.server.routes.jobs import (
    BYTES_OF_A_JOB,
    SUBMISSION_EXAMPLES,
    TAG,
    Submission,
)
from rota.server.seen_jobs import seen_job, seen_waiting, seen_with_attempts
from rota.server.submission import read_jobs
from rota.views.extend.document import extension_document
from rota.views.extend.wording import answer_text
from rota.views.jobs import state_text
from rota.views.times import Clock
from rota.views.why.document import why_document


class WhyQuery(Query, frozen=True, kw_only=True):
    rank: Annotated[int, Meta(ge=0, le=10**9, description="Only about this task.")] | None = None


class ExtendForm(Form, frozen=True, kw_only=True):
    time_limit: Annotated[
        str | int,
        Meta(description="The new limit, as in 4h, or how much more, as in +1h."),
    ]


async def why_job(call: Call[WhyQuery, None], questions: QuestionsDesk, jobs: JobsDesk) -> Reply:
    """What each node has against it, and the smallest change that would help. Of an array, for the first of
    its jobs that waits."""
    state = await seen_waiting(call, jobs)
    _check_goes_on(state, call.now_ms)
    rank = call.query.rank
    if rank is not None and rank >= state.spec.template.task_count:
        raise bad_input("rank", f"the job has no task of rank {rank}", "ranks count from 0")
    view = await questions.why(state.id, rank, call.who)
    return json_reply(WhyAnswer(why_document(view, call.now_ms)))


async def estimate_start(call: Call[Query, None], questions: QuestionsDesk, jobs: JobsDesk) -> Reply:
    """Of an array, of the first of its jobs that waits."""
    state = await seen_waiting(call, jobs)
    return json_reply(await questions.eta(state.id))


async def show_efficiency(call: Call[Query, None], jobs: JobsDesk) -> Reply:
    """What its tasks used, against what they asked for; of an array, those of all its jobs."""
    state, attempts = await seen_with_attempts(call, jobs)
    document = efficiency_document(state, attempts, call.now_ms)
    return json_reply(replace(document, job=read_job_id(call.names["job"])))


async def extend_job(call: Call[ChangeQuery, ExtendForm], questions: QuestionsDesk, jobs: JobsDesk) -> Reply:
    """A limit from the start, or more than it has. Refused with what is in the way."""
    state = await seen_job(call, jobs)
    _check_goes_on(state, call.now_ms)
    limit_ms = _limit_ms(call.body.time_limit, state.time_limit_ms or state.spec.template.time_limit_ms)
    extension = await questions.extend(
        state.id, limit_ms, call.who, call.query.dry_run, call.answer_of(_extended)
    )
    if not extension.is_granted:
        raise ProblemError(
            HTTPStatus.CONFLICT,
            "conflict",
            answer_text(extension),
            help="ask for less, if `longest` says that less is possible",
            field="time_limit",
            data=msgspec.to_builtins(_answer(extension)),
        )
    return _extended(extension)


def _check_goes_on(state: JobState, now_ms: int) -> None:
    if state.is_over:
        how = state_text(job_document(state), Clock(now_ms))
        raise Conflict(f"job {state.id} is over: {how}", f"`rota show {state.id}` shows its tasks")


def _limit_ms(text: str | int, had_ms: int | None) -> int:
    more = isinstance(text, str) and text.startswith("+")
    limit_ms = read_quantity(
        "time_limit", parse_duration_ms, text[1:] if isinstance(text, str) and more else text
    )
    if not limit_ms:
        raise bad_input("time_limit", "the duration is 0", "give more than 0")
    if not more:
        return limit_ms
    if had_ms is None:
        raise bad_input("time_limit", "the job has no limit to add to", "it may run for ever already")
    return had_ms + limit_ms


def _answer(extension: Extension) -> ExtendAnswer:
    return ExtendAnswer(extension_document(extension))


def _extended(extension: Extension) -> Reply:
    return json_reply(_answer(extension))


async def plan_jobs(call: Call[Query, bytes], questions: QuestionsDesk) -> Reply:
    """Plan jobs without submitting them: when they would start, and whose planned starts would change."""
    submission = await beside(len(call.body) // BYTES_OF_A_JOB, read_jobs, call.body, call.who)
    answer = await questions.plan(submission, call.who)
    return await beside(len(answer.jobs) + len(answer.changes), json_reply, answer)


def _question(action: str, call: Any, query: type, answer: Any, summary: str) -> Route[Any, Any]:
    return Route(
        method="GET",
        path=f"/v1/jobs/{{job}}/{action}",
        call=call,
        summary=summary,
        tag=TAG,
        role=Role.VIEWER,
        query=query,
        body=type(None),
        answers={200: answer},
    )


ROUTES: tuple[Route[Any, Any], ...] = (
    _question("why", why_job, WhyQuery, WhyAnswer, "Explain why a job waits, or runs where it does"),
    _question("eta", estimate_start, Query, EstimateDocument, "When a job will start"),
    _question("eff", show_efficiency, Query, EfficiencyDocument, "Compare what a job used with its request"),
    Route(
        method="POST",
        path="/v1/jobs/{job}/extend",
        call=extend_job,
        summary="Raise the time limit of a running job",
        tag=TAG,
        role=Role.SUBMITTER,
        query=ChangeQuery,
        body=ExtendForm,
        answers={200: ExtendAnswer},
        examples={"more": {"time_limit": "+1h"}, "in all": {"time_limit": "4h"}},
    ),
    Route(
        method="POST",
        path="/v1/plan",
        call=plan_jobs,
        summary="Plan jobs without submitting them",
        tag=TAG,
        role=Role.SUBMITTER,
        query=Query,
        body=bytes,
        asks=True,
        documented_body=Submission,
        examples=SUBMISSION_EXAMPLES,
        answers={200: PlanAnswer},
    ),
)
