"""Which nodes meet conditions on nodes, where there are many of both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from rota.model.ids import NodeName
from rota.model.selectors import NodeTerm, Operator

Labels = Mapping[str, str]


class Reach:
    """Answers are kept until a node changes."""

    def __init__(self) -> None:
        self._labels: dict[NodeName, Labels] = {}
        self._by_label: dict[str, dict[str, set[NodeName]]] = {}
        self._found: dict[tuple[NodeTerm, ...], frozenset[NodeName]] = {}

    def node(self, name: NodeName, labels: Labels | None) -> bool:
        """None: it is gone. Whether that may have changed an answer."""
        if self._labels.get(name) == labels:
            return False
        if labels is None:
            del self._labels[name]
        else:
            self._labels[name] = labels
        self._by_label.clear()
        self._found.clear()
        return True

    @property
    def nodes(self) -> Mapping[NodeName, Labels]:
        return self._labels

    def of(self, terms: tuple[NodeTerm, ...]) -> frozenset[NodeName]:
        """Nodes on which one of the terms holds; without any, all."""
        if not terms:
            return frozenset(self._labels)
        found = self._found.get(terms)
        if found is None:
            found = self._found[terms] = frozenset().union(*map(self._of_term, terms))
        return found

    def _of_term(self, term: NodeTerm) -> set[NodeName]:
        """The first condition that names values narrows it down: mostly to one node."""
        candidates: set[NodeName] | None = None
        for one in term.labels.requirements:
            if one.operator is Operator.IN:
                index = self._index(one.key)
                candidates = set().union(*(index.get(value, ()) for value in one.values))
                break
        among = self._labels if candidates is None else candidates
        return {name for name in among if self._holds(term, name)}

    def _holds(self, term: NodeTerm, name: NodeName) -> bool:
        labels = self._labels[name]
        if not term.labels.requirements and not term.names:
            return False
        return all(one.admits(labels.get(one.key)) for one in term.labels.requirements) and all(
            one.admits(name) for one in term.names
        )

    def _index(self, key: str) -> dict[str, set[NodeName]]:
        index = self._by_label.get(key)
        if index is None:
            made: defaultdict[str, set[NodeName]] = defaultdict(set)
            for name, labels in self._labels.items():
                if key in labels:
                    made[labels[key]].add(name)
            index = self._by_label[key] = dict(made)
        return index
