"""Jobs come in: each gets its id, and what it depends on is looked up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence

from msgspec.structs import replace

from rota.control.access import Who
from rota.control.controller import SLICE
from rota.control.draft import Draft
from rota.control.errors import BadInput, Conflict
from rota.intake.submissions import Expanded, Submission
from rota.lifecycle.events import DependencyEnded
from rota.lifecycle.state import JobState, Phase
from rota.model.calendar import QueueMode
from rota.model.ids import JobId
from rota.model.run import Dependency, JobSpec

MOST_PARTNERS = 1000
"""That one job waits for."""
MOST_WAITS = 100_000
"""Of all jobs of one submission together: each element of an array waits for each of its partners, so that a
few bytes can ask for a hundred million."""


def submit(
    draft: Draft, jobs: Sequence[Expanded], first: int, ended: Mapping[JobId, JobState], who: Who
) -> Generator[None, None, list[JobState]]:
    """With a break now and then: there may be 100,000. `first`: the first of as many numbers as there are
    jobs, given out for them. `ended`: jobs that these depend on and that are only in the store any more."""
    incoming = _Incoming(draft, ended, who)
    states: list[JobState] = []
    for at, job in enumerate(jobs, 1):
        states.append(incoming.take(job, first + at - 1))
        if at % SLICE == 0:
            yield
    return states


def partners(submission: Submission) -> Iterable[JobId]:
    """Jobs outside of the submission that those in it depend on, or connect to."""
    connected = {entry.spec.template.connect_to for entry in submission.entries} - {""}
    awaited = {one.job for entry in submission.entries for one in entry.spec.depends_on}
    return awaited.union(map(JobId, connected))


class _Incoming:
    def __init__(self, draft: Draft, ended: Mapping[JobId, JobState], who: Who) -> None:
        self._draft = draft
        self._ended = ended
        self._who = who
        self._array = (-1, "")
        """The entry of the array that is being taken, and its id."""
        self._elements: dict[str, list[JobId]] = {}
        """Of arrays that came in just now."""
        self._connected: set[JobId] = set()
        """Jobs that others connect to, and may."""
        self._resolved: dict[tuple[Dependency, ...], tuple[Dependency, ...]] = {}
        self._wait_count = 0
        self._stored: defaultdict[str, list[JobId]] = defaultdict(list)
        """Of arrays that are only in the store any more, the elements."""
        for job_id in ended:
            self._stored[job_id.partition(".")[0]].append(job_id)

    def take(self, job: Expanded, number: int) -> JobState:
        job_id = self._id_of(job, number)
        spec = job.spec
        self._check_queue(spec, job.entry)
        connected = JobId(spec.template.connect_to)
        if connected and connected not in self._connected:
            self._partners(connected, f"jobs[{job.entry}].connect_to")
            self._connected.add(connected)
        if spec.depends_on:
            spec = replace(spec, depends_on=self._resolve(spec.depends_on, job.entry))
            self._count_waits(len(spec.depends_on), job.entry)
        state = self._draft.submit(job_id, number, spec, self._who.user)
        for dependency in spec.depends_on:
            partner = self._draft.job(dependency.job) or self._ended.get(dependency.job)
            if partner is not None and partner.is_over and not state.is_over:
                succeeded = partner.phase is Phase.SUCCEEDED
                state = self._draft.change(job_id, DependencyEnded(partner.id, succeeded))
        return state

    def _id_of(self, job: Expanded, number: int) -> JobId:
        if not job.is_element:
            return JobId(str(number))
        if self._array[0] != job.entry:
            self._array = job.entry, str(number)
        array_id = self._array[1]
        job_id = JobId(f"{array_id}.{job.spec.array_index}")
        self._elements.setdefault(array_id, []).append(job_id)
        return job_id

    def _check_queue(self, spec: JobSpec, entry: int) -> None:
        state = self._draft.memory.queues.get(spec.template.queue)
        if state is not None and state.mode is QueueMode.CLOSED:
            why = f": {state.message}" if state.message else ""
            raise Conflict(
                f'the queue "{state.name}" takes no jobs{why}',
                f"choose another queue for jobs[{entry}], or wait until it opens",
            )

    def _resolve(self, depends_on: tuple[Dependency, ...], entry: int) -> tuple[Dependency, ...]:
        """With every element instead of an array."""
        found = self._resolved.get(depends_on)
        if found is None:
            resolved: dict[Dependency, None] = {}
            for index, dependency in enumerate(depends_on):
                found_now = self._partners(dependency.job, f"jobs[{entry}].depends_on[{index}]")
                resolved |= dict.fromkeys(Dependency(partner, dependency.after) for partner in found_now)
                if len(resolved) > MOST_PARTNERS:
                    raise BadInput(
                        f"jobs[{entry}].depends_on",
                        f"{len(resolved):,} jobs are too many to wait for",
                        f"wait for at most {MOST_PARTNERS:,}, or let one job wait for them and this one for"
                        " that",
                    )
            found = self._resolved[depends_on] = tuple(resolved)
        return found

    def _count_waits(self, count: int, entry: int) -> None:
        self._wait_count += count
        if self._wait_count > MOST_WAITS:
            raise BadInput(
                f"jobs[{entry}].depends_on",
                f"with this, jobs of the submission wait more than {MOST_WAITS:,} times for others",
                "let one job wait for them all, and these for that one",
            )

    def _partners(self, job_id: JobId, field: str) -> list[JobId]:
        state = self._draft.job(job_id) or self._ended.get(job_id)
        if state is not None:
            ids = [state.id]
        else:
            stored = [one for one in self._stored.get(job_id, ()) if one != job_id]
            ids = [*self._elements.get(job_id, ()), *self._draft.memory.elements(job_id), *stored]
        states = (self._draft.job(one) or self._ended.get(one) for one in dict.fromkeys(ids))
        seen = [one.id for one in states if one is not None and self._who.sees(one.spec.template.project)]
        if not seen:
            raise BadInput(field, f"there is no job {job_id}", "give the id of a job that is there")
        return seen
