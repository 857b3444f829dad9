"""How long pods wait from when they could be scheduled until they are bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rota.clock import now_ms
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.times import as_ms
from rota.loop.telemetry.metrics import Metrics
from rota.model.ids import TaskName


class Latency:
    """Time in which a pod is held doesn't count: by a gate, by its gang, by a claim."""

    def __init__(self, metrics: Metrics, clock_ms: Callable[[], int] = now_ms) -> None:
        self._metrics = metrics
        self._clock_ms = clock_ms
        self._held_until_ms: dict[TaskName, int] = {}

    def held(self, names: Iterable[TaskName], is_there: Callable[[TaskName], object]) -> None:
        """Now. Who isn't there any more is forgotten."""
        known = {name: at_ms for name, at_ms in self._held_until_ms.items() if is_there(name)}
        self._held_until_ms = known | dict.fromkeys(names, self._clock_ms())

    def bound(self, name: TaskName, pod: Pod) -> float:
        """Answers the seconds."""
        since_ms = max(as_ms(pod.metadata.creation_timestamp), self._held_until_ms.pop(name, 0))
        # The cluster's clock may be ahead of ours.
        seconds = max(0, self._clock_ms() - since_ms) / 1000
        self._metrics.observe_scheduled(seconds)
        return seconds
