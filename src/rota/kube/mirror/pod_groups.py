"""PodGroups of other schedulers, read so that their users can move over: they say how large a gang is.

A pod names its group by a label or an annotation. Ours, which need no further object, go before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from rota.kube.api.decoding import Unreadable
from rota.kube.api.objects import PodGroup
from rota.kube.api.resources import PLUGIN_GROUPS, VOLCANO_GROUPS, Resource
from rota.kube.mirror.gangs import ANY_PODS, Roles
from rota.kube.mirror.reasons import Hold, PodGroupMissing, PodGroupUnusable
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.metadata import Metadata
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.pods import PodTask
from rota.model.ids import TaskName
from rota.model.quantities import CountOrPercent

GroupKey: TypeAlias = tuple[str, str]
"""Namespace, and the gang as it is called here: `podgroups.scheduling.x-k8s.io/NAME`, which no label's value
can be."""

_PLUGIN_LABEL = "scheduling.x-k8s.io/pod-group"
_VOLCANO_KEYS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
_VOLCANO_TASK = "volcano.sh/task-spec"


class GroupSize(Struct, frozen=True):
    least: int
    """How many pods must start together."""
    least_by_role: tuple[tuple[str, int], ...] = ()
    """And among them so many of each role."""


def group_of(pod: Pod) -> GroupKey | None:
    """None: it names none."""
    metadata = pod.metadata
    if name := (metadata.labels or {}).get(_PLUGIN_LABEL):
        return _key(PLUGIN_GROUPS, metadata, name)
    for key in _VOLCANO_KEYS:
        if name := _said(metadata, key):
            return _key(VOLCANO_GROUPS, metadata, name)
    return None


def role_of(pod: Pod) -> str:
    """The task of a Volcano job that it is of; empty: of none."""
    return _said(pod.metadata, _VOLCANO_TASK)


class PodGroups:
    def __init__(self, changed: Callable[[GroupKey], None]) -> None:
        self._changed = changed
        self._known: dict[GroupKey, GroupSize | PodGroupUnusable] = {}

    # -- told by informers

    def plugin_group(self, old: PodGroup | None, new: PodGroup | None) -> None:
        self._put(PLUGIN_GROUPS, old, new)

    def volcano_group(self, old: PodGroup | None, new: PodGroup | None) -> None:
        self._put(VOLCANO_GROUPS, old, new)

    def unreadable_plugin_group(self, found: Unreadable) -> None:
        self._put_unreadable(PLUGIN_GROUPS, found)

    def unreadable_volcano_group(self, found: Unreadable) -> None:
        self._put_unreadable(VOLCANO_GROUPS, found)

    # -- asked

    def joined(self, pod: Pod, task: PodTask) -> tuple[PodTask, Hold | None]:
        """The pod as one of the gang of its group; or what is the matter with that."""
        group = group_of(pod)
        if group is None:
            return task, None
        size = self._known.get(group)
        if not isinstance(size, GroupSize):
            return task, size or PodGroupMissing(group[1])
        return replace(task, gang=group[1], min_available=CountOrPercent(count=size.least)), None

    def roles(self, gang: Sequence[PodTask], pods: Mapping[TaskName, Pod]) -> Roles:
        """`gang`: its pods, in whatever state."""
        size = self._known.get((gang[0].template.namespace, gang[0].gang))
        if not isinstance(size, GroupSize) or not size.least_by_role:
            return ANY_PODS
        return Roles(dict(size.least_by_role), {task.name: role_of(pods[task.name]) for task in gang})

    def _put(self, resource: Resource[PodGroup], old: PodGroup | None, new: PodGroup | None) -> None:
        group = new or old
        assert group is not None
        key = _key(resource, group.metadata, group.metadata.name or "")
        self._set(key, None if new is None else _size(key, new))

    def _put_unreadable(self, resource: Resource[PodGroup], found: Unreadable) -> None:
        key = _key(resource, found.metadata, found.metadata.name or "")
        self._set(key, PodGroupUnusable(key[1], found.problem))

    def _set(self, key: GroupKey, size: GroupSize | PodGroupUnusable | None) -> None:
        if size == self._known.get(key):
            return
        if size is None:
            del self._known[key]
        else:
            self._known[key] = size
        self._changed(key)


def _size(key: GroupKey, group: PodGroup) -> GroupSize | PodGroupUnusable:
    least = (group.spec and group.spec.min_member) or 0
    by_role = (group.spec.min_task_member if group.spec else None) or {}
    if least < 0:
        return PodGroupUnusable(key[1], f"its minMember is {least}: give 1 or more")
    for role, count in by_role.items():
        if count < 0:
            return PodGroupUnusable(key[1], f"its minTaskMember of {role} is {count}: give 0 or more")
    if sum(by_role.values()) > least:
        # As Volcano has it: whoever asks for fewer pods than for those of all roles means any of them.
        by_role = {}
    return GroupSize(max(1, least), tuple(sorted((role, count) for role, count in by_role.items() if count)))


def _key(resource: Resource[PodGroup], metadata: Metadata, name: str) -> GroupKey:
    return namespace_of(metadata), f"{resource.name}.{resource.group}/{name}"


def _said(metadata: Metadata, key: str) -> str:
    """Volcano puts these into annotations; those who make pods for it, into labels too."""
    annotation = (metadata.annotations or {}).get(key)
    return (annotation if isinstance(annotation, str) else "") or (metadata.labels or {}).get(key, "")
