"""What is answered to whoever asks about one pod, beside what the scheduler tells on the pod itself."""

from __future__ import annotations

from collections.abc import Sequence

from rota.kube.mirror.reasons import GangIncomplete, GangOthersFirst, Hold, PodGroupMissing, PodGroupUnusable
from rota.model.verdict import Verdict
from rota.views.wording import reason_text

DELETED = "it is being deleted, and won't start any more"
ENDING = "it is being deleted, and ends"
PLACED_ANEW = "If it was placed now"
"""What is taken to be otherwise of a pod that is bound."""
BY_DEADLINES = "by the activeDeadlineSeconds of what runs and waits before it"
"""How a start is known."""


def another_scheduler_text(scheduler: str, *, is_bound: bool) -> str:
    if is_bound:
        return f"{scheduler} has put it there, and only that scheduler knows why"
    return (
        f"it waits for {scheduler}: `kubectl describe pod` shows what that scheduler says of it"
        " (--scheduler-name asks for pods of another one)"
    )


def over_text(has_failed: bool) -> str:
    return "it has failed" if has_failed else "it has ended well"


def gates_text(gates: Sequence[str]) -> str:
    gate, its, it = ("gate", "its", "it") if len(gates) == 1 else ("gates", "their", "them")
    return f"held by its scheduling {gate} {', '.join(gates)}, until {its} owner removes {it}"


def unreadable_text(problem: str) -> str:
    return f"the pod can't be scheduled: {problem}"


def would_be_bound_text(node: str, scheduler: str) -> str:
    return f"it can be bound to {node} now; if it stays so, no scheduler named {scheduler} is running"


def supposed_text(hold: Hold | None) -> str:
    """What is taken to be otherwise when a pod is decided about that is held; None: its gates are gone."""
    match hold:
        case GangIncomplete():
            return "If the missing pods were there, and like this one"
        case GangOthersFirst():
            return "If it started together with them"
        case PodGroupMissing() | PodGroupUnusable():
            return "If it was of no PodGroup"
        case None:
            return "If its gates were gone"
        case _:
            return "If its volumes were there"


def bound_text(node: str) -> str:
    return f"it is bound to {node} already"


def never_text(verdict: Verdict) -> str:
    reasons = ", ".join(reason_text(refusal.reason) for refusal in verdict.refusals)
    return f"it can't start on this cluster as it is: {reasons}"


def endless_text(running: int, waiting: int) -> str:
    """Why no start can be told: so many pods in its way have no deadline."""
    parts = [f"{running:,} that run{'s' if running == 1 else ''}"] if running else []
    parts += [f"{waiting:,} that wait{'s' if waiting == 1 else ''} before it"] if waiting else []
    in_its_way = f", and of the pods in its way {' and '.join(parts)} have none" if parts else ""
    return f"no estimate: only activeDeadlineSeconds says when pods end{in_its_way}"
