"""Words for what the engine says in data: reasons, remedies, causes, events, amounts.

A text depends on its record alone, and on how times are to be written, so that records which are equal read
the same. Each reason and each change has its words by its type: those of plugins in `plugin_words`, those of
the engine in `reason_words`, `calendar_words` and `change_words`.
"""

from __future__ import annotations

from rota.model.explanation import Outcome, Remedy
from rota.model.plan import Eviction, EvictionCause
from rota.model.verdict import Kind, Reason, Unblock
from rota.views.amounts import (
    amount_text,
    asked_text,
    count_text,
    price_text,
    priority_text,
    request_text,
)
from rota.views.calendar_words import CALENDAR_PASSING, CALENDAR_REASONS
from rota.views.change_words import ENGINE_CHANGES
from rota.views.kept_back_words import KEPT_BACK_PASSING, KEPT_BACK_REASONS
from rota.views.plugin_words import PLUGIN_CHANGES, PLUGIN_REASONS
from rota.views.reason_words import ENGINE_REASONS
from rota.views.saying import ChangeWords, ReasonWords
from rota.views.times import TimeText, utc_text

__all__ = [
    "CHANGES",
    "REASONS",
    "amount_text",
    "asked_text",
    "cause_text",
    "count_text",
    "kind_text",
    "others_moved_text",
    "outcome_text",
    "passing_text",
    "price_text",
    "priority_text",
    "reason_text",
    "remedy_text",
    "request_text",
]


REASONS: ReasonWords = {**ENGINE_REASONS, **CALENDAR_REASONS, **PLUGIN_REASONS, **KEPT_BACK_REASONS}
CHANGES: ChangeWords = {**ENGINE_CHANGES, **PLUGIN_CHANGES}


def reason_text(reason: Reason, when: TimeText = utc_text) -> str:
    """`when`: how times are written in it; as in data, unless told otherwise."""
    return REASONS[type(reason)](reason, when)


def remedy_text(remedy: Remedy) -> str:
    return CHANGES[type(remedy.change)](remedy.change)


def others_moved_text(count: int) -> str:
    return f"planned starts of {count_text(count, 'job')} of other projects move, too"


# -- single words

_KINDS = {Kind.NOT_NOW: "not now", Kind.NEVER: "never"}
_CAUSES = {
    EvictionCause.PREEMPTED: "preempted",
    EvictionCause.RECLAIMED: "quota taken back",
    EvictionCause.TAINT: "NoExecute taint",
    EvictionCause.MAINTENANCE: "maintenance",
}
_EVENTS = {
    Unblock.TASK_PLACED: "a task is placed",
    Unblock.TASK_ENDED: "a task ends",
    Unblock.NODE_CHANGED: "a node changes",
    Unblock.NODE_ADDED: "a node joins",
    Unblock.POLICY_CHANGED: "the policy changes",
    Unblock.TIME_PASSED: "time passes",
    Unblock.NEXT_CYCLE: "the next cycle comes",
    Unblock.OBJECT_CHANGED: "what it needs changes",
}
_OUTCOMES = {
    Outcome.PLACED: "starts",
    Outcome.RUNNING: "runs",
    Outcome.EVICTED: "is evicted",
    Outcome.WAITING: "waits",
}


def kind_text(kind: Kind) -> str:
    return _KINDS[kind]


def cause_text(eviction: Eviction) -> str:
    return _CAUSES[eviction.cause] + (", ends the job" if eviction.ends_job else "")


def passing_text(reason: Reason) -> str:
    """Whether the reason can pass, and by what."""
    if known := CALENDAR_PASSING.get(type(reason)) or KEPT_BACK_PASSING.get(type(reason)):
        return known
    events = " or ".join(text for event, text in _EVENTS.items() if event in reason.unblocked_by)
    events = events.replace("changes or a node joins", "changes or joins")
    return f"until {events}" if reason.kind is Kind.NOT_NOW else f"never, unless {events}"


def outcome_text(outcome: Outcome) -> str:
    return _OUTCOMES[outcome]
