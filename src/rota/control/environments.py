"""Environments of jobs, of which equal ones are kept once in memory: what is submitted from one shell, job by
job, has the same each time."""

from __future__ import annotations

from msgspec.structs import replace

from rota.intake.submissions import Entry, Submission
from rota.model.ids import Labels

MOST = 1024
"""Shells that submit at the same time. Of one more, the jobs begin with a copy of their own."""


class Environments:
    def __init__(self) -> None:
        self._known: dict[Labels, Labels] = {}

    def shared(self, submission: Submission) -> Submission:
        """The same, with the environments that earlier ones have."""
        if not any(entry.spec.run.environment for entry in submission.entries):
            return submission
        return replace(submission, entries=tuple(map(self._with_known, submission.entries)))

    def _with_known(self, entry: Entry) -> Entry:
        own = entry.spec.run.environment
        if not own:
            return entry
        known = self._known.pop(own, own)
        # The latest last: whoever has submitted nothing for longest goes first.
        self._known[known] = known
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        if known is own:
            return entry
        spec = entry.spec
        return replace(entry, spec=replace(spec, run=replace(spec.run, environment=known)))
