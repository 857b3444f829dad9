"""Nodes whose taints keep the task away. Distinct sets of taints are judged, not nodes."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rota.engine.plugin import Bools, Concern, TaskView
from rota.model.taints import Effect, Taint, Tolerations, bears_until_ms, tolerated
from rota.model.verdict import Code, Reason
from rota.snapshot.nodes import NodeColumns


class TaintFilter:
    concern = Concern.TAINTS

    def passes(self, task: TaskView, nodes: NodeColumns) -> Bools | None:
        if nodes.taint_sets in ((), ((),)):
            return None
        borne = Tolerations(task.spec.tolerations)
        passing = [_first_untolerated(borne, task.now_ms, taints) is None for taints in nodes.taint_sets]
        return np.array(passing, dtype=np.bool_)[nodes.taint_set]

    def refusals(self, task: TaskView, nodes: NodeColumns) -> Iterator[tuple[Reason, Bools]]:
        borne = Tolerations(task.spec.tolerations)
        firsts = [_first_untolerated(borne, task.now_ms, taints) for taints in nodes.taint_sets]
        return refusals_by_taint(firsts, lambda taint: taint.notation, nodes)


MOST_REASONS = 64
"""Taints that are told apart: each takes a look at all nodes, and nobody reads more."""


def refusals_by_taint(
    firsts: Sequence[Taint | None], notation: Callable[[Taint], str], nodes: NodeColumns
) -> Iterator[tuple[Reason, Bools]]:
    """`firsts`: of each set of taints, the one to name. Where there are very many, the rarest share one
    reason."""
    sets: dict[Reason, list[int]] = {}
    for number, taint in enumerate(firsts):
        if taint is not None:
            code = Code.PASSING_TAINT if taint.is_passing else Code.TAINT
            sets.setdefault(Reason(code, notation(taint)), []).append(number)
    if len(sets) > MOST_REASONS:
        size = np.bincount(nodes.taint_set, minlength=len(firsts))
        ordered = sorted(sets.items(), key=lambda entry: -int(size[entry[1]].sum()))
        rest: dict[Code, list[tuple[Reason, list[int]]]] = {}
        for reason, numbers in ordered[MOST_REASONS - 2 :]:
            rest.setdefault(reason.code, []).append((reason, numbers))
        sets = dict(ordered[: MOST_REASONS - 2])
        for code, entries in rest.items():
            others = f" and {len(entries) - 1} others" if len(entries) > 1 else ""
            sets[Reason(code, f"{entries[0][0].subject}{others}")] = [
                at for _, some in entries for at in some
            ]
    number_of_reason = np.full(len(firsts), -1, dtype=np.int32)
    for at, numbers in enumerate(sets.values()):
        number_of_reason[numbers] = at
    reason_of_node = number_of_reason[nodes.taint_set]
    for at, reason in enumerate(sets):
        yield reason, reason_of_node == at


def _first_untolerated(borne: Tolerations, now_ms: int, taints: tuple[Taint, ...]) -> Taint | None:
    """Lasting taints before passing ones: a node that has both will still refuse when one is over."""
    untolerated = [taint for taint in taints if not _is_borne(borne, now_ms, taint)]
    return min(untolerated, key=lambda taint: taint.is_passing, default=None)


def _is_borne(tolerations: Tolerations, now_ms: int, taint: Taint) -> bool:
    if taint.effect is Effect.NO_EXECUTE:
        # One that it no longer bears would have it evicted in the next cycle, and so on for ever.
        until_ms = bears_until_ms(taint, tolerations)
        return tolerated(taint, tolerations) and (until_ms is None or until_ms > now_ms)
    return taint.effect is Effect.PREFER_NO_SCHEDULE or tolerated(taint, tolerations)
