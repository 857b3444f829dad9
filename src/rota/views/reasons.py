"""A verdict's reasons as the data that `-o json` and `-o yaml` print, of plans and explanations alike."""

from __future__ import annotations

from msgspec import Struct

from rota.model.verdict import Verdict
from rota.views.wording import reason_text


class ReasonEntry(Struct, frozen=True):
    plugin: str
    message: str
    nodes: int


def reason_entries(verdict: Verdict) -> list[ReasonEntry]:
    return [
        ReasonEntry(refusal.reason.plugin, reason_text(refusal.reason), refusal.nodes)
        for refusal in verdict.refusals
    ]
