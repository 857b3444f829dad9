"""Nodes whose taints keep the task away. Distinct sets of taints are judged, not nodes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import numpy as np
from msgspec.structs import replace

from rota.engine.loosening import Loosening, SpecChange, with_specs
from rota.engine.plugin import Bools, Concern, NodeFilter, TaskView
from rota.model.explanation import Change, TypedChange
from rota.model.job import JobTemplate
from rota.model.taints import Effect, Taint, Toleration, Tolerations, bears_until_ms, tolerated
from rota.model.verdict import CLUSTER, Reason, Rule, TypedReason, never, not_now
from rota.snapshot.nodes import NodeColumns


class UntoleratedTaint(TypedReason, frozen=True, tag="taint"):
    rule: ClassVar[Rule] = never("taints", *CLUSTER)
    key: str
    value: str = ""
    effect: Effect | None = None
    """None: it is named without, as kube-scheduler names it."""
    others: int = 0
    """So many other taints share this reason: there are very many."""


class UntoleratedPassingTaint(TypedReason, frozen=True, tag="passing taint"):
    """Of a condition of the node that is expected to pass."""

    rule: ClassVar[Rule] = not_now("taints", *CLUSTER)
    key: str
    value: str = ""
    effect: Effect | None = None
    others: int = 0


class Tolerate(TypedChange, frozen=True, tag="toleration"):
    size: ClassVar[float] = 0.30
    taints: tuple[Taint, ...]
    """All that keep it from the same nodes."""

    def includes(self, other: Change) -> bool:
        return isinstance(other, Tolerate) and set(map(_borne, self.taints)) >= set(map(_borne, other.taints))


def _borne(taint: Taint) -> tuple[str, str, Effect]:
    """What a toleration of it says: when it was put there doesn't matter."""
    return taint.key, taint.value, taint.effect


class TaintFilter(NodeFilter):
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
        return refusals_by_taint(
            [untolerated(taint, taint.effect) if taint else None for taint in firsts], nodes
        )

    def loosenings(self, template: JobTemplate, nodes: NodeColumns) -> Iterator[Loosening]:
        """The sets of taints of most nodes first."""
        size = np.bincount(nodes.taint_set, minlength=len(nodes.taint_sets))
        specs = [group.spec for group in template.groups]
        tolerations = [Tolerations(some) for some in {spec.tolerations: None for spec in specs}]
        for number in np.argsort(-size, kind="stable").tolist():
            lacking = _lacking(tolerations, nodes.taint_sets[number])
            if lacking:
                yield tolerating(template, lacking)


def tolerating(template: JobTemplate, taints: tuple[Taint, ...]) -> Loosening:
    extra = tuple(Toleration(t.key, not t.value, t.value, t.effect) for t in taints)
    return Loosening(Tolerate(taints), with_specs(template, _tolerating(extra)))


def untolerated(taint: Taint, effect: Effect | None) -> UntoleratedTaint | UntoleratedPassingTaint:
    reason = UntoleratedPassingTaint if taint.is_passing else UntoleratedTaint
    return reason(taint.key, taint.value, effect)


MOST_REASONS = 64
"""Taints that are told apart: each takes a look at all nodes, and nobody reads more."""


def refusals_by_taint(
    firsts: Sequence[UntoleratedTaint | UntoleratedPassingTaint | None], nodes: NodeColumns
) -> Iterator[tuple[Reason, Bools]]:
    """`firsts`: the reason that each set of taints gives. Where there are very many, the rarest share one."""
    sets: dict[UntoleratedTaint | UntoleratedPassingTaint, list[int]] = {}
    for number, reason in enumerate(firsts):
        if reason is not None:
            sets.setdefault(reason, []).append(number)
    if len(sets) > MOST_REASONS:
        size = np.bincount(nodes.taint_set, minlength=len(firsts))
        ordered = sorted(sets.items(), key=lambda entry: -int(size[entry[1]].sum()))
        sets = dict(ordered[: MOST_REASONS - 2])
        for kind in (UntoleratedTaint, UntoleratedPassingTaint):
            rare = [entry for entry in ordered[MOST_REASONS - 2 :] if isinstance(entry[0], kind)]
            if rare:
                shared = replace(rare[0][0], others=len(rare) - 1)
                sets[shared] = [number for _, numbers in rare for number in numbers]
    number_of_reason = np.full(len(firsts), -1, dtype=np.int32)
    for at, numbers in enumerate(sets.values()):
        number_of_reason[numbers] = at
    reason_of_node = number_of_reason[nodes.taint_set]
    for at, reason in enumerate(sets):
        yield reason, reason_of_node == at


def _lacking(tolerations: Iterable[Tolerations], taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """Those that some task doesn't tolerate."""
    return tuple(
        taint
        for taint in taints
        if taint.effect is not Effect.PREFER_NO_SCHEDULE
        and any(not tolerated(taint, some) for some in tolerations)
    )


def _tolerating(extra: tuple[Toleration, ...]) -> SpecChange:
    return lambda spec: replace(spec, tolerations=spec.tolerations + extra)


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
