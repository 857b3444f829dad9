"""Answers without the jobs that whoever asks may not see: their ids and times are nobody else's business."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from rota.lifecycle.kept_back import AwaitsJobs
from rota.model.explanation import Explanation
from rota.model.extension import Extension, Obstacle
from rota.model.ids import JobId
from rota.model.plan import PluginFault
from rota.model.reasons import AwaitsPartner, BehindInStrictQueue, RoomPlanned, WasPreempted
from rota.model.verdict import Reason, Verdict
from rota.views.why.view import WhyView

Sees = Callable[[JobId], bool]
SeesProject = Callable[[str], bool]

HIDDEN = JobId("a job of another project")
"""Stands where the id of such a job would."""


def seen_reason(reason: Reason, sees: Sees) -> Reason:
    return renamed_reason(reason, lambda job: _shown(job, sees))


def renamed_reason(reason: Reason, name_of: Callable[[JobId], JobId]) -> Reason:
    """With other names for the jobs that it is about."""
    match reason:
        case RoomPlanned(job) if job:
            return RoomPlanned(name_of(job))
        case AwaitsPartner(job):
            return AwaitsPartner(name_of(job))
        case BehindInStrictQueue(job):
            return BehindInStrictQueue(name_of(job))
        case WasPreempted(job) if job:
            return WasPreempted(name_of(job))
        case AwaitsJobs(jobs):
            return AwaitsJobs(tuple(dict.fromkeys(map(name_of, jobs))))
        case _:
            return reason


def seen_why(view: WhyView, sees: Sees) -> WhyView:
    job = replace(view.job, preempted_by=tuple(one for one in view.job.preempted_by if sees(one)))
    evictions = tuple(
        replace(one, job=_shown(one.job, sees), preemptor=_shown(one.preemptor, sees))
        for one in view.evictions
    )
    return replace(view, job=job, explanation=_explanation(view.explanation, sees), evictions=evictions)


def seen_extension(extension: Extension, sees: Sees) -> Extension:
    seen = tuple(one for one in extension.moved if sees(one.job))
    return replace(
        extension,
        in_the_way=tuple(
            replace(one, name=_shown(JobId(one.name), sees)) if one.obstacle is Obstacle.PROMISE else one
            for one in extension.in_the_way
        ),
        moved=seen,
        others_moved=extension.others_moved + len(extension.moved) - len(seen),
        faults=_faults(extension.faults, sees),
    )


def seen_event(data: dict[str, Any], sees: SeesProject) -> dict[str, Any]:
    """An event outlives the jobs that it names, and says itself of which project they are. Where it doesn't,
    as before 0.5, they are shown to those who see all projects."""
    if not data.get("preemptor") or sees(data.get("preemptor_project", "")):
        return data
    shown = {name: value for name, value in data.items() if name != "preemptor_project"}
    return {**shown, "preemptor": HIDDEN}


def _explanation(explanation: Explanation, sees: Sees) -> Explanation:
    verdict = explanation.verdict
    return replace(
        explanation,
        verdict=None if verdict is None else _verdict(verdict, sees),
        refusals=tuple(replace(one, reason=seen_reason(one.reason, sees)) for one in explanation.refusals),
        remedies=tuple(
            replace(one, evicts=tuple(_shown(job, sees) for job in one.evicts))
            for one in explanation.remedies
        ),
        # An error may say more of a job than its id.
        faults=tuple(one for one in explanation.faults if not one.job or sees(one.job)),
    )


def _verdict(verdict: Verdict, sees: Sees) -> Verdict:
    refusals = tuple(replace(one, reason=seen_reason(one.reason, sees)) for one in verdict.refusals)
    return Verdict(verdict.kind, refusals)


def _faults(faults: tuple[PluginFault, ...], sees: Sees) -> tuple[PluginFault, ...]:
    return tuple(replace(one, job=_shown(one.job, sees)) for one in faults)


def _shown(job: JobId, sees: Sees) -> JobId:
    return job if not job or sees(job) else HIDDEN
