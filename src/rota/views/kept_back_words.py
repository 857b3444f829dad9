"""Words for what keeps a job from waiting for room: a hold, and other jobs that have to end first."""

from __future__ import annotations

from rota.lifecycle.kept_back import AwaitsJobs, DependencyUnmet, IsHeld
from rota.model.verdict import Reason
from rota.views.folding import fold_names
from rota.views.quoting import one_line
from rota.views.saying import ReasonWords, always, said

_FEW = 3

KEPT_BACK_REASONS: ReasonWords = dict(
    (
        always(IsHeld, "is held"),
        said(AwaitsJobs, lambda r: f"waits for {one_line(fold_names(r.jobs, most=_FEW))} to end"),
        said(DependencyUnmet, lambda r: f"it would be cancelled at once: {one_line(r.message)}"),
    )
)

KEPT_BACK_PASSING: dict[type[Reason], str] = {
    IsHeld: "until somebody releases it",
    AwaitsJobs: "until they have ended",
    DependencyUnmet: "never: it waits for another end of that job",
}
