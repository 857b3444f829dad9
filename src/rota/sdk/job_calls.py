"""Calls about jobs, and about the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from rota.api.documents import ChangeDocument, Page
from rota.api.jobs import (
    ArrayDetail,
    EfficiencyDocument,
    EstimateDocument,
    InputDocument,
    JobDetail,
    JobDocument,
    OutputsDocument,
    Submitted,
)
from rota.api.people import LimitsDocument, MeDocument
from rota.api.questions import ExtendAnswer, PlanAnswer, WhyAnswer
from rota.api.service import EventDocument, StatsDocument
from rota.lifecycle.state import Phase
from rota.sdk.call import Call, get, given, listed, reader, segment, send, sent, steps
from rota.sdk.errors import BadInput

JobForm: TypeAlias = Mapping[str, object]
"""A job as in a job file: {"command": ["make"], "resources": {"cpu": 2}}."""


class LogChunk(Struct, frozen=True):
    """What a task wrote, as it was read: neither lines nor characters need be whole."""

    rank: int
    stream: str
    at: datetime
    data: bytes
    fence: int


def one_job(command: Sequence[str], fields: Mapping[str, object]) -> JobForm:
    if "array" in fields:
        raise BadInput(
            "an array is more than one job", field="array", help="submit it, and wait for its elements"
        )
    return {"command": command, **fields}


class JobCalls:
    """What users of jobs ask."""

    @sent
    def submit(self, *jobs: JobForm, dry_run: bool = False) -> Call[Submitted]:
        """Submit jobs, all or none: at most 1000 at once."""
        return send("POST", "/jobs", {"jobs": jobs}, Submitted, dry_run=dry_run)

    @sent
    def plan(self, *jobs: JobForm) -> Call[PlanAnswer]:
        """Plan jobs without submitting them: when they would start, and whose planned starts would change."""
        return send("POST", "/plan", {"jobs": jobs}, PlanAnswer)

    @listed
    def jobs(  # noqa: PLR0913 – one for each field of the query
        self,
        *,
        project: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        phases: Sequence[Phase] = (),
        name: str | None = None,
        label: str | None = None,
        array: str | None = None,
        submitted_after: datetime | None = None,
        submitted_before: datetime | None = None,
        fold: bool = False,
        limit: int | None = None,
        after: str | None = None,
    ) -> Call[Page[JobDocument]]:
        """Jobs, the newest first. `label` is as in "team=red"; `limit` is the length of a page, and `after`
        is `next` of the page before. With `fold`, an array is a single item with `elements`."""
        return get(
            "/jobs",
            Page[JobDocument],
            project=project,
            user=user,
            queue=queue,
            phase=tuple(phase.value for phase in phases),
            name=name,
            label=label,
            array=array,
            submitted_after=submitted_after,
            submitted_before=submitted_before,
            fold=fold or None,
            limit=limit,
            after=after,
        )

    job_page = sent(jobs.make)

    @sent
    def job(self, job: str, *, until: str | None = None, within_s: float | None = None) -> Call[JobDetail]:
        """All there is to know of a job. `until`: "started" or "over"; the answer waits for that, at most
        `within_s`."""
        within = None if within_s is None else str(within_s)
        return get(f"/jobs/{segment('job', job)}", JobDetail, until=until, within=within)

    @sent
    def array(self, array: str) -> Call[ArrayDetail]:
        """All there is to know of an array as a whole."""
        return get(f"/arrays/{segment('array', array)}", ArrayDetail)

    @sent
    def cancel(self, job: str, *, message: str = "", dry_run: bool = False) -> Call[ChangeDocument]:
        """End a job, whether it waits or runs. The number of an array stands for all its elements."""
        return _change(job, "cancel", {"message": message}, dry_run)

    @sent
    def hold(self, job: str, *, dry_run: bool = False) -> Call[ChangeDocument]:
        """Keep a waiting job from starting until it is released."""
        return _change(job, "hold", {}, dry_run)

    @sent
    def release(self, job: str, *, dry_run: bool = False) -> Call[ChangeDocument]:
        return _change(job, "release", {}, dry_run)

    @sent
    def extend(self, job: str, time_limit: str, *, dry_run: bool = False) -> Call[ExtendAnswer]:
        """Set the time limit of a running job ("4h"), or add to it ("+1h"). A refusal is a `Conflict`; its
        `data` says what prevents it."""
        path = f"/jobs/{segment('job', job)}/extend"
        return send("POST", path, {"time_limit": time_limit}, ExtendAnswer, dry_run=dry_run)

    @sent
    def why(self, job: str) -> Call[WhyAnswer]:
        """Why a job waits and what would help, or why it runs where it does."""
        return get(f"/jobs/{segment('job', job)}/why", WhyAnswer)

    @sent
    def eta(self, job: str) -> Call[EstimateDocument]:
        """When a waiting job is expected to start."""
        return get(f"/jobs/{segment('job', job)}/eta", EstimateDocument)

    @sent
    def efficiency(self, job: str) -> Call[EfficiencyDocument]:
        """What a job used, against what it asked for."""
        return get(f"/jobs/{segment('job', job)}/eff", EfficiencyDocument)

    @sent
    def outputs(self, job: str) -> Call[OutputsDocument]:
        """The files that a job's tasks left behind, of the `outputs` it declared, and what is missing."""
        return get(f"/jobs/{segment('job', job)}/outputs", OutputsDocument)

    @sent
    def output(self, job: str, path: str, *, rank: int = 0) -> Call[bytes]:
        """A file that a task left behind, one of the `outputs` that its job declared."""
        where = f"/jobs/{segment('job', job)}/outputs/{steps('path', path)}"
        return Call("GET", where, bytes, given({"rank": rank or None}))

    @sent
    def send_input(
        self,
        job: str,
        data: bytes = b"",
        *,
        offset: int = 0,
        end: bool = False,
        window: tuple[int, int] | None = None,
    ) -> Call[InputDocument]:
        """Send a running job what it reads, up to 1 MiB at a time: `offset` is how much was sent before,
        `end` says that nothing comes after it, and `window` has the rows and columns of its terminal. The
        answer's `taken` is how much needn't be sent again. A job takes input if its form has `stdin`; it ends
        when nothing was sent for two minutes, not even an empty piece."""
        rows, columns = window or (None, None)
        return Call(
            "POST",
            f"/jobs/{segment('job', job)}/input",
            reader(InputDocument),
            given({"offset": offset or None, "end": end, "rows": rows, "columns": columns}),
            headers=(("Content-Type", "application/octet-stream"),),
            body=data,
        )

    @sent
    def upload(self, data: bytes) -> Call[str]:
        """Store an input file of jobs to come. The answer is its sha256, by which jobs name it."""
        # Only here: it brings OpenSSL along, for which those who upload nothing don't wait.
        from hashlib import sha256

        digest = sha256(data).hexdigest()
        return Call(
            "PUT",
            f"/files/{digest}",
            lambda _: digest,
            headers=(("Content-Type", "application/octet-stream"),),
            body=data,
        )

    @sent
    def event_page(
        self,
        *,
        after: int | str | None = None,
        last: int | None = None,
        kind: str | None = None,
        subject: str | None = None,
        project: str | None = None,
        limit: int | None = None,
    ) -> Call[Page[EventDocument]]:
        """Events, the oldest first: after a given one, or the `last` ones."""
        return get(
            "/events",
            Page[EventDocument],
            after=after,
            last=last,
            kind=kind,
            subject=subject,
            project=project,
            limit=limit,
        )

    @sent
    def me(self) -> Call[MeDocument]:
        """Show the user and role of the token."""
        return get("/me", MeDocument)

    @sent
    def limits(self, *, user: str | None = None, project: str | None = None) -> Call[LimitsDocument]:
        """Show your limits, and how much of them you use; for operators, also those of another user."""
        return get("/limits", LimitsDocument, user=user, project=project)

    @sent
    def stats(self) -> Call[StatsDocument]:
        return get("/stats", StatsDocument)


def _change(job: str, verb: str, body: dict[str, str], dry_run: bool) -> Call[ChangeDocument]:
    return send("POST", f"/jobs/{segment('job', job)}/{verb}", body, ChangeDocument, dry_run=dry_run)
