"""Nodes whose taints keep the task away. Distinct sets of taints are judged, not nodes."""

from collections.abc import Iterator

import numpy as np

from rota.engine.plugin import Bools, Concern, TaskView
from rota.model.taints import Effect, Taint, bears_until_ms, tolerated
from rota.model.verdict import Code, Reason
from rota.snapshot.nodes import NodeColumns


class TaintFilter:
    concern = Concern.TAINTS

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if nodes.taint_sets in ((), ((),)):
            return None
        passing = [_first_untolerated(task, taints) is None for taints in nodes.taint_sets]
        return np.array(passing, dtype=np.bool_)[nodes.taint_set]

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        for number, taints in enumerate(nodes.taint_sets):
            taint = _first_untolerated(task, taints)
            if taint is not None:
                code = Code.PASSING_TAINT if taint.is_passing else Code.TAINT
                yield Reason(code, taint.notation), nodes.taint_set == number


def _first_untolerated(task: TaskView, taints: tuple[Taint, ...]) -> Taint | None:
    """Lasting taints before passing ones: a node that has both will still refuse when one is over."""
    untolerated = [taint for taint in taints if not _is_borne(task, taint)]
    return min(untolerated, key=lambda taint: taint.is_passing, default=None)


def _is_borne(task: TaskView, taint: Taint) -> bool:
    tolerations = task.spec.tolerations
    if taint.effect is Effect.NO_EXECUTE:
        # One that it no longer bears would have it evicted in the next cycle, and so on for ever.
        until_ms = bears_until_ms(taint, tolerations)
        return tolerated(taint, tolerations) and (until_ms is None or until_ms > task.now_ms)
    return taint.effect is Effect.PREFER_NO_SCHEDULE or tolerated(taint, tolerations)
