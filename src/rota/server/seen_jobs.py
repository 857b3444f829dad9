"""The job or array that a path names, if the client may see it; and if not, which of the three it is: there
never was one (404), it is no longer kept (410), or it belongs to others (403)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rota.control.errors import Gone, IsArray, NotFound
from rota.control.origin import about
from rota.lifecycle.state import JobState, Phase
from rota.loop.desk.jobs import JobsDesk
from rota.model.ids import JobId
from rota.server.http.problems import not_yours
from rota.server.http.reading import read_array_number, read_job_id
from rota.server.http.route import Call
from rota.store.reading.reader import ArrayFound
from rota.store.writing.batch import Attempt


async def seen_job(call: Call[Any, Any], jobs: JobsDesk) -> JobState:
    """A single one."""
    job_id = read_job_id(call.names["job"])
    state = await jobs.job(job_id)
    if state is None:
        if (array := await _array(jobs, job_id)) is not None:
            _check_sees(call, array.row.state, job_id)
            raise IsArray(job_id)
        raise await missing(jobs, job_id)
    _check_sees(call, state, job_id)
    return state


async def seen_with_attempts(call: Call[Any, Any], jobs: JobsDesk) -> tuple[JobState, Sequence[Attempt]]:
    """Of an array, one of its jobs, and the attempts of all."""
    job_id = read_job_id(call.names["job"])
    state = await jobs.job(job_id)
    if state is None and (array := await _array(jobs, job_id)) is not None:
        _check_sees(call, array.row.state, job_id)
        return array.row.state, await jobs.attempts_of_array(int(job_id))
    if state is None:
        raise await missing(jobs, job_id)
    _check_sees(call, state, job_id)
    found = await jobs.job_with_attempts(state.id)
    if found is None:
        raise await missing(jobs, job_id)
    return found


async def seen_waiting(call: Call[Any, Any], jobs: JobsDesk) -> JobState:
    """The job; of an array, the first of its jobs that waits, or the first at all."""
    job_id = read_job_id(call.names["job"])
    state = await jobs.job(job_id)
    if state is None and (array := await _array(jobs, job_id)) is not None:
        first = next((array.first[phase] for phase in _LIVELY if array.first.get(phase)), None)
        state = array.row.state if first is None else await jobs.job(first[0])
    if state is None:
        raise await missing(jobs, job_id)
    _check_sees(call, state, job_id)
    return state


_LIVELY = (Phase.PENDING, Phase.CREATED, Phase.SCHEDULED, Phase.RUNNING)


async def seen_array(call: Call[Any, Any], jobs: JobsDesk) -> ArrayFound:
    number = read_array_number(call.names["array"])
    array = await jobs.array(number)
    if array is None:
        if await jobs.job(JobId(str(number))) is not None:
            raise NotFound("array", str(number))
        raise await missing(jobs, JobId(str(number)), "array")
    _check_sees(call, array.row.state, str(number))
    return array


async def check_seen(call: Call[Any, Any], jobs: JobsDesk, job_id: JobId) -> None:
    """A job, or an array, which has one project for all its jobs."""
    state = await jobs.job(job_id)
    if state is None and (array := await _array(jobs, job_id)) is not None:
        state = array.row.state
    if state is None:
        raise await missing(jobs, job_id)
    _check_sees(call, state, job_id)


async def missing(jobs: JobsDesk, job_id: JobId, kind: str = "job") -> Exception:
    if await jobs.was_removed(job_id):
        return Gone(
            f"{kind} {job_id} is no longer kept",
            "finished jobs are kept for as long as the server's settings server.history say",
        )
    return NotFound(kind, job_id)


async def _array(jobs: JobsDesk, job_id: JobId) -> ArrayFound | None:
    return None if "." in job_id else await jobs.array(int(job_id))


def _check_sees(call: Call[Any, Any], state: JobState, name: str) -> None:
    project = state.spec.template.project
    if not call.who.sees(project):
        about(project)
        raise not_yours(name)
