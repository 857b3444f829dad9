"""A verdict's reasons as the data that `-o json` and `-o yaml` print, of plans and explanations alike."""

from __future__ import annotations

from collections.abc import Iterable

from rota.api.questions import ReasonEntry
from rota.model.quantities import parse_timestamp_ms
from rota.model.verdict import Reason, Verdict
from rota.views.times import Clock, utc_text
from rota.views.wording import reason_text


def reason_entries(verdict: Verdict, *, with_times: bool = False) -> list[ReasonEntry]:
    """`with_times`: for documents that tables are made of, which show local time."""
    return [_entry(refusal.reason, refusal.nodes, with_times) for refusal in verdict.refusals]


def timed_text(reason: Reason) -> tuple[str, list[str]]:
    """The reason in words with times in UTC, and these times."""
    times: list[str] = []

    def when(at_ms: int) -> str:
        times.append(utc_text(at_ms))
        return times[-1]

    return reason_text(reason, when), times


def local_text(message: str, times: Iterable[str], clock: Clock) -> str:
    """The message of an entry with its times as the clock shows them."""
    for one in times:
        message = message.replace(one, clock.text(parse_timestamp_ms(one)))
    return message


def _entry(reason: Reason, nodes: int, with_times: bool) -> ReasonEntry:
    message, times = timed_text(reason)
    return ReasonEntry(reason.plugin, message, nodes, times if with_times else [])
