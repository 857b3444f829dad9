"""Results of simulations, as data. Programs rely on the fields: they must not change."""

from __future__ import annotations

from msgspec import Struct

from rota.api.questions import ReasonEntry
from rota.simulate.metrics import Metrics, metrics_of
from rota.simulate.result import SimResult
from rota.views.reasons import reason_entries


class NeverStartedEntry(Struct, frozen=True):
    job: str
    verdict: str
    reasons: list[ReasonEntry]


class ReplayDocument(Struct, frozen=True):
    workload: str
    policy: str
    seed: int
    nodes: int
    metrics: Metrics
    never_started: list[NeverStartedEntry]


def replay_document(result: SimResult) -> ReplayDocument:
    return ReplayDocument(
        result.workload,
        result.policy,
        result.seed,
        len(result.nodes),
        metrics_of(result),
        [
            NeverStartedEntry(job.job, job.verdict.kind.value, reason_entries(job.verdict))
            for job in result.jobs
            if job.verdict is not None
        ],
    )
