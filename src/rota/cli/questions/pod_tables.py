"""The answer about one pod of a live cluster, as tables and as data."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rota.api.questions import RemedyEntry, WhyDocument
from rota.cli.questions.why_tables import remedy_table, why_tables
from rota.cli.tables import BAD, GOOD, PASSING, QUIET, Shown, heading
from rota.cli.text import Text
from rota.kube.asking.answers import PodAnswer, Situation
from rota.model.explanation import Outcome
from rota.views.times import Clock, utc_text
from rota.views.why.document import remedy_entry, why_document

_STYLES = {
    Situation.WAITING: PASSING,
    Situation.HELD: PASSING,
    Situation.BOUND: GOOD,
    Situation.OVER: QUIET,
    Situation.ELSEWHERE: QUIET,
    Situation.UNREADABLE: BAD,
}


class GangDocument(Struct, frozen=True):
    name: str
    present: int
    needed: int


class PodWhyDocument(Struct, frozen=True):
    pod: str
    situation: str
    message: str
    scheduler: str
    node: str | None
    bound: str | None
    """When it was bound."""
    gang: GangDocument | None
    note: str | None
    """The part of its annotation that can't be used, and what is assumed instead."""
    supposed: str | None
    """What the explanation assumes that isn't so."""
    explanation: WhyDocument | None
    """As of jobs."""
    remedies: list[RemedyEntry]
    """Besides those of the explanation."""


def pod_why_document(answer: PodAnswer, now_ms: int) -> PodWhyDocument:
    gang = answer.gang
    return PodWhyDocument(
        pod=answer.pod,
        situation=answer.situation.value,
        message=answer.told,
        scheduler=answer.scheduler,
        node=answer.node or None,
        bound=None if answer.since_ms is None else utc_text(answer.since_ms),
        gang=None if gang is None else GangDocument(gang.name, gang.present, gang.needed),
        note=answer.note or None,
        supposed=answer.supposed or None,
        explanation=None if answer.view is None else why_document(answer.view, now_ms),
        remedies=[remedy_entry(one, now_ms) for one in answer.remedies],
    )


def pod_tables(answer: PodAnswer, clock: Clock, *, wide: bool) -> Iterator[Shown]:
    if answer.situation is not Situation.WAITING:
        yield _headline(answer, clock)
    if answer.gang is not None and answer.situation is not Situation.HELD:
        gang = answer.gang
        yield Text(f"gang {gang.name}: {gang.present} of {gang.needed} pods present", style=QUIET)
    if answer.note:
        yield Text(answer.note, style=PASSING)
    remedies = [remedy_entry(one, clock.now_ms) for one in answer.remedies]
    yield from remedy_table("What would let it start now", remedies, utc_text(clock.now_ms), clock)
    if answer.view is None:
        return
    if answer.supposed:
        yield ""
        yield heading(answer.supposed)
    yield from why_tables(why_document(answer.view, clock.now_ms), clock, wide=wide)
    if answer.situation is Situation.WAITING and answer.view.outcome is Outcome.PLACED:
        yield ""
        yield Text(answer.told)


def _headline(answer: PodAnswer, clock: Clock) -> Text:
    style = _STYLES[answer.situation]
    text = Text().append(answer.pod, style="bold")
    match answer.situation:
        case Situation.BOUND:
            text.append(f" is bound to {answer.node}", style=style)
            if answer.since_ms is not None:
                since_ms = answer.since_ms
                text.append(f" since {clock.text(since_ms)}, {clock.distance_text(since_ms)}")
            text.append(f": {answer.told}" if answer.told else f", by {answer.scheduler}")
        case Situation.HELD:
            text.append(" waits", style=style).append(f": {answer.told}")
        case _:
            text.append(f": {answer.told}", style=style)
    return text
