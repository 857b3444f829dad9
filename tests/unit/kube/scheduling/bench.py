"""A binder between a mirror and an API server that does what the test says."""

from __future__ import annotations

from typing import Any

from rota.kube.api.errors import (
    KubeError,
)
from rota.kube.scheduling.binding import Binder, Placing
from rota.kube.scheduling.event_recorder import EventRecorder
from rota.kube_objects.objects.pods import Pod
from rota.model.ids import JobId, NodeName, TaskName
from tests.unit.kube.pods import Told, node, pod

P, Q = TaskName("default/p"), TaskName("default/q")
N = NodeName("n")


class Server:
    """Answers binds with what is planned for them, and then well."""

    def __init__(self, told: Told, *plan: KubeError) -> None:
        self._told = told
        self._plan = list(plan)
        self.binds: list[tuple[str, str]] = []
        self.deleted: list[str] = []
        self.evicted: list[str] = []
        self.looks = 0
        self.pod: Pod | None = None
        """As it is when somebody looks; None: as it was."""
        self.statuses: list[dict[str, Any]] = []

    async def bind(
        self,
        namespace: str,
        pod: str,
        node: str,
        *,
        uid: str = "",
        annotations: dict[str, str] | None = None,
    ) -> None:
        assert uid == f"uid-{pod}"
        self.annotations = annotations
        self.binds.append((pod, node))
        if self._plan:
            raise self._plan.pop(0)

    async def get(self, resource: Any, name: str, namespace: str = "") -> Any:
        self.looks += 1
        return self.pod or self._told.mirror.pod(TaskName(f"{namespace}/{name}"))

    async def patch(self, resource: Any, name: str, change: Any, namespace: str = "") -> Any:
        raise AssertionError("nothing is to be patched")

    async def patch_status(self, resource: Any, name: str, change: Any, namespace: str = "") -> None:
        self.statuses.append(change["status"])

    async def delete(self, resource: Any, name: str, namespace: str = "", *, uid: str | None = None) -> None:
        assert uid == f"uid-{name}"
        self.deleted.append(name)

    async def evict(self, namespace: str, pod: str, *, uid: str | None = None) -> None:
        self.evicted.append(pod)

    async def create(self, resource: Any, body: Any, namespace: str = "") -> Any:
        raise AssertionError("nobody sends events here")


class Bench:
    def __init__(self, *plan: KubeError) -> None:
        self.told = Told()
        self.mirror = self.told.mirror
        self.mirror.node_changed(None, node("n"))
        self.told.add(pod("p"))
        self.server = Server(self.told, *plan)
        self.recorder = EventRecorder(self.server, self.mirror.pod, "us", "me")
        self.leads = True
        self.binder = Binder(self.server, self.mirror, self.recorder, lambda: self.leads, lambda: None)

    async def carry_out(self, *names: TaskName, victims: tuple[TaskName, ...] = (), why: str = "") -> None:
        nodes = dict.fromkeys(names or (P,), N)
        self.mirror.assume(nodes)
        await self.binder.carry_out(Placing(JobId("j"), nodes, victims, dict.fromkeys(nodes, why)))

    def is_assumed(self) -> bool:
        self.mirror.settle(0.0)
        return not self.mirror.state.is_waiting(JobId(P))
