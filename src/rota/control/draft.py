"""Changes that belong together, made on top of what is kept: they are kept as one, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import json
from msgspec.structs import replace

from rota.backends.backend import TaskRef
from rota.control.access import SYSTEM
from rota.control.attempts import changed_attempts
from rota.control.memory import Memory
from rota.lifecycle.advance import advance, submitted
from rota.lifecycle.events import Bound, DependencyEnded, JobEvent, Submitted
from rota.lifecycle.fences import fence_before
from rota.lifecycle.instructions import Instruction, TellDependents
from rota.lifecycle.state import JobState, Phase
from rota.limits.applying import Owner
from rota.limits.checking import owner_of
from rota.model.ids import JobId, NodeName
from rota.model.run import JobSpec
from rota.store.writing.batch import Agent, Attempt, Batch, EventRow, JoinToken, NodeSettings, Project, Token

_encode = json.Encoder().encode
_PHASES = {phase: b',"phase":"' + phase.value.encode() + b'"}' for phase in Phase}
"""What follows the fields of an event, of which there is at least one: its name."""


class Draft:
    """More than twenty methods, because a command sees the cluster through its draft: besides changing jobs
    it asks for each kind of record, and is shown what drafts have changed on top of what is committed."""

    def __init__(
        self, memory: Memory, now_ms: int, chance: Callable[[], float], below: Draft | None = None
    ) -> None:
        """`below`: a draft whose changes this one is made on top of, to be merged into it or dropped."""
        self.memory = memory
        self.now_ms = now_ms
        self.batch = Batch()
        self.instructions: list[Instruction] = []
        self._chance = chance
        self._below = below
        self._jobs: dict[JobId, JobState] = {}
        self._dependents: dict[JobId, list[JobId]] = {}
        """Of each job, those that came in with this draft and wait for it."""
        self._arrays: dict[str, tuple[JobId, JobSpec]] = {}
        """Of arrays that came in with this draft, the first element."""
        self._attempts: dict[TaskRef, Attempt] = {}
        self._incoming: Counter[Owner] = Counter()
        self._has_adopted = False

    def on_top(self) -> Draft:
        return Draft(self.memory, self.now_ms, self._chance, self)

    def merge(self, other: Draft) -> None:
        for name in Batch.__struct_fields__:
            mine, theirs = getattr(self.batch, name), getattr(other.batch, name)
            if isinstance(mine, list):
                mine.extend(theirs)
            elif theirs is not None:
                setattr(self.batch, name, theirs)
        self.instructions += other.instructions
        self._jobs |= other._jobs
        for awaited, dependents in other._dependents.items():
            self._dependents.setdefault(awaited, []).extend(dependents)
        self._attempts |= other._attempts
        self._incoming.update(other._incoming)
        self._has_adopted |= other._has_adopted

    def sealed(self) -> Batch:
        for heir in self.memory.heirs(self._jobs):
            self._jobs[heir.id] = heir
        self.batch.jobs = list(self._jobs.values())
        self.batch.attempts = list(self._attempts.values())
        return self.batch

    @property
    def changes_cluster(self) -> bool:
        """Whether nodes or the calendar are about to be others, or room is taken that nobody decided on."""
        return any(draft._has_adopted or draft.batch.changes_cluster for draft in self._drafts())

    # -- jobs

    def job(self, job_id: JobId) -> JobState | None:
        """One that is unfinished, or has ended not long ago."""
        draft: Draft | None = self
        while draft is not None:
            if (state := draft._jobs.get(job_id)) is not None:
                return state
            draft = draft._below
        return self.memory.job(job_id)

    def submit(self, job_id: JobId, number: int, spec: JobSpec, by: str) -> JobState:
        advanced = submitted(job_id, number, spec, self.now_ms, self.memory.epoch)
        self._note(advanced.state, self._submitted(job_id, number, spec, by), by)
        self._await(advanced.state)
        self._incoming[owner_of(spec.template)] += 1
        self._keep(advanced.state, advanced.instructions)
        return advanced.state

    def waiting(self) -> Iterator[Mapping[Owner, int]]:
        """How many jobs wait of each owner: in memory, and come in with these drafts."""
        yield self.memory.waiting
        for draft in self._drafts():
            yield draft._incoming

    def adopt(self, state: JobState, by: str) -> None:
        """A job as somebody else has kept it, whatever became of it so far."""
        self.note("job.Adopted", state.id, by, {"fence": state.fence}, state.spec.template.project)
        self._await(state)
        self._jobs[state.id] = state
        self._has_adopted |= bool(state.live)

    def _await(self, state: JobState) -> None:
        for dependency in state.depends_on:
            self._dependents.setdefault(dependency.job, []).append(state.id)

    def _submitted(self, job_id: JobId, number: int, spec: JobSpec, by: str) -> Submitted:
        """All elements of an array run the same, which is long: it is said of the first alone."""
        if spec.array_index is None:
            return Submitted(_public(spec), number, by)
        array = job_id.partition(".")[0]
        first, said = self._arrays.setdefault(array, (job_id, spec))
        same = replace(said, array_index=spec.array_index, depends_on=spec.depends_on)
        if first == job_id or same != spec:
            return Submitted(_public(spec), number, by)
        return Submitted(None, number, by, like=first, array_index=spec.array_index)

    def change(self, job_id: JobId, event: JobEvent, by: str = SYSTEM, at_ms: int | None = None) -> JobState:
        """Raises Refused for what may not happen to it as it stands."""
        before = self.job(job_id)
        assert before is not None, job_id
        at_ms = self.now_ms if at_ms is None else at_ms
        if isinstance(event, Bound):
            event = _of_epoch(self.memory.epoch, before, event)
        advanced = advance(before, event, at_ms, self._chance())
        after = advanced.state
        if after is before:
            self.instructions += advanced.instructions
            return after
        self._note(after, event, by, at_ms)
        for one in changed_attempts(before, after, event, at_ms):
            self._attempts[TaskRef(one.job, one.rank, one.fence)] = one
        self._keep(after, advanced.instructions)
        return after

    def note(self, kind: str, subject: str, by: str, data: object, project: str | None = None) -> None:
        """An event that is about no job."""
        self.batch.events.append(EventRow(self.now_ms, kind, subject, project, by, _encode(data)))

    def _note(self, state: JobState, event: JobEvent, by: str, at_ms: int | None = None) -> None:
        self.batch.events.append(
            EventRow(
                self.now_ms if at_ms is None else at_ms,
                f"job.{type(event).__name__}",
                state.id,
                state.spec.template.project,
                by,
                # With the phase that it led to: whoever follows events needn't ask.
                _encode(event)[:-1] + _PHASES[state.phase],
            )
        )

    def _keep(self, state: JobState, instructions: Iterable[Instruction]) -> None:
        self._jobs[state.id] = state
        for instruction in instructions:
            if isinstance(instruction, TellDependents):
                for dependent in self._dependents_of(instruction.job):
                    self.change(dependent, DependencyEnded(instruction.job, instruction.succeeded))
            else:
                self.instructions.append(instruction)

    def _dependents_of(self, job_id: JobId) -> list[JobId]:
        """Those in memory, and those that came in with these drafts."""
        found = dict.fromkeys(self.memory.dependents(job_id))
        draft: Draft | None = self
        while draft is not None:
            found.update(dict.fromkeys(draft._dependents.get(job_id, ())))
            draft = draft._below
        states = (self.job(dependent) for dependent in found)
        return [
            state.id
            for state in states
            if state is not None
            and not state.is_over
            and any(dependency.job == job_id for dependency in state.depends_on)
        ]

    # -- who may what

    def project(self, name: str) -> Project | None:
        drafted = (one for draft in self._drafts() for one in reversed(draft.batch.projects))
        return next((one for one in drafted if one.name == name), None) or self.memory.projects.get(name)

    def node_settings(self, name: NodeName) -> NodeSettings:
        drafted = (one for draft in self._drafts() for one in reversed(draft.batch.node_settings))
        found = next((one for one in drafted if one.name == name), None)
        return found or self.memory.node_settings.get(name) or NodeSettings(name)

    def tokens(self) -> Iterator[Token]:
        yield from self.memory.tokens.values()
        for draft in self._drafts():
            yield from draft.batch.tokens

    # -- agents

    def agent(self, name: str) -> Agent | None:
        drafted = (one for draft in self._drafts() for one in reversed(draft.batch.agents))
        return next((one for one in drafted if one.name == name), None) or self.memory.agents.get(name)

    def join_token(self, token_id: str) -> JoinToken | None:
        drafted = (one for draft in self._drafts() for one in reversed(draft.batch.join_tokens))
        found = next((one for one in drafted if one.id == token_id), None)
        return found or self.memory.join_tokens.get(token_id)

    def _drafts(self) -> Iterator[Draft]:
        """This one, and those that it is made on top of."""
        draft: Draft | None = self
        while draft is not None:
            yield draft
            draft = draft._below


def _of_epoch(epoch: int, job: JobState, event: Bound) -> Bound:
    above = fence_before(epoch)
    return event if job.fence >= above else replace(event, fences_above=above)


def _public(spec: JobSpec) -> JobSpec:
    """Events outlive a job's record, and every viewer of its project reads them: its environment, which may
    hold secrets, isn't in them."""
    return replace(spec, run=replace(spec.run, environment=())) if spec.run.environment else spec
