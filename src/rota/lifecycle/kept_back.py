"""Why a job isn't given to the engine: it is held, or others have to end first. As reasons, beside those that
the engine gives, so that previews show both alike."""

from __future__ import annotations

from typing import ClassVar

from rota.lifecycle.state import JobState, Phase
from rota.model.ids import JobId
from rota.model.verdict import Kind, Refusal, Rule, TypedReason, Unblock, Verdict, never, not_now


class IsHeld(TypedReason, frozen=True, tag="held"):
    rule: ClassVar[Rule] = not_now("hold", Unblock.OBJECT_CHANGED, is_about_the_job=False)


class AwaitsJobs(TypedReason, frozen=True, tag="dependency"):
    rule: ClassVar[Rule] = not_now("dependencies", Unblock.TASK_ENDED, is_about_the_job=False)
    jobs: tuple[JobId, ...]


class DependencyUnmet(TypedReason, frozen=True, tag="dependency failed"):
    """A job that it waits for has ended in another way than it asks for."""

    rule: ClassVar[Rule] = never("dependencies", Unblock.OBJECT_CHANGED, is_about_the_job=False)
    message: str


def kept_back(state: JobState) -> Verdict | None:
    """Of a job that came in just now. None: it waits for room, and the engine decides."""
    if state.is_over:
        return Verdict(Kind.NEVER, (Refusal(DependencyUnmet(state.message), 0),))
    if state.phase is not Phase.CREATED:
        return None
    reasons: list[TypedReason] = [IsHeld()] if state.held else []
    if state.depends_on:
        reasons.append(AwaitsJobs(tuple(dict.fromkeys(one.job for one in state.depends_on))))
    return Verdict(Kind.NOT_NOW, tuple(Refusal(reason, 0) for reason in reasons))
