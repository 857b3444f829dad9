"""Words for limits: what goes beyond one, and what each allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rota.limits.applying import Origin, Scope
from rota.limits.checking import Excess, What
from rota.model.limits import ANYTHING, Limits
from rota.model.quantities import format_bytes, format_duration
from rota.views.quoting import one_line
from rota.views.wording import amount_text, priority_text


def excess_text(excess: Excess) -> str:
    return f"{_EXCESSES[excess.what](excess)} (limit of {origins_text(excess.origins)})"


def excess_help(excess: Excess) -> str:
    """What to do about it."""
    allowed = excess.allowed
    if excess.what is What.PRIORITY:
        assert isinstance(allowed, int)
        return f"give at most {priority_text(allowed)}, or ask an operator"
    if excess.what is What.TIME_LIMIT:
        assert isinstance(allowed, int)
        return f"give at most {format_duration(allowed)}, or ask an operator"
    if isinstance(allowed, tuple) and allowed:
        return f"choose from: {names_text(allowed)}; or ask an operator"
    return "leave it out, or ask an operator"


def origins_text(origins: tuple[Origin, ...]) -> str:
    """Where a limit stands."""
    return " and ".join(_ORIGINS[one.scope].format(one_line(one.name)) for one in origins)


_ORIGINS = {
    Scope.USER: "user {}",
    Scope.PROJECT: "project {}",
    Scope.QUEUE: "queue {}",
    Scope.DEFAULT: "all users",
    Scope.BUILT_IN: "all users",
}

_EXCESSES: dict[What, Callable[[Excess], str]] = {
    What.PRIORITY: lambda e: f"the priority {priority_text(int(e.asked))} is too high",
    What.PREEMPTIBLE: lambda e: "jobs that can't be preempted are not allowed",
    What.EXCLUSIVE: lambda e: "whole nodes are not allowed",
    What.QUEUE: lambda e: f"the queue {e.asked} is not allowed",
    What.NAMESPACE: lambda e: f"the namespace {e.asked} is not allowed: a job's own is its project",
    What.AFFINITY: lambda e: f"affinity to jobs of the namespace {e.asked} is not allowed",
    What.TOLERATION: lambda e: f"the toleration {e.asked} is not allowed",
    What.NODE_LABEL: lambda e: f"choosing nodes by {e.asked} is not allowed",
    What.RESERVATION: lambda e: f"the reservation {e.asked} is not allowed",
    What.TIME_LIMIT: lambda e: f"a time limit of {format_duration(int(e.asked))} is too long",
}


def limit_text(field: str, value: Any) -> str:
    """What a limit allows. `field`: as in the model, or a resource."""
    match field:
        case "priority":
            return priority_text(value)
        case "time_limit_ms" | "default_time_limit_ms":
            return format_duration(value)
        case "upload_bytes" | "log_bytes":
            return format_bytes(value)
    if isinstance(value, tuple):
        return names_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if field in _COUNTS else amount_text(field, value)


_COUNTS = ("waiting_jobs", "running_jobs", "submissions_per_minute")


def names_text(names: tuple[str, ...]) -> str:
    return "all" if ANYTHING in names else ", ".join(map(one_line, names)) or "none"


def limit_name(field: str) -> str:
    """As a policy has it."""
    if field in Limits.__struct_fields__:
        return field.removesuffix("_ms")
    return f"at_once.{field}"
