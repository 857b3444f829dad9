"""What comes in is held to the limits of the policy before anything else is asked about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import ceil
from typing import NamedTuple

from msgspec.structs import replace

from rota.control.access import Who
from rota.control.allowed_changes import is_allowed
from rota.control.draft import Draft
from rota.control.errors import BadInput, Conflict, NotAllowed, TooOften
from rota.control.memory import Memory
from rota.intake.submissions import Entry, Submission
from rota.lifecycle.state import JobState
from rota.limits.applying import Account, Origin, Owner, Scope, accounts, asked_limits
from rota.limits.checking import (
    Excess,
    excesses,
    longer_than_allowed,
    owner_of,
    with_default_time_limit,
)
from rota.limits.rate import PerMinute
from rota.model.explanation import Explanation
from rota.model.job import JobTemplate
from rota.model.policy import Policy
from rota.snapshot.defaults import admit
from rota.views.limits import excess_help, excess_text, origins_text
from rota.views.wording import count_text

_MOST_NAMED = 10
"""Of queues or projects that there are, in a message."""


class Allowed(NamedTuple):
    """What the limits made of a job."""

    template: JobTemplate
    log_bytes: int | None


class Allowing:
    def __init__(self, policy: Policy, memory: Memory) -> None:
        self._memory = memory
        self.set_policy(policy)
        self._rate = PerMinute()

    def set_policy(self, policy: Policy) -> None:
        """For what comes in from now on."""
        self._limits = policy.limits
        self._defaults = policy.defaults
        self._queues = policy.queue_names
        self._projects = policy.project_names

    # -- jobs come in

    def admit(self, submission: Submission, who: Who, now_ms: int) -> Submission:
        """With all that they left open: what they ask for, time limits, what is kept of their output. Raises
        a ControlError for what isn't allowed."""
        self._check_rate(submission, who, now_ms)
        allowed: dict[JobTemplate, Allowed] = {}
        entries = []
        for index, entry in enumerate(submission.entries):
            template = entry.spec.template
            if template not in allowed:
                allowed[template] = self._allowed(template, who, index)
            entries.append(_as_allowed(entry, allowed[template]))
        return Submission(tuple(entries), submission.warnings)

    def check_waiting(self, submission: Submission, who: Who, draft: Draft) -> None:
        """Asked of the draft that the jobs come in with: others may be coming in at the same moment."""
        more: Counter[Owner] = Counter()
        for entry in submission.entries:
            more[owner_of(entry.spec.template)] += entry.job_count
        exempt = who.is_operator
        found = (one for owner in more for one in accounts(self._limits, owner, "waiting_jobs", exempt))
        everybody = sum(sum(some.values()) for some in draft.waiting()) + more.total()
        for account in dict.fromkeys(found):
            if everybody <= account.limit:
                continue
            there = sum(counted(some, account.origin) for some in draft.waiting())
            asked = counted(more, account.origin)
            if there + asked > account.limit:
                raise Conflict(
                    f"with {count_text(asked, 'more job')} more than {account.limit:,} would wait"
                    f" (limit of {origins_text((account.origin,))}; {there:,} wait now)",
                    "submit fewer, or wait until some have started",
                )

    def _check_rate(self, submission: Submission, who: Who, now_ms: int) -> None:
        """All buckets, or none: who is refused loses nothing."""
        owners = dict.fromkeys(owner_of(entry.spec.template) for entry in submission.entries)
        concerned: dict[Origin, Account] = {}
        for owner in owners:
            for account in accounts(self._limits, owner, "submissions_per_minute", who.is_operator):
                concerned[account.origin] = account
        for origin, account in concerned.items():
            wait_ms = self._rate.wait_ms(origin, account.limit, now_ms)
            if wait_ms:
                raise TooOften(
                    f"more than {account.limit:,} submissions a minute (limit of {origins_text((origin,))})",
                    ceil(wait_ms / 1000),
                )
        for origin, account in concerned.items():
            self._rate.take(origin, account.limit, now_ms)

    def _allowed(self, template: JobTemplate, who: Who, index: int) -> Allowed:
        field = f"jobs[{index}]"
        if template.queue not in self._queues:
            raise _unknown(
                "queue", template.queue, self._queues, field, "operators name queues in the policy"
            )
        if template.project not in self._projects and template.project not in self._memory.projects:
            seen = [one for one in {*self._projects, *self._memory.projects} if who.sees(one)]
            raise _unknown(
                "project", template.project, seen, field, "admins make one with `rota project set`"
            )
        limits = asked_limits(self._limits, owner_of(template), who.is_operator)
        template = with_default_time_limit(admit(template, self._defaults), limits)
        for excess in excesses(template, limits):
            raise _not_allowed(excess, f"{field}.{excess.what.value}")
        return Allowed(template, limits.value("log_bytes"))

    # -- afterwards

    def check_extension(self, state: JobState, time_limit_ms: int, who: Who) -> None:
        limits = asked_limits(self._limits, owner_of(state.spec.template), who.is_operator)
        excess = longer_than_allowed(time_limit_ms, limits)
        if excess is not None:
            raise _not_allowed(excess, "time_limit")

    def allowed_help(self, explanation: Explanation, template: JobTemplate, who: Who) -> Explanation:
        """Without what would help the job and isn't allowed: whoever asks can't do it."""
        limits = asked_limits(self._limits, owner_of(template), who.is_operator)
        remedies = tuple(one for one in explanation.remedies if is_allowed(one.change, limits))
        return replace(explanation, remedies=remedies)

    def submissions_left(self, account: Account, now_ms: int) -> int:
        """Of this minute."""
        return self._rate.left(account.origin, account.limit, now_ms)


def counted(by_owner: Mapping[Owner, int], origin: Origin) -> int:
    """Of jobs counted by owner, those that an account of this origin counts."""
    part = _PARTS[origin.scope]
    return sum(count for owner, count in by_owner.items() if part(owner) == origin.name)


_PARTS: dict[Scope, Callable[[Owner], str]] = {
    Scope.USER: lambda owner: owner.user,
    Scope.PROJECT: lambda owner: owner.project,
    Scope.QUEUE: lambda owner: owner.queue,
}


def _as_allowed(entry: Entry, allowed: Allowed) -> Entry:
    if allowed.template is entry.spec.template and allowed.log_bytes is None:
        return entry
    return replace(entry, spec=replace(entry.spec, template=allowed.template, log_bytes=allowed.log_bytes))


def _not_allowed(excess: Excess, field: str) -> NotAllowed:
    return NotAllowed(field, excess_text(excess), excess_help(excess))


def _unknown(noun: str, name: str, known: Iterable[str], job: str, otherwise: str) -> BadInput:
    names = sorted(known)
    listed = ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
    return BadInput(f"{job}.{noun}", f'there is no {noun} "{name}"', f"choose from: {listed}; {otherwise}")
