"""Jobs come in: numbers are given, and what they depend on is looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from rota.control.access import Who
from rota.control.draft import Draft
from rota.control.errors import BadInput, Conflict
from rota.lifecycle.events import DependencyEnded
from rota.lifecycle.state import JobState, Phase
from rota.model.calendar import QueueMode
from rota.model.ids import JobId
from rota.model.run import Dependency, JobSpec


def submit(
    draft: Draft,
    specs: Sequence[JobSpec],
    arrays: Sequence[int | None],
    ended: Mapping[JobId, JobState],
    who: Who,
    first: int,
) -> list[JobState]:
    """`first`: the first of as many numbers as there are specs, given out for them. `arrays`: which specs
    are elements of one array. `ended`: jobs that these depend on and that are only in the store any more."""
    array_ids: dict[int, str] = {}
    states = []
    for at, (spec, array) in enumerate(zip(specs, arrays, strict=True)):
        number = first + at
        if array is None:
            job_id = JobId(str(number))
        else:
            array_id = array_ids.setdefault(array, str(number))
            job_id = JobId(f"{array_id}.{spec.array_index}")
        _check_queue(draft, spec, at)
        states.append(_submit_one(draft, job_id, number, spec, at, ended, who))
    return states


def _check_queue(draft: Draft, spec: JobSpec, at: int) -> None:
    state = draft.memory.queues.get(spec.template.queue)
    if state is not None and state.mode is QueueMode.CLOSED:
        why = f": {state.message}" if state.message else ""
        raise Conflict(
            f'the queue "{state.name}" takes no jobs{why}',
            f"choose another queue for jobs[{at}], or wait until it opens",
        )


def _submit_one(
    draft: Draft,
    job_id: JobId,
    number: int,
    spec: JobSpec,
    at: int,
    ended: Mapping[JobId, JobState],
    who: Who,
) -> JobState:
    over: list[JobState] = []
    needed: list[Dependency] = []
    for index, dependency in enumerate(spec.depends_on):
        partners = _partners(draft, dependency.job, ended, who)
        if not partners:
            raise BadInput(
                f"jobs[{at}].depends_on[{index}]",
                f"there is no job {dependency.job}",
                "give the id of a job that is there",
            )
        over += [partner for partner in partners if partner.is_over]
        needed += [Dependency(partner.id, dependency.after) for partner in partners]
    if tuple(needed) != spec.depends_on:
        spec = replace(spec, depends_on=tuple(needed))
    state = draft.submit(job_id, number, spec, who.user)
    for partner in over:
        if state.is_over:
            break
        state = draft.change(job_id, DependencyEnded(partner.id, partner.phase is Phase.SUCCEEDED))
    return state


def _partners(draft: Draft, job_id: JobId, ended: Mapping[JobId, JobState], who: Who) -> list[JobState]:
    """The job, or all elements of the array, that the id stands for and the user may see."""
    found = draft.job(job_id) or ended.get(job_id)
    states = [found] if found is not None else [state for state in ended.values() if _is_of(state, job_id)]
    if found is None:
        states += [state for state in map(draft.job, draft.memory.elements(job_id)) if state is not None]
    unique = {state.id: state for state in states}
    return [state for state in unique.values() if who.sees(state.spec.template.project)]


def _is_of(state: JobState, array: str) -> bool:
    return state.id.startswith(f"{array}.")
