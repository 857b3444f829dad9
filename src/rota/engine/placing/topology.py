"""How many tasks of which kind each topology domain holds.

Affinity between jobs and spreading are questions about counts per domain (a zone, a rack, a
host). A counter is an array over the domains of one key; what a placement does to the counters
is compiled once a kind of task (its footprint), and what a kind demands of them (its rules) too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import numpy as np

from rota.engine.placing.selected import Group, GroupIndex, affinity_group
from rota.model.ids import Labels
from rota.model.task import InDomains, JobAffinity, TaskSpec
from rota.snapshot.arrays import Bools, Int64s
from rota.snapshot.nodes import NODE_KEY, NodeColumns
from rota.snapshot.running import RunningColumns


@dataclass(eq=False)
class Counter:
    """Tasks by domain. The last place collects the nodes that lack the key, and is never read as
    a domain."""

    domain: Int64s
    """[node] index of its domain; where the node lacks the key, that of the last place"""
    count: Int64s
    has_key: Bools
    number: int
    """In the order in which counters were asked for."""
    total: int = 0
    """Over all domains; kept because the first-of-its-kind rule asks for it each time."""
    changes: int = 0
    """How often it was added to or taken from."""

    def add(self, position: int, amount: int) -> None:
        domain = self.domain.item(position)
        if domain < len(self.count) - 1:
            self.count[domain] += amount
            self.total += amount
            self.changes += 1

    def add_many(self, positions: Int64s, amount: int) -> None:
        domains = self.domain[positions]
        domains = domains[domains < len(self.count) - 1]
        np.add.at(self.count, domains, amount)
        self.total += amount * len(domains)
        self.changes += 1


@dataclass(frozen=True, eq=False)
class Footprint:
    """The counters that a task of this kind is counted in."""

    counters: tuple[Counter, ...] = ()

    def add(self, position: int, amount: int) -> None:
        for counter in self.counters:
            counter.add(position, amount)

    def add_many(self, positions: Int64s, amount: int) -> None:
        for counter in self.counters:
            counter.add_many(positions, amount)


NO_FOOTPRINT = Footprint()


@dataclass(frozen=True)
class _Owned:
    """Counts tasks that own a required anti-affinity against the group, not members of it."""

    group: Group


class Topology:
    """All counters of a cycle, made when the first kind of task asks for one."""

    def __init__(self, nodes: NodeColumns, running: RunningColumns) -> None:
        self._nodes = nodes
        self._running = running
        self._counters: dict[tuple[Group | _Owned, str], Counter] = {}
        self._domains: dict[str, tuple[Int64s, int, Bools]] = {}
        self._index = GroupIndex()
        self._keys: defaultdict[Group | _Owned, list[str]] = defaultdict(list)
        """Over which topology keys each is counted."""
        self._of_running: dict[int, Footprint] = {}

    def prepare(self, kinds: Iterable[tuple[str, TaskSpec]]) -> None:
        """Makes every counter that these kinds of tasks (with their namespaces) ask for, so that
        footprints compiled later are complete."""
        new: dict[tuple[Group | _Owned, str], None] = {}
        for namespace, spec in kinds:
            for term in spec.job_affinity:
                group = affinity_group(term, namespace)
                new[group, term.topology_key] = None
                if term.anti and term.is_required:
                    new[_Owned(group), term.topology_key] = None
            for spread in spec.spread:
                group = Group(spread.selector, (namespace,))
                new[group, spread.topology_key] = None
                new[group, NODE_KEY] = None
            for rule in spec.in_domains:
                new[Group(rule.selector, (namespace,)), rule.topology_key] = None
        self._make([one for one in new if one not in self._counters])

    def members(self, group: Group, key: str) -> Counter:
        return self._counters[group, key]

    def seen(self, labels: Labels) -> Labels:
        """What any rule sees of a task's labels: tasks that differ in others are alike."""
        return self._index.seen(labels)

    def seen_namespace(self, namespace: str) -> str:
        """The same for every namespace that no rule names."""
        return self._index.seen_namespace(namespace)

    def owned_against(self, namespace: str, labels: Labels) -> list[Counter]:
        """Counters of the tasks whose anti-affinity is against tasks with these labels."""
        owned = (_Owned(group) for group in self._index.including(namespace, labels))
        return self._in_order(one for one in owned if one in self._keys)

    def footprint(self, namespace: str, spec: TaskSpec) -> Footprint:
        if not self._counters:
            return NO_FOOTPRINT
        counters = self._in_order(self._index.including(namespace, spec.labels))
        owned = [self._counters[one] for one in _owned(namespace, spec) if one in self._counters]
        counters = sorted([*counters, *owned], key=_number) if owned else counters
        return Footprint(tuple(counters)) if counters else NO_FOOTPRINT

    def footprint_of_running(self, kind: int) -> Footprint:
        """The counters that running tasks of a kind are in."""
        footprint = self._of_running.get(kind)
        if footprint is None:
            template, group = self._running.kinds[kind]
            footprint = self.footprint(template.namespace, template.groups[group].spec)
            self._of_running[kind] = footprint
        return footprint

    def _in_order(self, groups: Iterable[Group | _Owned]) -> list[Counter]:
        found = [self._counters[group, key] for group in groups for key in self._keys[group]]
        return sorted(found, key=_number)

    def _make(self, new: list[tuple[Group | _Owned, str]]) -> None:
        if not new:
            return
        for group, key in new:
            domain, count, has_key = self._domain(key)
            counter = Counter(domain, np.zeros(count + 1, dtype=np.int64), has_key, len(self._counters))
            self._counters[group, key] = counter
            self._keys[group].append(key)
            self._index.add(group if isinstance(group, Group) else group.group)
        self._count_running({id(self._counters[one]) for one in new})

    def _domain(self, key: str) -> tuple[Int64s, int, Bools]:
        """[node] its domain; how many there are; whether the node has the key."""
        known = self._domains.get(key)
        if known is None:
            column = self._nodes.topology(key)
            domain = np.where(column.codes < 0, len(column.values), column.codes).astype(np.int64)
            has_key = column.codes >= 0
            # All counters over this key share them.
            domain.flags.writeable = has_key.flags.writeable = False
            known = self._domains[key] = domain, len(column.values), has_key
        return known

    def _count_running(self, new: AbstractSet[int]) -> None:
        """Adds to the counters with these ids what runs: each kind of task is looked at once."""
        running = self._running
        if not len(running):
            return
        order = np.argsort(running.spec, kind="stable")
        ends = np.cumsum(np.bincount(running.spec, minlength=len(running.kinds))).tolist()
        nodes = running.node[order].astype(np.int64)
        first = 0
        for (template, number), end in zip(running.kinds, ends, strict=True):
            for counter in self.footprint(template.namespace, template.groups[number].spec).counters:
                if id(counter) in new:
                    counter.add_many(nodes[first:end], 1)
            first = end


def _number(counter: Counter) -> int:
    return counter.number


def _owned(namespace: str, spec: TaskSpec) -> set[tuple[_Owned, str]]:
    return {
        (_Owned(affinity_group(term, namespace)), term.topology_key)
        for term in spec.job_affinity
        if term.anti and term.is_required
    }


@dataclass(frozen=True, eq=False)
class Near:
    """Required affinity: a task of the group in the domain, or the first of its kind anywhere."""

    term: JobAffinity
    counter: Counter
    may_be_first: bool
    company: Sequence[Counter]
    """The same group over every key that the task must be near it by: who is the first has none of it in any
    domain of any of them."""

    @property
    def is_first(self) -> bool:
        return self.may_be_first and not any(counter.total for counter in self.company)


@dataclass(frozen=True, eq=False)
class Away:
    """Required anti-affinity, of this task or, turned round, of one that runs."""

    term: JobAffinity | None
    counter: Counter

    def allowed(self) -> Bools:
        clear = self.counter.count == 0
        clear[-1] = True
        allowed: Bools = clear.take(self.counter.domain, mode="clip")
        return allowed


@dataclass(frozen=True, eq=False)
class Even:
    """A spread; `counts_itself` where the task is one of those it spreads.

    Only eligible nodes make domains, and only tasks on them count: a domain in which no node will do must
    not hold up the others. Where that is all nodes, the domains' counter tells; else its counts are summed
    up from the nodes'.
    """

    max_skew: int
    min_domains: int
    key: str
    required: bool
    counter: Counter
    counts_itself: bool
    eligible_domains: Int64s
    eligible_nodes: Bools | None = None
    """None: all."""
    by_node: Counter | None = None

    def counts(self) -> Int64s:
        """Tasks by domain; the last place is for nodes without the key."""
        if self.by_node is None or self.eligible_nodes is None:
            return self.counter.count
        held = self.by_node.count.take(self.by_node.domain)
        held = np.where(self.eligible_nodes, held, 0)
        counts = np.zeros_like(self.counter.count)
        np.add.at(counts, self.counter.domain, held)
        return counts


@dataclass(frozen=True, eq=False)
class Few:
    """In so many domains together with others."""

    rule: InDomains
    counter: Counter

    @property
    def held(self) -> int:
        return int((self.counter.count[:-1] > 0).sum())

    @property
    def there(self) -> int:
        """How many domains there are."""
        return len(self.counter.count) - 1

    def allowed(self) -> Bools:
        """As long as there are too few, those that hold none; then those that do."""
        occupied = self.counter.count > 0
        domains = occupied if self.held >= self.rule.count else ~occupied
        domains[-1] = False
        if self.there < self.rule.count:
            domains[:] = False
        allowed: Bools = domains.take(self.counter.domain, mode="clip")
        return allowed


@dataclass(frozen=True, eq=False)
class Wish:
    weight: int
    anti: bool
    counter: Counter


@dataclass(frozen=True, eq=False)
class DomainRules:
    """What one kind of task demands of the counters."""

    near: tuple[Near, ...] = ()
    away: tuple[Away, ...] = ()
    even: tuple[Even, ...] = ()
    wishes: tuple[Wish, ...] = ()
    wish_weight: int = field(default=0)
    few: tuple[Few, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.near or self.away or self.even or self.wishes or self.few)

    @property
    def opens(self) -> bool:
        """Whether a placement can make other nodes better or allowed, not only close some."""
        return bool(self.near or self.even or self.wishes or self.few)

    def allowed(self) -> Bools | None:
        """Which nodes the rules allow that a placement can open as well as close; None: all."""
        masks = [near_allowed(rule) for rule in self.near]
        masks += [even_allowed(rule) for rule in self.even if rule.required]
        masks += [rule.allowed() for rule in self.few]
        if not masks:
            return None
        result = masks[0]
        for mask in masks[1:]:
            result = result & mask
        return result

    def opened_by(self) -> list[Counter]:
        """Counters by which a placement can make nodes allowed."""
        found = [near.counter for near in self.near] + [few.counter for few in self.few]
        for even in self.even:
            found += [even.counter] if even.by_node is None else [even.counter, even.by_node]
        return found

    def closed_domain(self, position: int) -> Bools | None:
        """The nodes of a domain that the task must keep away from, if this node is in one."""
        for rule in self.away:
            counter = rule.counter
            domain = counter.domain.item(position)
            if counter.count.item(domain) and counter.has_key.item(position):
                inside: Bools = counter.domain == domain
                return inside
        return None

    def wish_score(self) -> Int64s:
        """The sum of weight × satisfaction in thousandths."""
        parts = [
            (wish.weight * _satisfaction(wish)).take(wish.counter.domain, mode="clip") for wish in self.wishes
        ]
        parts += [
            (SPREAD_WISH_WEIGHT * _evenness(rule)).take(rule.counter.domain, mode="clip")
            for rule in self.even
            if not rule.required
        ]
        return sum(parts[1:], start=parts[0])


SPREAD_WISH_WEIGHT = 100
"""A spread that is only wished for weighs as much as the strongest preferred affinity."""


def near_allowed(rule: Near) -> Bools:
    if rule.is_first:
        return rule.counter.has_key
    held = rule.counter.count > 0
    held[-1] = False
    return held.take(rule.counter.domain, mode="clip")


def even_allowed(rule: Even) -> Bools:
    count = rule.counts()
    eligible = count[rule.eligible_domains]
    enough = len(eligible) >= rule.min_domains
    least = int(eligible.min()) if len(eligible) and enough else 0
    fair: Bools = count + int(rule.counts_itself) - least <= rule.max_skew
    fair[-1] = False
    allowed: Bools = fair.take(rule.counter.domain, mode="clip")
    return allowed


def _satisfaction(wish: Wish) -> Int64s:
    """Thousandths by domain: nearness is all or nothing, distance shrinks with each task there."""
    count = wish.counter.count
    if wish.anti:
        score = 1000 // (1 + count)
        score[-1] = 1000
    else:
        score = np.where(count > 0, 1000, 0)
        score[-1] = 0
    return score


def _evenness(rule: Even) -> Int64s:
    count = rule.counts()
    if not len(rule.eligible_domains):
        return np.zeros_like(count)
    least = int(count[rule.eligible_domains].min())
    score: Int64s = 1000 // (1 + np.maximum(count - least, 0))
    score[-1] = 0
    return score
