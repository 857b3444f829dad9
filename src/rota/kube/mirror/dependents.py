"""Which pods must be read again when an object that they depend on changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable
from typing import TypeVar

from rota.kube.mirror.pod_groups import GroupKey, group_of
from rota.kube_objects.gpus import asks_for_share
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.volumes import ClaimKey, claims_of
from rota.model.ids import NodeName, TaskName

K = TypeVar("K", bound=Hashable)


class DependentPods:
    def __init__(self) -> None:
        self.selecting: set[TaskName] = set()
        """Pods that select others by their namespaces' labels."""
        self.sharing_gpus: set[TaskName] = set()
        """Pods that ask for a share of a GPU, and depend on which nodes give some."""
        self._users_of: defaultdict[ClaimKey, set[TaskName]] = defaultdict(set)
        self._members_of: defaultdict[GroupKey, set[TaskName]] = defaultdict(set)
        self._ending_on: defaultdict[NodeName, set[TaskName]] = defaultdict(set)
        self._nominated_to: defaultdict[NodeName, set[TaskName]] = defaultdict(set)

    def users_of(self, claim: ClaimKey) -> Collection[TaskName]:
        return self._users_of.get(claim, ())

    def members_of(self, group: GroupKey) -> Collection[TaskName]:
        return self._members_of.get(group, ())

    def ending_on(self, node: NodeName) -> Collection[TaskName]:
        return self._ending_on.get(node, ())

    def change(self, name: TaskName, old: Pod | None, new: Pod | None) -> Collection[TaskName]:
        """Answers the pods that waited for this one to end."""
        relieved: Collection[TaskName] = ()
        if old is not None:
            for claim in claims_of(old):
                _discard(self._users_of, claim, name)
            if (group := group_of(old)) is not None:
                _discard(self._members_of, group, name)
            if old.spec.node_name and old.metadata.deletion_timestamp is not None:
                node = NodeName(old.spec.node_name)
                _discard(self._ending_on, node, name)
                relieved = self._nominated_to.get(node, ())
            if node := nominated_node(old):
                _discard(self._nominated_to, node, name)
            self.selecting.discard(name)
        if new is not None:
            for claim in claims_of(new):
                self._users_of[claim].add(name)
            if (group := group_of(new)) is not None:
                self._members_of[group].add(name)
            if new.spec.node_name and new.metadata.deletion_timestamp is not None and not is_over(new):
                self._ending_on[NodeName(new.spec.node_name)].add(name)
            if (node := nominated_node(new)) and not new.spec.node_name:
                self._nominated_to[node].add(name)
            if _selects_namespaces(new):
                self.selecting.add(name)
        self._note_gpus(name, new)
        return relieved

    def _note_gpus(self, name: TaskName, pod: Pod | None) -> None:
        if pod is not None and asks_for_share(pod.metadata):
            self.sharing_gpus.add(name)
        else:
            self.sharing_gpus.discard(name)


def nominated_node(pod: Pod) -> NodeName:
    """Where room is being made for it; empty: nowhere."""
    return NodeName((pod.status and pod.status.nominated_node_name) or "")


def is_over(pod: Pod) -> bool:
    return pod.status is not None and pod.status.phase in ("Succeeded", "Failed")


def waits_as_before(old: Pod, new: Pod) -> bool:
    """Only its status has changed, and that by whoever schedules it."""
    return (
        not new.spec.node_name
        and new.spec == old.spec
        and new.metadata.labels == old.metadata.labels
        and new.metadata.annotations == old.metadata.annotations
        and new.metadata.deletion_timestamp == old.metadata.deletion_timestamp
        and is_over(new) == is_over(old)
        and nominated_node(new) == nominated_node(old)
    )


def _selects_namespaces(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    if affinity is None:
        return False
    sides = [side for side in (affinity.pod_affinity, affinity.pod_anti_affinity) if side is not None]
    terms = [term for side in sides for term in side.required or ()]
    terms += [one.pod_affinity_term for side in sides for one in side.preferred or ()]
    return any(term.namespace_selector is not None for term in terms)


def _discard(index: defaultdict[K, set[TaskName]], key: K, name: TaskName) -> None:
    users = index.get(key)
    if users is not None:
        users.discard(name)
        if not users:
            del index[key]
