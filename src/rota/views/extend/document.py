"""The answer to an extension as data. Programs rely on its form: what is there must not change."""

from __future__ import annotations

from rota.api.questions import ExtensionDocument, MovedEntry, ObstacleEntry
from rota.model.extension import Extension
from rota.model.quantities import format_duration
from rota.views.extend.wording import answer_text, obstacle_text
from rota.views.times import utc_text


def extension_document(extension: Extension) -> ExtensionDocument:
    return ExtensionDocument(
        job=extension.job,
        granted=extension.is_granted,
        answer=extension.answer.value,
        limit=format_duration(extension.limit_ms),
        had=_duration_text(extension.had_ms),
        end=_time_text(extension.end_ms),
        longest=_duration_text(extension.longest_ms),
        cost=extension.cost_micro / 1_000_000,
        in_the_way=[
            ObstacleEntry(
                one.obstacle.value, one.name, utc_text(one.start_ms), list(one.nodes), obstacle_text(one)
            )
            for one in extension.in_the_way
        ],
        moved=[MovedEntry(one.job, utc_text(one.from_ms), _time_text(one.to_ms)) for one in extension.moved],
        others_moved=extension.others_moved,
        message=answer_text(extension),
    )


def _duration_text(span_ms: int | None) -> str | None:
    return None if span_ms is None else format_duration(span_ms)


def _time_text(at_ms: int | None) -> str | None:
    return None if at_ms is None else utc_text(at_ms)
