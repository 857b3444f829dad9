"""Pods near to and away from each other: affinity, anti-affinity and spread."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import structs

from rota.kube_objects.namespaces import Namespaces
from rota.kube_objects.objects.affinity import PodAffinity, PodAffinityTerm, TopologySpreadConstraint
from rota.kube_objects.objects.pods import PodSpec
from rota.kube_objects.objects.selectors import LabelSelector
from rota.kube_objects.selectors import NOTHING, all_of, label_selector
from rota.model.selectors import Selector
from rota.model.task import NOT_ENDING, JobAffinity, Spread

_OwnLabels: TypeAlias = Mapping[str, str] | None

OWN: tuple[str, ...] = ()
EVERY: tuple[str, ...] = ("*",)
"""The model's words for the pod's own namespace and for all of them."""


class AffinityReader:
    """Reads the terms of one pod."""

    def __init__(self, namespace: str, labels: _OwnLabels, namespaces: Namespaces) -> None:
        self._namespace = namespace
        self._labels = labels
        self._namespaces = namespaces
        self.unknown_namespaces: set[str] = set()
        """Those of which a selector would have had to know more."""

    def read(self, spec: PodSpec) -> tuple[JobAffinity, ...]:
        if spec.affinity is None:
            return ()
        near = spec.affinity.pod_affinity or PodAffinity()
        apart = spec.affinity.pod_anti_affinity or PodAffinity()
        return (
            *self._jointly([self._affinity(term) for term in near.required or ()]),
            *(self._affinity(term, anti=True) for term in apart.required or ()),
            *(self._affinity(one.pod_affinity_term, weight=one.weight) for one in near.preferred or ()),
            *(
                self._affinity(one.pod_affinity_term, anti=True, weight=one.weight)
                for one in apart.preferred or ()
            ),
        )

    def _affinity(self, term: PodAffinityTerm, anti: bool = False, weight: int | None = None) -> JobAffinity:
        merged = _keys_of(term.label_selector)
        selector = label_selector(
            term.label_selector,
            self._labels,
            [key for key in term.match_label_keys or () if key not in merged],
            [key for key in term.mismatch_label_keys or () if key not in merged],
        )
        namespaces = self._namespaces_of(term)
        if namespaces is None:
            namespaces, selector = OWN, NOTHING
        return JobAffinity(term.topology_key, selector, namespaces, anti, weight)

    def _jointly(self, terms: Sequence[JobAffinity]) -> Sequence[JobAffinity]:
        """Kubernetes counts a pod for required affinity only if all terms select it: each is to say so."""
        if len(terms) < 2:
            return terms
        selector = all_of(term.selector for term in terms)
        namespaces = self._common([term.namespaces for term in terms])
        if namespaces is None:
            namespaces, selector = OWN, NOTHING
        return [structs.replace(term, selector=selector, namespaces=namespaces) for term in terms]

    def _namespaces_of(self, term: PodAffinityTerm) -> tuple[str, ...] | None:
        """None: there are no such namespaces."""
        if not term.namespaces and term.namespace_selector is None:
            return OWN
        names = set(term.namespaces or ())
        if (selector := term.namespace_selector) is not None:
            if not selector.match_labels and not selector.match_expressions:
                return EVERY
            names |= self._namespaces.selected_by(selector)
            self.unknown_namespaces |= self._namespaces.unknown_to(selector)
        return self._named(names)

    def _common(self, namespaces: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
        sets = [set(names) or {self._namespace} for names in namespaces if names != EVERY]
        return self._named(set.intersection(*sets)) if sets else EVERY

    def _named(self, names: set[str]) -> tuple[str, ...] | None:
        if names == {self._namespace}:
            return OWN
        return tuple(sorted(names)) or None


def _keys_of(selector: LabelSelector | None) -> set[str]:
    """Label keys that the API server has put into the selector already, with the labels that the pod had when
    it was created: what counts are those."""
    return {one.key for one in (selector and selector.match_expressions) or ()}


def as_spread(constraint: TopologySpreadConstraint, labels: _OwnLabels) -> Spread:
    return Spread(
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        selector=_spread_pods(constraint, labels),
        required=constraint.when_unsatisfiable == "DoNotSchedule",
        min_domains=constraint.min_domains or 1,
        honor_affinity=constraint.node_affinity_policy != "Ignore",
        honor_taints=constraint.node_taints_policy == "Honor",
    )


def _spread_pods(constraint: TopologySpreadConstraint, labels: _OwnLabels) -> Selector:
    """Here, unlike elsewhere, an empty selector counts no pod, and a pod that is ending isn't counted."""
    selector = label_selector(constraint.label_selector, labels, constraint.match_label_keys)
    return all_of((selector, Selector((NOT_ENDING,)))) if selector.requirements else NOTHING
