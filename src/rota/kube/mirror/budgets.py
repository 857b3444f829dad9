"""Disruption budgets: which running pods nobody should end now, if there is another way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from rota.kube.api.objects import DisruptionBudget
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.selectors import as_labels, label_selector
from rota.model.selectors import Selector


class Budgets:
    """Only those that allow nothing more are kept: the others keep nobody back."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        """`changed` is told the namespace in which other pods are held than before."""
        self._changed = changed
        self._used_up: defaultdict[str, dict[str, Selector]] = defaultdict(dict)

    def budget_changed(self, old: DisruptionBudget | None, new: DisruptionBudget | None) -> None:
        budget = new or old
        assert budget is not None
        namespace, name = namespace_of(budget.metadata), budget.metadata.name or ""
        here = self._used_up[namespace]
        before = here.pop(name, None)
        if new is not None and new.disruptions_allowed <= 0 and new.spec is not None:
            here[name] = label_selector(new.spec.selector)
        after = here.get(name)
        if not here:
            del self._used_up[namespace]
        if before != after:
            self._changed(namespace)

    def hold(self, pod: Pod) -> bool:
        selectors = self._used_up.get(namespace_of(pod.metadata))
        if not selectors:
            return False
        labels = as_labels(pod.metadata.labels)
        return any(selector.selects(labels) for selector in selectors.values())
