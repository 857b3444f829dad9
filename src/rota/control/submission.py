"""Jobs come in: each gets its id, and what it depends on is looked up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from rota.control.access import Who
from rota.control.draft import Draft
from rota.control.errors import BadInput, Conflict
from rota.control.slices import SLICE
from rota.engine.scope import scheduler_for
from rota.intake.submissions import Expanded, Submission
from rota.lifecycle.events import DependencyEnded
from rota.lifecycle.state import JobState, Phase
from rota.model.calendar import QueueMode
from rota.model.ids import JobId
from rota.model.run import Dependency, JobSpec, Retry

MOST_PARTNERS = 1000
"""That one job waits for."""
MOST_WAITS = 100_000
"""Of all jobs of one submission together: each element of an array waits for each of its partners, so that a
few bytes can ask for a hundred million."""


def submit(
    draft: Draft,
    submission: Submission,
    jobs: Sequence[Expanded],
    ended: Mapping[JobId, JobState],
    who: Who,
) -> Generator[None, None, list[JobState]]:
    """With a break now and then: there may be 100,000. `jobs`: the submission's; in a dry run some of each
    entry are enough. `ended`: jobs that these depend on and that are only in the store any more."""
    incoming = _Incoming(draft, submission, ended, who)
    states: list[JobState] = []
    for at, job in enumerate(jobs, 1):
        states.append(incoming.take(job))
        if at % SLICE == 0:
            yield
    return states


def partners(submission: Submission) -> Iterable[JobId]:
    """Jobs outside of the submission that those in it depend on, or connect to."""
    connected = {entry.spec.template.connect_to for entry in submission.entries} - {""}
    awaited = {one.job for entry in submission.entries for one in entry.spec.depends_on}
    return awaited.union(map(JobId, connected))


class _Resolved(NamedTuple):
    depends_on: tuple[Dependency, ...]
    ends: tuple[DependencyEnded, ...]
    """Of those that are over already."""


class _Incoming:
    def __init__(
        self, draft: Draft, submission: Submission, ended: Mapping[JobId, JobState], who: Who
    ) -> None:
        self._draft = draft
        self._entries = submission.entries
        self._ended = ended
        self._who = who
        self._array = (-1, "")
        """The entry of the array that is being taken, and its id."""
        self._elements: dict[str, list[JobId]] = {}
        """Of arrays that came in just now."""
        self._unmade: dict[str, int] = {}
        """How many jobs of an array that came in just now aren't among them: in a dry run."""
        self._connected: set[JobId] = set()
        """Jobs that others connect to, and may."""
        self._resolved: dict[tuple[int, tuple[Dependency, ...]], _Resolved] = {}
        """By the entry. All jobs of an array share what they wait for."""
        self._retries: dict[int, Retry] = {}
        """By the entry, with pauses."""
        self._wait_count = 0
        self._stored: defaultdict[str, list[JobId]] = defaultdict(list)
        """Of arrays that are only in the store any more, the elements."""
        for job_id in ended:
            self._stored[job_id.partition(".")[0]].append(job_id)

    def take(self, job: Expanded) -> JobState:
        number = job.number
        job_id = self._id_of(job, number)
        spec = job.spec
        self._check_queue(spec, job.entry)
        connected = JobId(spec.template.connect_to)
        if connected and connected not in self._connected:
            self._partners(connected, f"jobs[{job.entry}].connect_to")
            self._connected.add(connected)
        ends: tuple[DependencyEnded, ...] = ()
        if spec.depends_on:
            depends_on, ends = self._resolve(spec.depends_on, job.entry)
            spec = replace(spec, depends_on=depends_on)
        if spec.retry.limit:
            spec = self._with_pauses(spec, job.entry)
        state = self._draft.submit(job_id, number, spec, self._who.user)
        for end in ends:
            if state.is_over:
                break
            state = self._draft.change(job_id, end)
        return state

    def _id_of(self, job: Expanded, number: int) -> JobId:
        if not job.is_element:
            return JobId(str(number))
        if self._array[0] != job.entry:
            self._array = job.entry, str(number)
            self._unmade[str(number)] = self._entries[job.entry].job_count
        array_id = self._array[1]
        self._unmade[array_id] -= 1
        job_id = JobId(f"{array_id}.{job.spec.array_index}")
        self._elements.setdefault(array_id, []).append(job_id)
        return job_id

    def _with_pauses(self, spec: JobSpec, entry: int) -> JobSpec:
        """Where it doesn't say how long to pause before a retry, the policy of its scheduler does."""
        retry = self._retries.get(entry)
        if retry is None:
            scheduler = scheduler_for(spec.template, self._draft.memory.policy.schedulers)
            retry = spec.retry if scheduler is None else scheduler.recovery.completed(spec.retry)
            self._retries[entry] = retry
        return spec if retry == spec.retry else replace(spec, retry=retry)

    def _check_queue(self, spec: JobSpec, entry: int) -> None:
        state = self._draft.memory.queues.get(spec.template.queue)
        if state is not None and state.mode is QueueMode.CLOSED:
            why = f": {state.message}" if state.message else ""
            raise Conflict(
                f'the queue "{state.name}" accepts no jobs{why}',
                f"choose another queue for jobs[{entry}], or wait until it opens",
            )

    def _resolve(self, depends_on: tuple[Dependency, ...], entry: int) -> _Resolved:
        """With every element instead of an array, and the ends of those that are over."""
        found = self._resolved.get((entry, depends_on))
        if found is None:
            resolved: dict[Dependency, None] = {}
            unmade = 0
            for index, dependency in enumerate(depends_on):
                found_now = self._partners(dependency.job, f"jobs[{entry}].depends_on[{index}]")
                resolved |= dict.fromkeys(Dependency(partner, dependency.after) for partner in found_now)
                unmade += self._unmade.get(dependency.job, 0)
                self._check_partners(len(resolved) + unmade, entry)
            self._count_waits((len(resolved) + unmade) * self._entries[entry].job_count, entry)
            ends = tuple(end for one in resolved if (end := self._end_of(one)) is not None)
            found = self._resolved[entry, depends_on] = _Resolved(tuple(resolved), ends)
        return found

    def _check_partners(self, count: int, entry: int) -> None:
        if count > MOST_PARTNERS:
            raise BadInput(
                f"jobs[{entry}].depends_on",
                f"{count:,} jobs are too many to wait for",
                f"wait for at most {MOST_PARTNERS:,}, or let one job wait for them and this one for that",
            )

    def _count_waits(self, count: int, entry: int) -> None:
        """Before any of them is made."""
        self._wait_count += count
        if self._wait_count > MOST_WAITS:
            raise BadInput(
                f"jobs[{entry}].depends_on",
                f"with this, jobs of the submission wait more than {MOST_WAITS:,} times for others",
                "let one job wait for them all, and these for that one",
            )

    def _end_of(self, dependency: Dependency) -> DependencyEnded | None:
        partner = self._draft.job(dependency.job) or self._ended.get(dependency.job)
        if partner is None or not partner.is_over:
            return None
        return DependencyEnded(partner.id, partner.phase is Phase.SUCCEEDED)

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
