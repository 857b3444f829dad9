"""Priorities of pods: their own, or those of their priority classes."""

from collections.abc import Iterable, Mapping
from typing import ClassVar, NamedTuple

from rota.kube_objects.objects.pods import PodSpec
from rota.kube_objects.objects.workloads import PriorityClass
from rota.model.changes import RaisePriority
from rota.model.explanation import Change, TypedChange


class PodPriority(NamedTuple):
    value: int = 0
    may_preempt: bool = True


class UsePriorityClass(TypedChange, frozen=True, tag="priority class"):
    """What `RaisePriority` is where priorities have the names of a cluster's classes."""

    size: ClassVar[float] = RaisePriority.size
    name: str


def class_names(classes: Iterable[PriorityClass]) -> dict[int, str]:
    """Of the priorities that users could ask for. Those of the system are for what the cluster itself needs,
    and one may be there that evicts nobody."""
    return {
        one.value: one.metadata.name or ""
        for one in classes
        if not (one.metadata.name or "").startswith("system-") and one.preemption_policy != "Never"
    }


def by_class(change: Change, names: Mapping[int, str]) -> Change:
    """In a cluster, priorities are known by their classes."""
    match change:
        case RaisePriority(priority=priority) if priority in names:
            return UsePriorityClass(names[priority])
    return change


_SYSTEM_CLASSES = {
    "system-cluster-critical": PodPriority(2_000_000_000),
    "system-node-critical": PodPriority(2_000_001_000),
}


class PriorityClasses:
    def __init__(self, classes: Iterable[PriorityClass]) -> None:
        self._by_name = dict(_SYSTEM_CLASSES)
        self._default = PodPriority()
        # Of several defaults Kubernetes takes the lowest: the others are overwritten by it.
        for one in sorted(classes, key=lambda one: -one.value):
            priority = PodPriority(one.value, one.preemption_policy != "Never")
            self._by_name[one.metadata.name or ""] = priority
            if one.global_default:
                self._default = priority

    def knows(self, spec: PodSpec) -> bool:
        """Whether the pod's priority is what it would be in the cluster."""
        return spec.priority is not None or (spec.priority_class_name or "") in ("", *self._by_name)

    def of(self, spec: PodSpec) -> PodPriority:
        """Admission to a cluster has put the class's values into the pod: those count."""
        inherited = self._by_name.get(spec.priority_class_name or "", self._default)
        return PodPriority(
            inherited.value if spec.priority is None else spec.priority,
            inherited.may_preempt if spec.preemption_policy is None else spec.preemption_policy != "Never",
        )
