"""Namespaces and their labels, for selectors of namespaces."""

from collections.abc import Iterable

from rota.kube_objects.objects.metadata import Metadata, Namespace
from rota.kube_objects.objects.selectors import LabelSelector
from rota.kube_objects.selectors import as_labels, label_selector
from rota.model.ids import Labels, TaskName

_NAME_LABEL = "kubernetes.io/metadata.name"


def namespace_of(metadata: Metadata) -> str:
    return metadata.namespace or "default"


def name_of(metadata: Metadata) -> TaskName:
    """Of a pod, in all of a cluster."""
    return TaskName(f"{namespace_of(metadata)}/{metadata.name}")


class Namespaces:
    """Those with an object of their own, and those in which something merely is: of these the name is known,
    which Kubernetes makes a label too."""

    def __init__(self, objects: Iterable[Namespace], mentioned: Iterable[str]) -> None:
        self._labels: dict[str, Labels] = {name: ((_NAME_LABEL, name),) for name in mentioned}
        self._undescribed = set(self._labels)
        for one in objects:
            name = one.metadata.name or ""
            self._labels[name] = as_labels({**(one.metadata.labels or {}), _NAME_LABEL: name})
            self._undescribed.discard(name)

    def selected_by(self, selector: LabelSelector) -> set[str]:
        condition = label_selector(selector)
        return {name for name, labels in self._labels.items() if condition.selects(labels)}

    def unknown_to(self, selector: LabelSelector) -> set[str]:
        """Namespaces that may be selected wrongly, or wrongly not, for want of their labels."""
        requirements = label_selector(selector).requirements
        asks_for_more = any(requirement.key != _NAME_LABEL for requirement in requirements)
        return self._undescribed if asks_for_more else set()
