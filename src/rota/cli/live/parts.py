"""Jobs sent in as many requests as it takes. Each is kept as a whole or not at all, and has a key of its own:
one that is sent again, since its answer got lost, is kept once.

Jobs of one request know each other by name, those of earlier ones by the ids that they got.
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
from rota.cli.live.connection import Server
from rota.intake.job_files import JobData, JobFile
from rota.sdk.errors import RotaError, TooLarge

_AROUND = len(json.encode({"jobs": []})) - len(",")
"""The last job has no comma behind it."""
_PLACE = re.compile(r"\bjobs\[(\d{1,9})\]")


class CutShort(Exception):
    """Some jobs were kept, and then no more."""

    def __init__(self, kept: Submitted, note: str, cause: RotaError | KeyboardInterrupt) -> None:
        super().__init__(note)
        self.kept = kept
        self.note = note
        """Which were kept, and which not."""
        self.cause = cause


def submit_in_parts(server: Server, jobs: JobFile, *, dry_run: bool = False) -> Submitted:
    """All in one request where there is room. Raises CutShort if a later one fails; what it tells of jobs
    counts as in the file."""
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
        """Of jobs that were sent, by name. None in a dry run: no server knows them."""
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
        """This server takes less at once; False: it doesn't even take one."""
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
            note = f"good: {_places(0, self.sent)}; not tried: {_places(self.sent, total)}"
            return CutShort(self.kept, note, error)
        first, last = self.kept.entries[0].id, self.kept.entries[-1].id
        notes = [f"submitted: {_places(0, self.sent)}, as {first if first == last else f'{first} to {last}'}"]
        rest = self.sent
        if not _was_refused(error):
            rest += len(self.part)
            notes.append(f"nobody knows: {_places(self.sent, rest)}")
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
    """With ids for the names of jobs that were sent before; in a dry run, without these."""
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
    """Rather than lost on the way."""
    status = error.status if isinstance(error, RotaError) else None
    return status is not None and (status < 500 or status == HTTPStatus.SERVICE_UNAVAILABLE)


def _places(first: int, end: int) -> str:
    return f"jobs[{first}]" if end - first == 1 else f"jobs[{first}] to jobs[{end - 1}]"


def _as_in_the_file(error: RotaError | KeyboardInterrupt, first: int) -> RotaError | KeyboardInterrupt:
    """Of a request that began with job number `first`."""
    if not first or not isinstance(error, RotaError):
        return error
    told = copy(error)
    told.message = _moved(error.message, first)
    told.field = error.field and _moved(error.field, first)
    told.help = error.help and _moved(error.help, first)
    return told


def _of_one_job(error: TooLarge, place: int) -> TooLarge:
    return TooLarge(
        f"by itself it is more than this server takes at once: {error.message}",
        field=f"jobs[{place}]",
        help="put what is large into a file that the job takes along, under `files`",
        kind=error.kind,
        status=error.status,
    )


def _moved(text: str, first: int) -> str:
    return _PLACE.sub(lambda found: f"jobs[{int(found[1]) + first}]", text)
