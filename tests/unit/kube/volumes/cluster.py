"""A cluster with volumes, and what is decided about pods that use them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rota.engine.decide import decide
from rota.engine.explaining.explain import explain
from rota.engine.plugin import Plugins, RefusalOrder
from rota.kube.api.objects import StorageClass
from rota.kube.scheduling.filters import KUBE_FILTERS
from rota.kube.scheduling.run import default_policy
from rota.kube.scheduling.words import unschedulable_text
from rota.kube.volumes.book import VolumeBook
from rota.kube_objects.namespaces import name_of
from rota.kube_objects.objects.nodes import Node
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.model.ids import JobId
from rota.model.verdict import Kind, Refusal, Verdict
from rota.snapshot.state import Snapshot
from tests.unit.kube.pods import SCHEDULER, Told

_POLICY = default_policy(SCHEDULER)
_RULES = Plugins(KUBE_FILTERS, refusal_order=RefusalOrder.AS_ASKED, evicts_elsewhere=False)
_LATER_MS = 2_000_000_000_000
"""Those who run have run for a while."""


class Volumes:
    """Pods are asked about one by one, and are gone after that."""

    def __init__(self, *nodes: Node) -> None:
        self._told = Told()
        for one in nodes:
            self._told.mirror.node_changed(None, one)

    @property
    def book(self) -> VolumeBook:
        return self._told.mirror.pod_context.volumes

    def add(self, *found: PersistentVolume | PersistentVolumeClaim | StorageClass) -> None:
        for one in found:
            match one:
                case PersistentVolume():
                    self.book.volume(None, one)
                case PersistentVolumeClaim():
                    self.book.claim(None, one)
                case StorageClass():
                    self.book.storage_class(None, one)

    def run(self, *pods: Pod) -> None:
        self._told.add(*pods)

    def gone(self, pod: Pod) -> None:
        self._told.mirror.pod_changed(pod, None)

    def reasons(self, pod: Pod) -> list[str]:
        """Why nodes refuse it, whether or not others take it."""
        with self._asking(pod) as snapshot:
            found = explain(snapshot, _POLICY, _LATER_MS, _RULES, JobId(name_of(pod.metadata)))
            refusals = tuple(Refusal(one.reason, len(one.nodes)) for one in found.refusals)
            task = self._told.mirror.task(name_of(pod.metadata))
            assert task is not None
            if not refusals:
                return []
            text = unschedulable_text(Verdict(Kind.NOT_NOW, refusals), task, len(snapshot.nodes))
            return text.split(". preemption")[0].split(": ", 1)[1].split(", ")

    def bound_to(self, *pods: Pod) -> list[str]:
        """Where they are put, in their order; none, if they wait."""
        with self._asking(*pods) as snapshot:
            plan = decide(snapshot, _POLICY, _LATER_MS, _RULES)
            return [binding.node for binding in plan.bindings]

    def evicted_for(self, pod: Pod) -> list[str]:
        with self._asking(pod) as snapshot:
            plan = decide(snapshot, _POLICY, _LATER_MS, _RULES)
            return [eviction.job for eviction in plan.evictions]

    @contextmanager
    def _asking(self, *pods: Pod) -> Iterator[Snapshot]:
        self._told.add(*pods)
        self._told.mirror.settle(0.0)
        yield self._told.mirror.state.snapshot()
        for one in pods:
            self._told.mirror.pod_changed(one, None)
