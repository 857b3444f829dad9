"""Jobs sent in as many requests as needed. Each request is committed as a whole or not at all. It has an
idempotency key: sent again because its answer was lost, it is still committed once.

A job names other jobs of its request by name, and those of earlier requests by their ids.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy
from http import HTTPStatus

from msgspec import json
from msgspec.structs import replace

from rota.api.jobs import Submitted
from rota.api.limits import BODY_BYTES, MOST_JOBS
from rota.cli.client.connection import Server
from rota.intake.job_files import JobData, JobFile
from rota.sdk.errors import RotaError, TooLarge

_AROUND = len(json.encode({"jobs": []})) - len(",")
"""The last job has no comma behind it."""
_PLACE = re.compile(r"\bjobs\[(\d{1,9})\]")


class CutShort(Exception):
    """Some jobs were committed before an error ended the rest."""

    def __init__(self, kept: Submitted, note: str, cause: RotaError | KeyboardInterrupt) -> None:
        super().__init__(note)
        self.kept = kept
        self.note = note
        """Which were committed, and which weren't."""
        self.cause = cause


def submit_in_parts(server: Server, jobs: JobFile, *, dry_run: bool = False) -> Submitted:
    """In one request if they fit. Raises CutShort if a later request fails; it numbers jobs as the file
    does."""
    sending = _Sending(jobs, dry_run)
    while sending.part:
        first = sending.sent
        try:
            sending.note(server.submit(*sending.part, dry_run=dry_run))
        except TooLarge as error:
            if not sending.halve():
                raise sending.stopped_by(_of_one_job(error, first)) from None
        except (RotaError, KeyboardInterrupt) as error:
            raise sending.stopped_by(_as_in_the_file(error, first)) from None
    return sending.kept


class _Sending:
    def __init__(self, jobs: JobFile, dry_run: bool) -> None:
        self._jobs = jobs.jobs
        self._entries = jobs.submission.entries
        self._dry_run = dry_run
        self._most_bytes = BODY_BYTES
        self._ids: dict[str, str | None] = {}
        """Ids of jobs that were sent, by name. None in a dry run: the server has no such job."""
        self.sent = 0
        self.part = self._next_part()
        self.kept = Submitted(dry_run=dry_run, jobs=[], warnings=[], count=0, entries=[])

    def note(self, answer: Submitted) -> None:
        entries = self._entries[self.sent : self.sent + len(self.part)]
        for entry, made in zip(entries, answer.entries, strict=True):
            self._ids[entry.spec.name] = None if self._dry_run else made.id
        self.kept.jobs.extend(answer.jobs)
        self.kept.entries.extend(answer.entries)
        self.kept.warnings.extend(_moved(warning, self.sent) for warning in answer.warnings)
        self.kept = replace(self.kept, count=self.kept.count + answer.count)
        self.sent += len(self.part)
        self.part = self._next_part()

    def halve(self) -> bool:
        """Sends less at once, for a server with a lower limit. False: a single job is too large already."""
        if len(self.part) == 1:
            return False
        self._most_bytes = _size(self.part) // 2
        self.part = self._next_part()
        return True

    def stopped_by(self, error: RotaError | KeyboardInterrupt) -> BaseException:
        if not self.sent:
            return error
        total = len(self._jobs)
        if self._dry_run:
            note = f"accepted: {_places(0, self.sent)}; not checked: {_places(self.sent, total)}"
            return CutShort(self.kept, note, error)
        first, last = self.kept.entries[0].id, self.kept.entries[-1].id
        notes = [f"submitted: {_places(0, self.sent)}, as {first if first == last else f'{first} to {last}'}"]
        rest = self.sent
        if not _was_refused(error):
            rest += len(self.part)
            notes.append(f"not confirmed: {_places(self.sent, rest)}")
        if rest < total:
            notes.append(f"not submitted: {_places(rest, total)}")
        return CutShort(self.kept, "; ".join(notes), error)

    def _next_part(self) -> list[JobData]:
        part: list[JobData] = []
        size = _AROUND
        for job, entry in zip(self._jobs[self.sent :], self._entries[self.sent :], strict=True):
            form = _with_ids(job, self._ids) if entry.siblings or entry.connect_to is not None else job
            size += len(json.encode(form)) + len(",")
            if part and (size > self._most_bytes or len(part) == MOST_JOBS):
                break
            part.append(form)
        return part


def _size(part: Sequence[JobData]) -> int:
    return len(json.encode({"jobs": part}))


def _with_ids(job: JobData, ids: Mapping[str, str | None]) -> JobData:
    """Replaces names of jobs that were sent before by ids; in a dry run, leaves them out."""
    changed = dict(job)
    if "depends_on" in job:
        known = [_dependency(one, ids) for one in job["depends_on"]]
        changed["depends_on"] = [one for one in known if one is not None]
    if job.get("connect_to") in ids:
        changed["connect_to"] = ids[job["connect_to"]] or ""
    return changed


def _dependency(one: object, ids: Mapping[str, str | None]) -> object:
    if isinstance(one, Mapping):
        job = _dependency(one["job"], ids)
        return None if job is None else {**one, "job": job}
    return ids.get(one, one) if isinstance(one, str) else one


def _was_refused(error: RotaError | KeyboardInterrupt) -> bool:
    """The server refused the request; it wasn't lost on the way."""
    status = error.status if isinstance(error, RotaError) else None
    return status is not None and (status < 500 or status == HTTPStatus.SERVICE_UNAVAILABLE)


def _places(first: int, end: int) -> str:
    return f"jobs[{first}]" if end - first == 1 else f"jobs[{first}] to jobs[{end - 1}]"


def _as_in_the_file(error: RotaError | KeyboardInterrupt, first: int) -> RotaError | KeyboardInterrupt:
    """Numbers jobs as in the file. `first`: number of the first job of the request."""
    if not first or not isinstance(error, RotaError):
        return error
    told = copy(error)
    told.message = _moved(error.message, first)
    told.field = error.field and _moved(error.field, first)
    told.help = error.help and _moved(error.help, first)
    return told


def _of_one_job(error: TooLarge, place: int) -> TooLarge:
    return TooLarge(
        f"this job alone is larger than the server accepts: {error.message}",
        field=f"jobs[{place}]",
        help="move large data into a file of the job, under `files`",
        kind=error.kind,
        status=error.status,
    )


def _moved(text: str, first: int) -> str:
    return _PLACE.sub(lambda found: f"jobs[{int(found[1]) + first}]", text)
