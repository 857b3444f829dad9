"""Disruption budgets: which running pods nobody should end now, if there is another way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from rota.kube.api.objects import DisruptionBudget
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.selectors import label_selector
from rota.model.selectors import Selector
from rota.snapshot.running import RunningTask


class Budget(Struct, frozen=True):
    selector: Selector
    allowed: int
    """How many of its pods may end now."""
    ending: frozenset[str] = frozenset()
    """Pods whose end is counted already, by name."""


class Disruptions:
    """Budgets as they are at one time, for one decision."""

    def __init__(self, by_namespace: Mapping[str, Sequence[Budget]]) -> None:
        self._by_namespace = by_namespace

    def broken_by(self, tasks: Sequence[RunningTask]) -> list[bool]:
        """As kube-scheduler counts: each pod takes from every budget that selects it, the most valuable
        first, and breaks those that have nothing left."""
        taken: defaultdict[tuple[str, int], int] = defaultdict(int)
        return [self._breaks(task, taken) for task in tasks]

    def _breaks(self, task: RunningTask, taken: defaultdict[tuple[str, int], int]) -> bool:
        template, rank = task.job.template, task.placement.rank
        budgets = self._by_namespace.get(template.namespace, ())
        labels = template.groups[task.job.group_of(rank)].spec.labels
        if not budgets or not labels:
            return False
        name = task.job.task_name(rank).removeprefix(f"{template.namespace}/")
        breaks = False
        for number, budget in enumerate(budgets):
            if budget.selector.selects(labels) and name not in budget.ending:
                taken[template.namespace, number] += 1
                breaks |= taken[template.namespace, number] > budget.allowed
        return breaks


class Budgets:
    def __init__(self, changed: Callable[[], None]) -> None:
        """`changed` is told when other pods may end than before."""
        self._changed = changed
        self._by_namespace: defaultdict[str, dict[str, Budget]] = defaultdict(dict)

    def budget_changed(self, old: DisruptionBudget | None, new: DisruptionBudget | None) -> None:
        budget = new or old
        assert budget is not None
        namespace, name = namespace_of(budget.metadata), budget.metadata.name or ""
        here = self._by_namespace[namespace]
        before = here.pop(name, None)
        after = None if new is None else _read(new)
        if after is not None:
            here[name] = after
        if not here:
            del self._by_namespace[namespace]
        if before != after:
            self._changed()

    def now(self) -> Disruptions | None:
        """None: there are none."""
        if not self._by_namespace:
            return None
        return Disruptions({name: tuple(here.values()) for name, here in self._by_namespace.items()})


def _read(budget: DisruptionBudget) -> Budget | None:
    """None: it selects nobody. To kube-scheduler that is so of an empty selector, too."""
    selector = budget.spec.selector if budget.spec else None
    if selector is None or not (selector.match_labels or selector.match_expressions):
        return None
    return Budget(label_selector(selector), budget.disruptions_allowed, budget.ending)
