"""Sees each change of a namespace's pods, in the API server's order, and finds what must never be."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.pods import DEFAULT_GANG_KEYS

Clock = Callable[[], float]


class Witness:
    """Of pods that ask for whole CPUs, and whose gangs say how many they are."""

    def __init__(self, cpus_of_node: int, clock: Clock) -> None:
        self._cpus_of_node = cpus_of_node
        self._clock = clock
        self._used: Counter[str] = Counter()
        self._bindings: Counter[str] = Counter()
        """By uid."""
        self._bound: defaultdict[str, set[str]] = defaultdict(set)
        """Of each gang, the names of its pods."""
        self._partial_since_s: dict[str, float] = {}
        self._whole: set[str] = set()
        self.pods: dict[str, Pod] = {}
        self.bindings = 0
        self.longest_partial_s = 0.0
        self.faults: list[str] = []

    def changed(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        name = pod.metadata.name or ""
        if new is None:
            self.pods.pop(name, None)
        else:
            self.pods[name] = new
        before, after = (_node_of(one) for one in (old, new))
        if before == after:
            return
        if before and after:
            self.faults.append(f"{name} was on {before}, and is on {after}")
        if before:
            self._used[before] -= _cpus(pod)
        if after:
            self._is_bound(name, pod, after)
        self._look_at_gang(name, pod, is_bound=bool(after))

    def _is_bound(self, name: str, pod: Pod, node: str) -> None:
        self.bindings += 1
        self._bindings[pod.metadata.uid or ""] += 1
        if self._bindings[pod.metadata.uid or ""] > 1:
            self.faults.append(f"{name} was bound more than once")
        self._used[node] += _cpus(pod)
        if self._used[node] > self._cpus_of_node:
            self.faults.append(f"{node} holds {self._used[node]} of {self._cpus_of_node} CPUs with {name}")

    def _look_at_gang(self, name: str, pod: Pod, *, is_bound: bool) -> None:
        gang = gang_of(pod)
        if not gang or gang in self._whole:
            return
        members = self._bound[gang]
        (members.add if is_bound else members.discard)(name)
        if members and len(members) < _least(pod):
            self._partial_since_s.setdefault(gang, self._clock())
            return
        self._end_partial(gang)
        if members:
            self._whole.add(gang)
            del self._bound[gang]

    def _end_partial(self, gang: str) -> None:
        since_s = self._partial_since_s.pop(gang, None)
        if since_s is not None:
            self.longest_partial_s = max(self.longest_partial_s, self._clock() - since_s)

    def partial_gangs(self) -> list[str]:
        """Now."""
        return sorted(self._partial_since_s)


def gang_of(pod: Pod) -> str:
    """Empty: it is in none."""
    return (pod.metadata.labels or {}).get(DEFAULT_GANG_KEYS.label, "")


def _least(pod: Pod) -> int:
    return int((pod.metadata.annotations or {})[DEFAULT_GANG_KEYS.annotation])


def _node_of(pod: Pod | None) -> str:
    return "" if pod is None else pod.spec.node_name or ""


def _cpus(pod: Pod) -> int:
    assert pod.spec.containers is not None
    (container,) = pod.spec.containers
    assert container.resources is not None
    return int((container.resources.requests or {})["cpu"])
