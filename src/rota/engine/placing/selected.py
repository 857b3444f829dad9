"""Which tasks rules are about: groups of tasks by labels, and what of a task's labels anybody looks at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from rota.model.ids import Labels
from rota.model.selectors import Operator, Requirement, Selector, whole_number
from rota.model.task import JobAffinity

ALL_NAMESPACES = "*"


@dataclass(frozen=True)
class Group:
    """Tasks that a selector selects within namespaces: what an affinity term counts."""

    selector: Selector
    namespaces: tuple[str, ...]

    def includes(self, namespace: str, labels: Labels) -> bool:
        return (ALL_NAMESPACES in self.namespaces or namespace in self.namespaces) and self.selector.selects(
            labels
        )


def affinity_group(term: JobAffinity, namespace: str) -> Group:
    return Group(term.selector, term.namespaces or (namespace,))


_Mark = tuple[str, str | None, str | None]
"""A namespace, a label key in it, and its value; None: whichever."""


class GroupIndex:
    """Finds the groups that a task is of by its labels, without a look at all groups."""

    def __init__(self) -> None:
        self._groups: dict[Group, int] = {}
        self._found_by: defaultdict[_Mark, list[Group]] = defaultdict(list)
        self._keys: defaultdict[str, _Values] = defaultdict(_Values)
        self._namespaces: set[str] = set()
        """Those that some group names."""

    def __contains__(self, group: Group) -> bool:
        return group in self._groups

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, group: Group) -> None:
        if group in self._groups:
            return
        self._groups[group] = len(self._groups)
        requirements = group.selector.requirements
        for requirement in requirements:
            self._keys[requirement.key].mention(requirement)
        self._namespaces.update(group.namespaces)
        for namespace in set(group.namespaces):
            for key, value in _narrowest(requirements):
                self._found_by[namespace, key, value].append(group)

    def including(self, namespace: str, labels: Labels) -> list[Group]:
        """The groups that a task with these labels is of, in the order in which they were added."""
        found = {
            group
            for where in _marks(namespace, labels)
            for group in self._found_by.get(where, ())
            if group.selector.selects(labels)
        }
        return sorted(found, key=self._groups.__getitem__)

    def seen_namespace(self, namespace: str) -> str:
        """The namespace, or nothing if no group names it: such ones can't be told apart."""
        return namespace if namespace in self._namespaces else ""

    def seen(self, labels: Labels) -> Labels:
        """What is left of labels if those are left out that no group looks at, and values that no group
        can tell apart are one: tasks with the same seen labels are of the same groups."""
        if not labels:
            return labels
        return tuple((key, self._keys[key].stand_in(value)) for key, value in labels if key in self._keys)


def _marks(namespace: str, labels: Labels) -> Iterator[_Mark]:
    for name in (namespace, ALL_NAMESPACES):
        yield name, None, None
        for key, value in labels:
            yield name, key, value
            yield name, key, None


def _narrowest(requirements: tuple[Requirement, ...]) -> list[tuple[str | None, str | None]]:
    """Labels of which every task of the group has one: those of the condition with the fewest values."""
    by_value = [one for one in requirements if one.operator is Operator.IN]
    if by_value:
        best = min(by_value, key=lambda one: len(one.values))
        return [(best.key, value) for value in best.values]
    for requirement in requirements:
        if requirement.operator in (Operator.EXISTS, Operator.GT, Operator.LT):
            return [(requirement.key, None)]
    return [(None, None)]


@dataclass(eq=False)
class _Values:
    """The values of one label key that groups name, and the numbers that they compare with."""

    named: set[str] = field(default_factory=set)
    unnamed: str = "\0"
    """Stands for all values that no group names."""
    bounds: list[int] = field(default_factory=list)
    stand_ins: dict[tuple[int, int], str] = field(default_factory=dict)
    """Of numbers between the same bounds, the first that was seen."""

    def mention(self, requirement: Requirement) -> None:
        if requirement.operator in (Operator.GT, Operator.LT):
            insort(self.bounds, int(requirement.values[0]))
            self.stand_ins.clear()
        else:
            self.named.update(requirement.values)
            while self.unnamed in self.named:
                self.unnamed += "\0"

    def stand_in(self, value: str) -> str:
        if value in self.named:
            return value
        number = whole_number(value) if self.bounds else None
        if number is None:
            return self.unnamed
        between = bisect_left(self.bounds, number), bisect_right(self.bounds, number)
        return self.stand_ins.setdefault(between, value)
