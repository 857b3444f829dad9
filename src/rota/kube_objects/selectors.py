"""Label selectors and node selectors as conditions of the model."""

from collections.abc import Iterable, Mapping

from rota.kube_objects.objects.selectors import LabelSelector, NodeSelector, NodeSelectorTerm
from rota.model.ids import Labels
from rota.model.selectors import NodeTerm, Operator, Requirement, Selector

NOTHING = Selector((Requirement("", Operator.IN),))
"""Selects nothing: no value is among none."""

NO_NODE = NodeTerm(NOTHING)


def as_labels(labels: Mapping[str, str] | None) -> Labels:
    return tuple(sorted(labels.items())) if labels else ()


def label_selector(
    selector: LabelSelector | None,
    own_labels: Mapping[str, str] | None = None,
    match_keys: Iterable[str] | None = None,
    mismatch_keys: Iterable[str] | None = None,
) -> Selector:
    """No selector selects nothing, an empty one everything.

    `match_keys` are labels in which the others must be as the pod itself, `mismatch_keys` those in which they
    must differ; keys that the pod hasn't got don't count.
    """
    if selector is None:
        return NOTHING
    own_labels = own_labels or {}
    requirements = {
        Requirement(key, Operator.IN, (value,)) for key, value in (selector.match_labels or {}).items()
    }
    for expression in selector.match_expressions or ():
        requirements.add(_requirement(expression.key, expression.operator, expression.values))
    for keys, operator in ((match_keys, Operator.IN), (mismatch_keys, Operator.NOT_IN)):
        for key in keys or ():
            if key in own_labels:
                requirements.add(Requirement(key, operator, (own_labels[key],)))
    return Selector(_sorted(requirements))


def all_of(selectors: Iterable[Selector]) -> Selector:
    return Selector(_sorted({one for selector in selectors for one in selector.requirements}))


def node_terms(selector: NodeSelector | None) -> tuple[NodeTerm, ...]:
    """Its alternatives; none for no selector. A term without conditions matches no node at all, but it is
    there: only if every term names nodes, others aren't asked."""
    if selector is None:
        return ()
    return tuple(node_term(term) or NO_NODE for term in selector.node_selector_terms or ()) or (NO_NODE,)


def node_term(term: NodeSelectorTerm) -> NodeTerm | None:
    """None if it has no conditions."""
    if not term.match_expressions and not term.match_fields:
        return None
    return NodeTerm(
        Selector(
            _sorted(_requirement(one.key, one.operator, one.values) for one in term.match_expressions or ())
        ),
        _sorted(
            Requirement(one.key, Operator(one.operator), tuple(one.values)) for one in term.match_fields or ()
        ),
    )


def named_nodes(terms: tuple[NodeTerm, ...]) -> set[str] | None:
    """None: some term names none. Empty: every term asks for several names at once, and no node has two."""
    named: set[str] = set()
    for term in terms:
        lists = [set(one.values) for one in term.names if one.operator is Operator.IN]
        if not lists:
            return None
        named |= set.intersection(*lists)
    return named if terms else None


def _requirement(key: str, operator: str | Operator, values: list[str] | None) -> Requirement:
    return Requirement(key, Operator(operator), tuple(sorted(set(values or ()))))


def _sorted(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """In one order, whichever they were written in: equal conditions are to be equal records."""
    return tuple(sorted(requirements, key=lambda one: (one.key, one.operator.value, one.values)))
